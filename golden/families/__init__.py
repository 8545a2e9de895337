"""The golden cases, one module a kind. Each has `recipes(left_out)`, which yields them in a fixed order."""

from __future__ import annotations

import importlib

from expectations import NARROW, Golden, golden

MODULES = ("functions", "pairs", "reductions", "normalising", "indexing", "shapes", "in_place",
           "programs", "models")


class Catalogue:
    """All recipes in their order. A case is made when it is asked for: see `make`."""

    def __init__(self):
        self.left_out: list = []
        self._recipes: list[tuple] = []
        for name in MODULES:
            module = importlib.import_module(f"families.{name}")
            narrow = getattr(module, "NARROW", NARROW)
            self._recipes += [(recipe, narrow) for recipe in module.recipes(self.left_out)]

    def __len__(self) -> int:
        return len(self._recipes)

    def make(self, index: int) -> Golden:
        recipe, narrow = self._recipes[index]
        return golden(recipe, narrow)
