// Access by an index tensor: each is a map from elements to elements, taken or put.
#include "conformance/oracle/rules.h"

namespace gradcts::oracle {

namespace {

// Calls visit(coordinates) for each element of the shape, in row-major order.
template <typename Visit>
void for_each_element(const Shape& shape, Visit visit) {
  Shape at(shape.size(), 0);
  for (std::int64_t left = count(shape); left > 0; --left) {
    visit(at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

std::int32_t place(const Shape& shape, const Shape& at) {
  const Shape strides = row_major_strides(shape);
  std::int64_t result = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) result += at[d] * strides[d];
  return static_cast<std::int32_t>(result);
}

std::vector<std::int64_t> checked_index(const Tensor& index, std::int64_t size) {
  if (index.type != ScalarType::int64) throw Refused{ErrorCategory::invalid_argument};
  std::vector<std::int64_t> result;
  for (const Number& value : elements_of(index).values) {
    if (value.real() < 0 || value.real() >= static_cast<double>(size)) {
      throw Refused{ErrorCategory::invalid_argument};
    }
    result.push_back(static_cast<std::int64_t>(value.real()));
  }
  return result;
}

// For each element of the index the element of a shape that it names.
Map indexed_map(const Shape& shape, std::size_t dim, const Tensor& index) {
  bool fits = index.shape.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = d == dim || index.shape[d] <= shape[d];
  }
  if (!fits) throw Refused{ErrorCategory::invalid_argument};
  const std::vector<std::int64_t> chosen = checked_index(index, shape[dim]);
  auto map = std::make_shared<Elements>();
  for_each_element(index.shape, [&](Shape at) {
    at[dim] = chosen[map->size()];
    map->push_back(place(shape, at));
  });
  return map;
}

// The first elements of a shape along each dimension.
Map corner_map(const Shape& shape, const Shape& corner) {
  bool fits = shape.size() == corner.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = corner[d] <= shape[d];
  if (!fits) throw Refused{ErrorCategory::invalid_argument};
  auto map = std::make_shared<Elements>();
  for_each_element(corner, [&](const Shape& at) { map->push_back(place(shape, at)); });
  return map;
}

// take() whose node saves the index.
Tensor* take_indexed(Graph& graph, Tensor* a, const Map& map, const Shape& shape, Tensor* index) {
  Tensor* out = take(graph, a, map, shape);
  if (graph.records({a})) graph.save(*out->origin.node, index);
  return out;
}

Shape with_size(Shape shape, std::size_t dim, std::int64_t size) {
  shape[dim] = size;
  return shape;
}

}  // namespace

Tensor* gather(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index) {
  const std::size_t d = dimension(dim, a->shape.size());
  return take_indexed(graph, a, indexed_map(a->shape, d, *index), index->shape, index);
}

Tensor* scatter_add(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index, Tensor* source) {
  need_dense(*a, "scatter_add");
  need_dense(*source, "scatter_add");
  if (source->type != a->type) throw Refused{ErrorCategory::invalid_argument};
  const Map to = indexed_map(a->shape, dimension(dim, a->shape.size()), *index);
  const Map from = corner_map(source->shape, index->shape);
  Array sum = elements_of(*a);
  const Array added = elements_of(*source);
  for (std::size_t i = 0; i < to->size(); ++i) {
    sum.values[static_cast<std::size_t>((*to)[i])] +=
        added.values[static_cast<std::size_t>((*from)[i])];
  }
  round_to_type(sum);
  Tensor* out = graph.make(std::move(sum), common_device(*a, *source));
  const Shape taken = index->shape;
  const Shape whole = source->shape;
  GraphNode* node =
      graph.record({a, source}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
        Gradients result{n.edges[0].node ? d[0] : nullptr, nullptr};
        if (n.edges[1].node) result[1] = put(g, take(g, d[0], to, taken), from, whole);
        return result;
      });
  if (node) graph.save(*node, index);
  return out;
}

Tensor* index_select(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index) {
  const std::size_t d = dimension(dim, a->shape.size());
  if (index->shape.size() != 1) throw Refused{ErrorCategory::invalid_argument};
  const std::vector<std::int64_t> chosen = checked_index(*index, a->shape[d]);
  const Shape shape = with_size(a->shape, d, index->shape[0]);
  auto map = std::make_shared<Elements>();
  for_each_element(shape, [&](Shape at) {
    at[d] = chosen[static_cast<std::size_t>(at[d])];
    map->push_back(place(a->shape, at));
  });
  return take_indexed(graph, a, map, shape, index);
}

Tensor* embedding(Graph& graph, Tensor* weight, Tensor* index, bool sparse) {
  need_dense(*weight, "embedding");
  if (weight->shape.size() != 2) throw Refused{ErrorCategory::invalid_argument};
  auto rows = std::make_shared<SparseCoordinates>();
  rows->indices = checked_index(*index, weight->shape[0]);
  const std::int64_t columns = weight->shape[1];
  auto map = std::make_shared<Elements>();
  for (std::int64_t row : rows->indices) {
    for (std::int64_t i = 0; i < columns; ++i) {
      map->push_back(static_cast<std::int32_t>(row * columns + i));
    }
  }
  Shape shape = index->shape;
  shape.push_back(columns);
  Tensor* out = graph.make(gather(elements_of(*weight), *map, shape), weight->device);
  const Shape whole = weight->shape;
  GraphNode* node = graph.record({weight}, {out}, [=](Graph& g, GraphNode&, const Gradients& d) {
    Tensor* gradient = put(g, d[0], map, whole);
    if (sparse) gradient->sparse = rows;
    return Gradients{gradient};
  });
  if (node) graph.save(*node, index);
  return out;
}

}  // namespace gradcts::oracle
