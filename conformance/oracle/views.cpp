// Views: selections of the parts of a tensor's storage, with the base that they come from.
#include <algorithm>
#include <unordered_map>

#include "conformance/oracle/rules.h"

namespace gradcts::oracle {

Shape shape_of_parts(Shape shape, bool is_complex) {
  if (is_complex) shape.push_back(2);
  return shape;
}

Tensor* parts_of(Graph& graph, Tensor* a) {
  if (!is_complex(a->type)) return a;
  need_dense(*a, "parts of complex numbers");
  Array parts{a->type == ScalarType::complex64 ? ScalarType::float32 : ScalarType::float64,
              shape_of_parts(a->shape, true),
              {}};
  for (const Number& value : elements_of(*a).values) {
    parts.values.emplace_back(value.real());
    parts.values.emplace_back(value.imag());
  }
  Tensor* out = graph.make(std::move(parts), a->device);
  graph.record({a}, {out},
               [](Graph& g, GraphNode&, const Gradients& d) { return Gradients{joined(g, d[0])}; });
  return out;
}

Tensor* joined(Graph& graph, Tensor* a) {
  need_dense(*a, "complex numbers from parts");
  const Array parts = elements_of(*a);
  Array whole{a->type == ScalarType::float32 ? ScalarType::complex64 : ScalarType::complex128,
              a->shape,
              {}};
  whole.shape.pop_back();
  for (std::size_t i = 0; i < parts.values.size(); i += 2) {
    whole.values.emplace_back(parts.values[i].real(), parts.values[i + 1].real());
  }
  Tensor* out = graph.make(std::move(whole), a->device);
  graph.record({a}, {out}, [](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{parts_of(g, d[0])};
  });
  return out;
}

Map parts_in(const Tensor& base, const Tensor& view) {
  if (!base.parts) return view.parts;
  std::unordered_map<std::int32_t, std::int32_t> places;
  for (std::size_t i = 0; i < base.parts->size(); ++i) {
    places[(*base.parts)[i]] = static_cast<std::int32_t>(i);
  }
  auto map = std::make_shared<Elements>();
  for (std::int32_t place : *view.parts) map->push_back(places.at(place));
  return map;
}

namespace {

Map identity_map(const Shape& shape) {
  return broadcast_map(shape, shape);
}

// A view has a base, whose changes it sees.
Tensor* with_base(const Graph& graph, Tensor* a, Tensor* out) {
  if (graph.recording) {
    out->base = a->base ? a->base : a;
    out->base_rewrites = out->base->rewrites;
  }
  return out;
}

// A view of `a` that selects these of its elements: shares its storage, and remembers its base.
Tensor* make_view(Graph& graph, Tensor* a, const Map& map, const Shape& shape) {
  return with_base(graph, a, graph.view(*a, map, shape));
}

Tensor* view(Graph& graph, Tensor* a, const Map& map, const Shape& shape) {
  Tensor* out = make_view(graph, a, map, shape);
  const Shape from = a->shape;
  graph.record({a}, {out}, [map, from](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{put(g, d[0], map, from)};
  });
  return out;
}

// The pairs must lie side by side in memory. The oracle keeps elements in row-major order; where a
// leaf has strides of its own, those say where they lie.
void need_pairs(const Tensor& a) {
  const bool has_complex = a.type == ScalarType::float32 || a.type == ScalarType::float64;
  if (!has_complex || a.shape.empty() || a.shape.back() != 2) {
    throw Refused{ErrorCategory::invalid_argument};
  }
  const Tensor& base = a.base ? *a.base : a;
  const Map memory = strided_map(base.shape, base.strides.value_or(row_major_strides(base.shape)));
  const Map parts = a.parts ? a.parts : identity_map({count(a.shape)});
  const auto place = [&](std::size_t i) {
    return (*memory)[static_cast<std::size_t>((*parts)[i])];
  };
  for (std::size_t i = 0; i < parts->size(); i += 2) {
    if (place(i) % 2 != 0 || place(i + 1) != place(i) + 1) {
      throw Refused{ErrorCategory::invalid_argument};
    }
  }
}

Shape without(Shape shape, std::size_t dim) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  return shape;
}

Map part(const Shape& shape, std::size_t dim, std::int64_t index) {
  return slice_map(shape, static_cast<std::int64_t>(dim), index, index + 1, 1);
}

}  // namespace

std::size_t dimension(std::int64_t dim, std::size_t rank) {
  if (dim < 0) dim += static_cast<std::int64_t>(rank);
  if (dim < 0 || dim >= static_cast<std::int64_t>(rank))
    throw CannotTell("a dimension out of range");
  return static_cast<std::size_t>(dim);
}

Tensor* reshape(Graph& graph, Tensor* a, const IntegerList& sizes) {
  Shape shape(sizes.begin(), sizes.end());
  std::int64_t known = 1;
  for (std::int64_t size : shape) known *= size < 0 ? 1 : size;
  for (std::int64_t& size : shape) {
    if (size < 0) size = known == 0 ? 0 : count(a->shape) / known;
  }
  if (count(shape) != count(a->shape)) throw CannotTell("a view of another number of elements");
  return view(graph, a, identity_map(a->shape), shape);
}

Tensor* expand_view(Graph& graph, Tensor* a, const IntegerList& sizes) {
  Shape shape(sizes.begin(), sizes.end());
  const std::size_t shift = shape.size() - std::min(shape.size(), a->shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) shape[d] = a->shape[d - shift];
  }
  if (!expands_to(a->shape, shape)) throw CannotTell("a shape that does not expand as asked");
  return view(graph, a, broadcast_map(a->shape, shape), shape);
}

Tensor* transpose(Graph& graph, Tensor* a, std::int64_t dim0, std::int64_t dim1) {
  const std::size_t d0 = dimension(dim0, a->shape.size());
  const std::size_t d1 = dimension(dim1, a->shape.size());
  Shape shape = a->shape;
  std::swap(shape[d0], shape[d1]);
  return view(graph, a,
              transpose_map(a->shape, static_cast<std::int64_t>(d0), static_cast<std::int64_t>(d1)),
              shape);
}

Tensor* select(Graph& graph, Tensor* a, std::int64_t dim, std::int64_t index) {
  const std::size_t d = dimension(dim, a->shape.size());
  if (index < 0) index += a->shape[d];
  if (index < 0 || index >= a->shape[d]) throw CannotTell("an index out of range");
  return view(graph, a, part(a->shape, d, index), without(a->shape, d));
}

Tensor* slice(Graph& graph, Tensor* a, std::int64_t dim, std::int64_t begin, std::int64_t end,
              std::int64_t step) {
  const std::size_t d = dimension(dim, a->shape.size());
  const std::int64_t size = a->shape[d];
  begin = std::clamp<std::int64_t>(begin < 0 ? begin + size : begin, 0, size);
  end = std::clamp<std::int64_t>(end < 0 ? end + size : end, begin, size);
  Shape shape = a->shape;
  shape[d] = (end - begin + step - 1) / step;
  return view(graph, a, slice_map(a->shape, static_cast<std::int64_t>(d), begin, end, step), shape);
}

// One node with a slot for each part; a part without a gradient is zeros once another has one
// (B043).
Gradients unbind(Graph& graph, Tensor* a, std::int64_t dim) {
  const std::size_t d = dimension(dim, a->shape.size());
  Gradients parts;
  std::vector<Map> maps;
  for (std::int64_t i = 0; i < a->shape[d]; ++i) {
    maps.push_back(part(a->shape, d, i));
    parts.push_back(make_view(graph, a, maps.back(), without(a->shape, d)));
  }
  const Shape from = a->shape;
  graph.record({a}, parts, [maps, from](Graph& g, GraphNode&, const Gradients& gradients) {
    Tensor* sum = nullptr;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i]) continue;
      Tensor* piece = put(g, gradients[i], maps[i], from);
      sum = sum ? add(g, sum, piece) : piece;
    }
    return Gradients{sum};
  });
  return parts;
}

Tensor* view_as_real(Graph& graph, Tensor* a) {
  if (!is_complex(a->type)) throw Refused{ErrorCategory::invalid_argument};
  const bool single = a->type == ScalarType::complex64;
  Tensor* out = with_base(graph, a,
                          graph.view_as(*a, single ? ScalarType::float32 : ScalarType::float64,
                                        shape_of_parts(a->shape, true)));
  graph.record({a}, {out},
               [](Graph& g, GraphNode&, const Gradients& d) { return Gradients{joined(g, d[0])}; });
  return out;
}

Tensor* view_as_complex(Graph& graph, Tensor* a) {
  need_pairs(*a);
  const bool single = a->type == ScalarType::float32;
  Shape shape = a->shape;
  shape.pop_back();
  Tensor* out = with_base(
      graph, a, graph.view_as(*a, single ? ScalarType::complex64 : ScalarType::complex128, shape));
  graph.record({a}, {out}, [](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{parts_of(g, d[0])};
  });
  return out;
}

Tensor* view_alias(Graph& graph, Tensor* a) {
  return view(graph, a, identity_map(a->shape), a->shape);
}

}  // namespace gradcts::oracle
