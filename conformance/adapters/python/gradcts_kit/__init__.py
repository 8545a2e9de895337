"""The Python kit of gradcts: an adapter is a class with the functions of `Binding`, and one call of `serve`.

Only the standard library is needed. docs/adapters.md shows the way from nothing to a first case,
docs/protocol.md what goes over the pipe.
"""

from gradcts_kit.binding import Binding, CustomNode, NotOffered, Pass, RankReducer
from gradcts_kit.interpreter import run
from gradcts_kit.pipe import serve
from gradcts_kit.plain import PlainTensor

__all__ = ["Binding", "CustomNode", "NotOffered", "Pass", "PlainTensor", "RankReducer", "run", "serve"]
