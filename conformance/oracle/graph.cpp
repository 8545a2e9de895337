#include "conformance/oracle/graph.h"

#include <algorithm>
#include <set>

#include "conformance/oracle/functions.h"

namespace gradcts::oracle {

NodeHooks& GraphNode::make_hooks() {
  if (!hooks) hooks = std::make_unique<NodeHooks>();
  hooks->tensor.resize(slots.size());
  return *hooks;
}

namespace {

// Where the i-th part of a tensor's elements stands in its storage.
std::int32_t part(const Tensor& tensor, std::size_t i) {
  return tensor.parts ? (*tensor.parts)[i] : static_cast<std::int32_t>(i);
}

}  // namespace

Tensor* Graph::make(Array array, Device device) {
  Tensor& tensor = tensors_.make();
  tensor.type = array.type;
  tensor.device = device;
  tensor.shape = std::move(array.shape);
  tensor.storage = &storages_.make();
  const bool two = is_complex(array.type);
  tensor.storage->parts.reserve(array.values.size() * (two ? 2 : 1));
  for (const Number& value : array.values) {
    tensor.storage->parts.push_back(value.real());
    if (two) tensor.storage->parts.push_back(value.imag());
  }
  tensor.version = make_version();
  return &tensor;
}

Tensor* Graph::make(const TensorValue& value) {
  Tensor* tensor = make(from_value(value), value.device);
  if (value.layout == Layout::sparse) {
    tensor->sparse = std::make_shared<SparseCoordinates>(*value.coordinates);
  } else {
    tensor->strides = value.strides.empty() ? row_major_strides(value.shape) : value.strides;
  }
  return tensor;
}

Tensor* Graph::alias(const Tensor& tensor) {
  Tensor& result = tensors_.make();
  result.type = tensor.type;
  result.device = tensor.device;
  result.shape = tensor.shape;
  result.storage = tensor.storage;
  result.parts = tensor.parts;
  result.version = tensor.version;
  result.sparse = tensor.sparse;
  return &result;
}

Tensor* Graph::view(const Tensor& tensor, const Map& elements, Shape shape) {
  if (tensor.sparse) throw CannotTell("a view of a sparse tensor");
  Tensor* result = alias(tensor);
  result->shape = std::move(shape);
  const std::size_t width = is_complex(tensor.type) ? 2 : 1;
  auto parts = std::make_shared<Elements>();
  parts->reserve(elements->size() * width);
  for (std::int32_t element : *elements) {
    for (std::size_t i = 0; i < width; ++i)
      parts->push_back(part(tensor, static_cast<std::size_t>(element) * width + i));
  }
  result->parts = std::move(parts);
  return result;
}

Tensor* Graph::view_as(const Tensor& tensor, ScalarType type, Shape shape) {
  if (tensor.sparse) throw CannotTell("a view of a sparse tensor");
  Tensor* result = alias(tensor);
  result->type = type;
  result->shape = std::move(shape);
  if (!result->parts) {
    const auto all = static_cast<std::int64_t>(tensor.storage->parts.size());
    result->parts = broadcast_map({all}, {all});
  }
  return result;
}

GraphNode* Graph::accumulator_of(Tensor& leaf) {
  if (!leaf.accumulator) {
    GraphNode& node = nodes_.make();
    node.leaf = &leaf;
    node.slots.push_back({leaf.type, leaf.device, leaf.shape, &leaf});
    node.stream = stream;
    leaf.accumulator = &node;
  }
  return leaf.accumulator;
}

Edge Graph::edge_of(Tensor& tensor) {
  if (tensor.base && tensor.base_rewrites != tensor.base->rewrites) renew_history(tensor);
  if (tensor.origin.node) return tensor.origin;
  if (tensor.requires_grad) return {accumulator_of(tensor), 0};
  return {};
}

// A view whose base was changed in place has the base's new history: it is a selection of it.
void Graph::renew_history(Tensor& view) {
  Tensor& base = *view.base;
  view.base_rewrites = base.rewrites;
  const Map map = parts_in(base, view);
  const Shape shape = base.shape;
  const bool complex_base = is_complex(base.type);
  GraphNode* node = make_node({&base}, [=](Graph& g, GraphNode&, const Gradients& d) {
    Tensor* whole = put(g, parts_of(g, d[0]), map, shape_of_parts(shape, complex_base));
    return Gradients{complex_base ? joined(g, whole) : whole};
  });
  view.origin = {};
  attach(*node, view);
}

bool Graph::records(const Gradients& inputs) const {
  return recording && std::any_of(inputs.begin(), inputs.end(),
                                  [](const Tensor* input) { return tracked(*input); });
}

GraphNode* Graph::make_node(const Gradients& inputs, Backward backward) {
  GraphNode& node = nodes_.make();
  for (Tensor* input : inputs) node.edges.push_back(input ? edge_of(*input) : Edge{});
  node.thread = thread;
  node.sequence = tick();
  node.stream = stream;
  node.backward = std::move(backward);
  return &node;
}

void Graph::attach(GraphNode& node, Tensor& output) {
  output.origin = {&node, static_cast<std::int32_t>(node.slots.size())};
  output.requires_grad = false;
  node.slots.push_back({output.type, output.device, output.shape, &output});
}

GraphNode* Graph::record(const Gradients& inputs, const Gradients& outputs, Backward backward) {
  if (!records(inputs)) return nullptr;
  GraphNode* node = make_node(inputs, std::move(backward));
  for (Tensor* output : outputs) attach(*node, *output);
  return node;
}

void Graph::save(GraphNode& node, Tensor* tensor) {
  SavedTensor& entry = node.saved.emplace_back();
  entry.tensor = tensor;
  entry.version = tensor->version->number;
  if (pack) pack(entry);
}

Array elements_of(const Tensor& tensor) {
  const std::size_t width = is_complex(tensor.type) ? 2 : 1;
  const std::size_t parts = tensor.parts ? tensor.parts->size() : tensor.storage->parts.size();
  Array all{tensor.type, tensor.shape, {}};
  all.values.reserve(parts / width);
  const auto at = [&](std::size_t i) {
    return tensor.storage->parts[static_cast<std::size_t>(part(tensor, i))];
  };
  for (std::size_t i = 0; i < parts; i += width) {
    all.values.emplace_back(at(i), width == 2 ? at(i + 1) : 0);
  }
  return all;
}

void write_elements(Tensor& tensor, const Numbers& values) {
  const std::size_t width = is_complex(tensor.type) ? 2 : 1;
  const auto at = [&](std::size_t i) -> double& {
    return tensor.storage->parts[static_cast<std::size_t>(part(tensor, i))];
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    at(i * width) = values[i].real();
    if (width == 2) at(i * width + 1) = values[i].imag();
  }
}

namespace {

void append(TensorValue& value, Number number) {
  value.values.push_back(number.real());
  if (value.is_complex()) value.values.push_back(number.imag());
}

// The distinct coordinates in order, with the dense elements that stand there.
void add_sparse_entries(TensorValue& value, const SparseCoordinates& from, const Array& dense) {
  const auto dims = static_cast<std::size_t>(from.sparse_dimensions);
  const std::size_t entries = dims == 0 ? 0 : from.indices.size() / dims;
  std::set<std::vector<std::int64_t>> places;
  for (std::size_t e = 0; e < entries; ++e) {
    std::vector<std::int64_t> place;
    for (std::size_t d = 0; d < dims; ++d) place.push_back(from.indices[d * entries + e]);
    places.insert(std::move(place));
  }
  value.coordinates = SparseCoordinates{from.sparse_dimensions, {}, from.coalesced};
  for (std::size_t d = 0; d < dims; ++d) {
    for (const auto& place : places) value.coordinates->indices.push_back(place[d]);
  }
  std::size_t block = 1;
  for (std::size_t d = dims; d < value.shape.size(); ++d) {
    block *= static_cast<std::size_t>(value.shape[d]);
  }
  for (const auto& place : places) {
    std::size_t start = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      start = start * static_cast<std::size_t>(value.shape[d]) + static_cast<std::size_t>(place[d]);
    }
    for (std::size_t i = 0; i < block; ++i) append(value, dense.values[start * block + i]);
  }
}

}  // namespace

TensorValue to_value(const Tensor& tensor) {
  TensorValue value;
  value.type = tensor.type;
  value.device = tensor.device;
  value.shape = tensor.shape;
  if (tensor.sparse) {
    value.layout = Layout::sparse;
    add_sparse_entries(value, *tensor.sparse, elements_of(tensor));
    return value;
  }
  const auto& parts = tensor.storage->parts;
  if (!tensor.parts) {
    value.values.assign(parts.begin(), parts.end());
    return value;
  }
  value.values.reserve(tensor.parts->size());
  for (const std::int32_t i : *tensor.parts) value.values.push_back(parts[static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace gradcts::oracle
