"""Tensors as plain data: what a scenario states and an outcome reports (docs/scenario.md, "Tensors")."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class PlainTensor:
    """Elements in row-major order, whatever the strides; complex ones as Python's complex numbers."""

    values: list
    shape: tuple = ()
    type: str = "float64"
    strides: tuple | None = None  # None: row-major and contiguous
    indices: list | None = None  # of a sparse tensor: one list for each sparse dimension
    coalesced: bool = False
    device: str = "cpu"

    @property
    def is_complex(self) -> bool:
        return self.type.startswith("complex")

    @staticmethod
    def from_json(json) -> PlainTensor:
        if isinstance(json, list):
            return PlainTensor([_read_number(value) for value in json], (len(json),))
        if not isinstance(json, dict):
            return PlainTensor([_read_number(json)])
        sparse = json.get("sparse")
        shape = tuple(json.get("shape", (len(json.get("values", ())),) if "values" in json else ()))
        if "values" in json:
            values = [_read_number(value) for value in json["values"]]
        else:
            count = math.prod(shape)
            if sparse:
                rows = sparse["indices"]
                count = len(rows[0]) * math.prod(shape[len(rows):])
            values = [_read_number(json["fill"])] * count
        return PlainTensor(values, shape, json.get("type", "float64"),
                           tuple(json["strides"]) if "strides" in json else None,
                           sparse["indices"] if sparse else None,
                           bool(sparse and sparse.get("coalesced")), json.get("device", "cpu"))

    def to_json(self):
        json = {"type": self.type, "shape": list(self.shape),
                "values": [_write_number(value) for value in self.values]}
        if self.device != "cpu":
            json["device"] = self.device
        if self.strides is not None:
            json["strides"] = list(self.strides)
        if self.indices is not None:
            json["sparse"] = {"indices": self.indices, "coalesced": self.coalesced}
        return json


def _read_number(json):
    return complex(float(json[0]), float(json[1])) if isinstance(json, list) else float(json)


def _write_number(value):
    if isinstance(value, complex):
        return [_write_number(value.real), _write_number(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return int(value) if isinstance(value, bool) else value
