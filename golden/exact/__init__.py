"""Exact arithmetic: real numbers, rounding to a type, jets, and the error that an engine may make."""
