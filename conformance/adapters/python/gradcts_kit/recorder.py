"""Writes down what happens: events and step results, in one order over all threads."""

from __future__ import annotations

import threading
from collections import Counter


class Recorder:
    """Thread-safe. After `take` nothing is written any more: it comes from work that a wrong engine left."""

    def __init__(self):
        self._lock = threading.Lock()
        self._here = threading.local()
        self._here.number = 0  # the calling thread is the main thread
        self._threads = 1
        self._closed = False
        self._steps, self._events, self._changes = [], [], []
        self._counts = Counter()

    def reserve_thread(self) -> int:
        with self._lock:
            self._threads += 1
            return self._threads - 1

    def adopt_thread(self, number: int):
        self._here.number = number

    def _thread(self) -> int:
        if not hasattr(self._here, "number"):
            self._here.number = self.reserve_thread()
        return self._here.number

    def step(self, step: int, error: dict | None, values: list):
        entry = {"step": step, "thread": self._thread(), "values": values}
        if error:
            entry["error"] = error
        with self._lock:
            entry["occurrence"] = self._count("step", step)
            if not self._closed:
                self._steps.append(entry)

    def event(self, kind: str, subject, values: list = (), number: int = 0, instance: int | None = None):
        entry = {"kind": kind, "subject": subject, "thread": self._thread(), "number": number,
                 "values": list(values)}
        with self._lock:
            entry["instance"] = self._count(kind, subject) if instance is None else instance
            if not self._closed:
                self._events.append(entry)

    def _count(self, kind, subject) -> int:
        self._counts[kind, subject] += 1
        return self._counts[kind, subject] - 1

    def state_change(self, line: str):
        with self._lock:
            self._changes.append(line)

    def add_steps(self, steps: list):
        """Results of a child process."""
        for entry in steps:
            self.step(entry["step"], entry.get("error"), entry["values"])

    def take(self) -> tuple[list, list, list]:
        with self._lock:
            self._closed = True
            return self._steps, self._events, self._changes

    def begin_in_child(self):
        self._lock = threading.Lock()
        self._steps, self._events = [], []
