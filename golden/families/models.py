"""Small real models, composed of the vocabulary: what engines are for."""

from __future__ import annotations

from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import LeftOut
from random_numbers import tensor_json

# Errors add up over a model's depth: it is drawn again only if its bounds are wider than this.
NARROW = 2500


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for scalar_type in ("float64", "float32"):
        yield partial(_convolution, scalar_type)
        yield partial(_bag_of_words, scalar_type)
        for activation in ("relu", "tanh"):
            yield partial(_classifier, scalar_type, activation)
        yield partial(_lstm, scalar_type)
        yield partial(_attention, scalar_type)
        yield partial(_layer_norm, scalar_type)
        yield partial(_physics, scalar_type)
        yield partial(_neural_ode, scalar_type)
        yield partial(_learning_to_learn, scalar_type)
    yield partial(_block, "float64")
    yield partial(_complex_layer, "complex128")
    yield partial(_complex_layer, "complex64")


def _case(name: str, title: str, scalar_type: str, order: int, attempt: int) -> Case:
    return Case("models", f"{name}/{scalar_type}", title, "mm", scalar_type, ("model",), order, attempt)


class Model:
    """Writes the nodes of a model; each verb adds one and returns its name."""

    def __init__(self, case: Case):
        self.case = case
        self.count = 0

    def weights(self, name: str, shape: list[int], low: float = 0.2, high: float = 0.9) -> str:
        return self.case.leaf(name, self.case.numbers.tensor(self.case.type, shape, low, high))

    def constant(self, name: str, shape: list[int], values: list) -> str:
        return self.case.leaf(name, tensor_json(self.case.type, shape, values), requires_grad=False)

    def data(self, name: str, shape: list[int]) -> str:
        value = self.case.numbers.tensor(self.case.type, shape, 0.2, 1)
        return self.case.leaf(name, value, requires_grad=False)

    def __getattr__(self, op: str):
        """model.mm("a", "b") adds a node with this operation; `name=` names it."""
        def add(*inputs: str, name: str | None = None, **attributes) -> str:
            self.count += 1
            return self.case.node(name or f"{op}{self.count}", op, *inputs, **attributes)
        return add

    def linear(self, x: str, weight: str, bias: str) -> str:
        return self.add(self.mm(x, weight), bias)

    def index(self, name: str, shape: list[int], values: list[int]) -> str:
        value = {"type": "int64", "shape": shape, "values": values}
        return self.case.leaf(name, value, requires_grad=False)

    def mean_of_squares(self, x: str, **name) -> str:
        return self.mean(self.mul(x, x), **name)


def _finish(model: Model, root: str, parameters: list[str]) -> Case:
    case = model.case
    case.forward()
    case.backward((root, case.numbers.number(case.type, 0.5, 2)
                   if case.type == "float64" else case.numbers.tensor(case.type, [], 0.5, 2)))
    case.read(root, grads=parameters)
    return case


def _classifier(scalar_type: str, activation: str, attempt: int) -> Case:
    """Two layers and cross-entropy: the logarithm of softmax at the labels."""
    model = Model(_case(f"classifier-{activation}", f"two layers, {activation}, cross-entropy",
                        scalar_type, 1, attempt))
    x = model.data("x", [3, 4])
    parameters = [model.weights("w1", [4, 5]), model.weights("b1", [5]),
                  model.weights("w2", [5, 3]), model.weights("b2", [3])]
    hidden = getattr(model, activation)(model.linear(x, "w1", "b1"))
    scores = model.linear(hidden, "w2", "b2")
    return _finish(model, _cross_entropy(model, scores, [1, 0, 2]), parameters)


def _cross_entropy(model: Model, scores: str, labels: list[int]) -> str:
    index = model.index("labels", [len(labels), 1], labels)
    return model.mean(model.neg(model.gather(model.log_softmax(scores, dim=1), index, dim=1)), name="loss")


def _convolution(scalar_type: str, attempt: int) -> Case:
    """Two filters of 2 x 2 over pictures of 4 x 4: the patches are gathered, and pixels are in up to four
    of them, so that their gradients are sums."""
    model = Model(_case("convolution", "a 2-D convolution by gather", scalar_type, 1, attempt))
    pictures, side, size = 2, 4, 2
    places = side - size + 1
    x = model.weights("x", [pictures, side * side])
    parameters = [model.weights("filters", [size * size, 2]), model.weights("b", [2])]
    patches = [(row + i) * side + column + j for row in range(places) for column in range(places)
               for i in range(size) for j in range(size)]
    index = model.index("patches", [pictures, len(patches)], patches * pictures)
    rows = pictures * places * places
    columns = model.view(model.gather(x, index, dim=1), shape=[rows, size * size])
    maps = model.tanh(model.linear(columns, "filters", "b"))
    return _finish(model, _loss(model, maps, [rows, 2]), [x, *parameters])


def _bag_of_words(scalar_type: str, attempt: int) -> Case:
    """The mean of word vectors is classified; words that are used have rows in a sparse gradient."""
    model = Model(_case("bag-of-words", "embedding with a sparse gradient, mean, cross-entropy", scalar_type,
                        1, attempt))
    words = model.index("words", [2, 4], [3, 0, 3, 5, 1, 1, 0, 1])
    parameters = [model.weights("vectors", [6, 3]), model.weights("w", [3, 3]), model.weights("b", [3])]
    text = model.mean(model.embedding("vectors", words, sparse=True), dims=[1])
    return _finish(model, _cross_entropy(model, model.linear(text, "w", "b"), [2, 0]), parameters)


def _lstm(scalar_type: str, attempt: int) -> Case:
    """A cell over five steps; the four gates are slices of one product."""
    model = Model(_case("lstm", "an LSTM cell over 5 steps", scalar_type, 1, attempt))
    size, batch = 2, 2
    parameters = [model.weights("wx", [2, 4 * size]), model.weights("wh", [size, 4 * size]),
                  model.weights("b", [4 * size]), model.weights("h0", [batch, size]),
                  model.weights("c0", [batch, size])]
    hidden, memory = "h0", "c0"
    for step in range(5):
        x = model.data(f"x{step}", [batch, 2])
        gates = model.add(model.linear(x, "wx", "b"), model.mm(hidden, "wh"))
        into, keep, new, out = (model.slice(gates, dim=1, start=i * size, end=(i + 1) * size)
                                for i in range(4))
        memory = model.add(model.mul(model.sigmoid(keep), memory),
                           model.mul(model.sigmoid(into), model.tanh(new)))
        hidden = model.mul(model.sigmoid(out), model.tanh(memory))
    loss = model.mean_of_squares(model.sub(hidden, model.data("target", [batch, size])), name="loss")
    return _finish(model, loss, parameters)


def _attention_part(model: Model, x: str, width: int) -> tuple[str, list[str]]:
    """One head with softmax, and its residual connection."""
    parameters = [model.weights(name, [width, width]) for name in ("wq", "wk", "wv", "wo")]
    query, key, value = (model.mm(x, weight) for weight in ("wq", "wk", "wv"))
    scores = model.scale(model.mm(query, model.transpose(key, dim0=0, dim1=1)), factor=0.5)
    mixed = model.mm(model.mm(model.softmax(scores, dim=1), value), "wo")
    return model.add(x, mixed), parameters


def _layer_norm_by_steps(model: Model, x: str, width: int) -> tuple[str, list[str]]:
    parameters = [model.weights("gain", [width]), model.weights("shift", [width])]
    centred = model.sub(x, model.mean(x, dims=[1], keepdim=True))
    variance = model.mean(model.mul(centred, centred), dims=[1], keepdim=True)
    epsilon = model.constant("epsilon", [1, 1], [2**-10])
    normal = model.div(centred, model.sqrt(model.add(variance, epsilon)))
    return model.add(model.mul(normal, "gain"), "shift"), parameters


def _loss(model: Model, result: str, shape: list[int]) -> str:
    return model.sum(model.mul(result, model.data("target", shape)), name="loss")


def _attention(scalar_type: str, attempt: int) -> Case:
    model = Model(_case("attention", "an attention head with softmax", scalar_type, 1, attempt))
    x = model.weights("x", [3, 2], 0.3, 1.5)
    result, parameters = _attention_part(model, x, 2)
    return _finish(model, _loss(model, result, [3, 2]), [x, *parameters])


def _layer_norm(scalar_type: str, attempt: int) -> Case:
    model = Model(_case("layer-norm", "layer normalisation by its steps", scalar_type, 1, attempt))
    x = model.weights("x", [2, 5], 0.2, 2)
    result, parameters = _layer_norm_by_steps(model, x, 5)
    return _finish(model, _loss(model, result, [2, 5]), [x, *parameters])


def _block(scalar_type: str, attempt: int) -> Case:
    """Two heads of attention in one batch, residual, layer normalisation. Both parts subtract what is
    common to their inputs, so that the worst case of all roundings is far above what happens: no bound
    would be left in float32."""
    model = Model(_case("attention-block", "two heads, residual, layer norm", scalar_type, 1, attempt))
    tokens, heads, width = 3, 2, 4
    x = model.weights("x", [tokens, width])
    parameters = [model.weights(name, [width, width]) for name in ("wq", "wk", "wv", "wo")]
    query, key, value = (_by_head(model, model.mm(x, weight), tokens, heads, width)
                         for weight in ("wq", "wk", "wv"))
    scores = model.scale(model.bmm(query, model.transpose(key, dim0=1, dim1=2)), factor=0.5)
    mixed = model.bmm(model.softmax(scores, dim=2), value)
    parts = [model.select(mixed, dim=0, index=head) for head in range(heads)]
    summed = model.add(x, model.mm(model.cat(*parts, dim=1), "wo"))
    parameters += [model.weights("gain", [width]), model.weights("shift", [width])]
    result = model.layer_norm(summed, "gain", "shift", eps=2**-10)
    return _finish(model, _loss(model, result, [tokens, width]), [x, *parameters])


def _by_head(model: Model, x: str, tokens: int, heads: int, width: int) -> str:
    """The columns of each head as a matrix of a batch."""
    return model.transpose(model.view(x, shape=[tokens, heads, width // heads]), dim0=0, dim1=1)


def _physics(scalar_type: str, attempt: int) -> Case:
    """A network u(x) is fitted to u'' + u u' = f: the loss contains second derivatives."""
    model = Model(_case("physics-informed", "residual of u'' + u u' = f", scalar_type, 3, attempt))
    case = model.case
    case.leaf("x", case.numbers.tensor(scalar_type, [3, 1], 0.2, 1))
    parameters = [model.weights("w1", [1, 3]), model.weights("b1", [3]), model.weights("w2", [3, 1])]
    ones = tensor_json(scalar_type, [3, 1], [1, 1, 1])
    model.mm(model.tanh(model.linear("x", "w1", "b1")), "w2", name="u")
    network = [node["name"] for node in case.nodes]
    product = model.mul("u", "ux")
    residual = model.sub(model.add("uxx", product), model.data("f", [3, 1]))
    model.mean_of_squares(residual, name="loss")
    case.forward(*network)
    case.grad([("u", ones)], ["x"], ["ux"], create=True)
    case.grad([("ux", ones)], ["x"], ["uxx"], create=True)
    case.forward(*[node["name"] for node in case.nodes if node["name"] not in network])
    case.grad([("loss", case.numbers.tensor(scalar_type, [], 0.5, 2))], parameters,
              ["gw1", "gb1", "gw2"])
    case.read("u", "ux", "uxx", "loss", "gw1", "gb1", "gw2")
    return case


def _neural_ode(scalar_type: str, attempt: int) -> Case:
    """Two midpoint steps of y' = tanh(y w1) w2."""
    model = Model(_case("neural-ode", "two midpoint steps", scalar_type, 1, attempt))
    parameters = [model.weights("y0", [2, 2]), model.weights("w1", [2, 3]), model.weights("w2", [3, 2])]

    def slope(y: str) -> str:
        return model.mm(model.tanh(model.mm(y, "w1")), "w2")

    y = "y0"
    for _ in range(2):
        middle = model.add(y, model.scale(slope(y), factor=0.125))
        y = model.add(y, model.scale(slope(middle), factor=0.25))
    loss = model.mean_of_squares(model.sub(y, model.data("target", [2, 2])), name="loss")
    return _finish(model, loss, parameters)


def _learning_to_learn(scalar_type: str, attempt: int) -> Case:
    """A step of gradient descent, differentiated by the weights and by the step size."""
    model = Model(_case("learning-to-learn", "through a step of gradient descent", scalar_type, 2,
                        attempt))
    case = model.case
    parameters = [model.weights("w", [2, 1]), model.weights("rate", [])]
    x, target = model.data("x", [3, 2]), model.data("target", [3, 1])
    model.mean_of_squares(model.sub(model.sigmoid(model.mm(x, "w")), target), name="inner")
    first = [node["name"] for node in case.nodes]
    model.sub("w", model.mul("gw", "rate"), name="moved")
    model.mean_of_squares(model.sub(model.sigmoid(model.mm(x, "moved")), target), name="outer")
    case.forward(*first)
    seed = case.numbers.tensor(scalar_type, [], 0.5, 2)
    case.grad([("inner", seed)], ["w"], ["gw"], create=True)
    case.forward(*[node["name"] for node in case.nodes if node["name"] not in first])
    case.grad([("outer", case.numbers.tensor(scalar_type, [], 0.5, 2))], parameters, ["hw", "hrate"])
    case.read("inner", "gw", "outer", "hw", "hrate")
    return case


def _complex_layer(scalar_type: str, attempt: int) -> Case:
    """Two complex layers with a holomorphic activation."""
    model = Model(_case("complex-layers", "two complex layers", scalar_type, 1, attempt))
    x = model.data("x", [2, 2])
    parameters = [model.weights("w1", [2, 2]), model.weights("w2", [2, 1])]
    hidden = model.tanh(model.scale(model.mm(x, "w1"), factor=0.5))
    loss = model.sum(model.mm(hidden, "w2"), name="loss")
    return _finish(model, loss, parameters)
