"""The coverage table: which cells the cases fill, and why the others are empty."""

from __future__ import annotations

from collections import Counter, defaultdict

from expectations import Golden
from operations import ALL_TYPES, COMPLEX_TYPES, OPERATIONS

SHAPES = ("scalar", "empty", "vector", "matrix", "broadcast-left", "broadcast-right", "broadcast-both",
          "broadcast-scalar", "strided", "expanded", "view or slice", "same")
INDICES = ("single", "repeated", "sparse")
SPECIAL = ("0", "-0", "1", "-1", "subnormal", "huge", "inf", "nan", "tie")
ORDERS = ("first", "second", "third")
TABLES = (("Types", ALL_TYPES), ("Shape classes", SHAPES), ("Indices", INDICES),
          ("Special values", SPECIAL), ("Order of the derivative", ORDERS))

PAIRS = {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "where"}
IN_PLACE = {name for name, entry in OPERATIONS.items() if entry.in_place}
INDEXED = {"gather", "scatter_add", "index_select", "embedding"}
MOVES = {"view", "expand", "transpose", "select", "slice", "flip", "unbind", "view_as_real",
         "view_as_complex", "cat", "clone", "detach", "cast", "to_device"}
PIECEWISE = {"maximum", "minimum", "amax", "amin", "clamp", "relu", "relu_", "where"}
LINEAR = MOVES | INDEXED | {"add", "sub", "neg", "scale", "sum", "mean", "cumsum", "conj", "custom", "add_",
                            "sub_", "neg_", "scale_", "copy_", "fill_"}
SYNONYMS = {"broadcast": "broadcast-right", "outer": "matrix", "view": "view or slice",
            "sliced": "view or slice", "broadcast-empty": "empty"}


class Uncovered(Exception):
    """A cell is empty and nobody said why."""


def reason(operation: str, column: str) -> str | None:
    """Why no case is wanted in a cell; None when one is."""
    for rule in (_type_reason, _shape_reason, _index_reason, _special_reason, _order_reason):
        found = rule(operation, column)
        if found:
            return found
    return None


def _type_reason(operation: str, column: str) -> str | None:
    if column not in ALL_TYPES:
        return None
    if (operation, column) == ("layer_norm", "bfloat16"):
        return "the worst case of all roundings leaves no digit to compare"
    if column in OPERATIONS[operation].types:
        return None
    if operation in ("view_as_real", "conj") or (operation == "view_as_complex" and column in COMPLEX_TYPES):
        return "of the other kind of number"
    if operation == "view_as_complex":
        return "no complex type has such parts"
    if operation in ("expm1", "log1p", "erf", "softmax", "log_softmax", "logsumexp", "layer_norm"):
        return "for real numbers"
    return "complex numbers have no order"


def _shape_reason(operation: str, column: str) -> str | None:
    if column.startswith("broadcast"):
        if operation not in PAIRS | {"add_", "sub_", "mul_", "div_", "copy_"}:
            return "nothing is broadcast"
        if operation in IN_PLACE and column in ("broadcast-left", "broadcast-both"):
            return "the changed tensor keeps its shape"
    if column == "same" and operation not in PAIRS | {"mm", "bmm", "cat", "scatter_add"}:
        return ("an operand that is changed is not read as well" if operation in IN_PLACE
                else "one operand that is differentiated" if operation in INDEXED
                else "operands of different shapes" if operation == "layer_norm"
                else "one operand")
    if operation == "div" and column == "same":
        return "x / x has the gradient 0, an engine only its roundings"
    if column == "scalar" and operation in NEED_A_DIMENSION:
        return "needs a dimension"
    if column == "vector" and operation in PAIRS | IN_PLACE | MOVES:
        return "as a matrix"
    if column == "vector" and operation == "embedding":
        return "the weight is a matrix"
    if column == "expanded" and operation in IN_PLACE:
        return "elements that share memory cannot be changed in place"
    if column == "expanded" and operation == "view":
        return "elements that share memory have no view of another shape"
    if column == "strided" and operation == "view":
        return "a view of another shape needs a contiguous tensor"
    return None


NEED_A_DIMENSION = {"transpose", "select", "slice", "flip", "unbind", "cat", "gather", "scatter_add",
                    "index_select", "softmax", "log_softmax", "logsumexp", "layer_norm", "cumsum"}


def _index_reason(operation: str, column: str) -> str | None:
    if column not in INDICES:
        return None
    if operation not in INDEXED:
        return "no index"
    return "an option of embedding" if column == "sparse" and operation != "embedding" else None


def _special_reason(operation: str, column: str) -> str | None:
    if column not in SPECIAL:
        return None
    if column == "tie" and operation not in ("maximum", "minimum", "amax", "amin", "clamp", "cast"):
        return "the corner is at 0" if operation in ("relu", "relu_", "abs") else "no corner"
    if (operation, column) == ("layer_norm", "huge"):
        return "the squares of huge numbers overflow"
    if operation == "conj" and column not in ("0", "-0", "1", "-1"):
        return "as neg, of the imaginary part"
    return None


def _order_reason(operation: str, column: str) -> str | None:
    if column not in ("second", "third"):
        return None
    if operation in LINEAR and not (operation in {"sum", "mean"} | INDEXED and column == "second"):
        return "linear: passes derivatives on, see programs and models"
    if operation in PIECEWISE:
        return "linear in pieces"
    if operation in ("mm", "bmm", "mul_", "exp_") and column == "third" or operation == "mul_":
        return "as mul and exp"
    if operation in ("tanh_", "div_") and column == "third":
        return "as tanh and div"
    return None


def cells(goldens: list[Golden]) -> dict[tuple[str, str], int]:
    """The number of cases for each operation and column."""
    counts: Counter = Counter()
    for golden in goldens:
        case = golden.case
        order = ORDERS[min(case.order, len(ORDERS)) - 1]
        columns = {case.type, order} | {SYNONYMS.get(c, c) for c in case.covers}
        for column in columns:
            counts[case.operation, column] += 1
    return counts


def _table(title: str, columns: tuple[str, ...], counts, notes: dict) -> list[str]:
    lines = [f"## {title}", "", "| operation | " + " | ".join(columns) + " |",
             "|---|" + "---|" * len(columns)]
    for operation in OPERATIONS:
        row = [_cell(operation, column, counts, notes) for column in columns]
        lines.append(f"| `{operation}` | " + " | ".join(row) + " |")
    return lines + [""]


def _cell(operation: str, column: str, counts, notes: dict) -> str:
    if counts[operation, column]:
        return str(counts[operation, column])
    why = reason(operation, column)
    return f"[{notes.setdefault(why, len(notes) + 1)}]"


def page(goldens: list[Golden], left_out: list) -> str:
    """The table as Markdown; raises Uncovered at empty cells without a reason."""
    counts, notes = cells(goldens), {}
    missing = [(operation, column) for operation in OPERATIONS
               for _, columns in TABLES for column in columns
               if not counts[operation, column] and reason(operation, column) is None]
    if missing:
        raise Uncovered(f"no case and no reason: {missing}")
    lines = ["# Coverage of the golden cases", "",
             f"{len(goldens)} cases; made by `golden/generate.py`, which fails when a cell is empty",
             "without a reason. A number counts cases whose subject the operation is.", ""]
    for title, columns in TABLES:
        lines += _table(title, columns, counts, notes)
    lines += ["## Reasons", ""] + [f"{number}. {why}" for why, number in notes.items()] + [""]
    lines += _left_out_lines(left_out)
    return "\n".join(lines) + "\n"


def _left_out_lines(left_out: list) -> list[str]:
    """Special points at which no value can be demanded, each with what stands in the way."""
    grouped: dict[tuple, list[str]] = defaultdict(list)
    for entry in left_out:
        case = entry.case
        grouped[case.operation, str(entry.point), entry.reason].append(case.type)
    lines = ["## Special points without an expectation", "",
             "| operation | types | point | why |", "|---|---|---|---|"]
    for (operation, point, why), types in grouped.items():
        lines.append(f"| `{operation}` | {' '.join(dict.fromkeys(types))} | {point} | {why} |")
    return lines
