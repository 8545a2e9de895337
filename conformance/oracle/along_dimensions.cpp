// Extremes, logsumexp, softmax, layer_norm, running sums and flips. A *group* is the elements that
// are reduced to one; the map of a reduction gives each element's group.
#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/oracle/rules.h"

namespace gradcts::oracle {

namespace {

struct Groups {
  Map of;       // each element's group
  Shape whole;  // of the elements
  Shape kept;   // of the groups, with ones where dimensions were reduced
  std::size_t number = 0;
};

Groups groups_of(const Shape& shape, const std::vector<bool>& reduced) {
  const Shape kept = reduced_shape(shape, reduced, true);
  return {reduction_map(shape, reduced), shape, kept, static_cast<std::size_t>(count(kept))};
}

Groups groups_along(const Tensor& a, std::int64_t dim) {
  std::vector<bool> reduced(a.shape.size(), false);
  reduced[dimension(dim, a.shape.size())] = true;
  return groups_of(a.shape, reduced);
}

void need_real(const Tensor& a, const char* function) {
  need_dense(a, function);
  if (is_complex(a.type) || !is_differentiable(a.type))
    throw Refused{ErrorCategory::invalid_argument};
}

std::size_t group(const Groups& groups, std::size_t element) {
  return static_cast<std::size_t>((*groups.of)[element]);
}

// NaN where one is NaN.
std::vector<double> extremes(const Array& a, const Groups& groups, bool largest) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> best(groups.number, largest ? -infinity : infinity);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double value = a.values[i].real();
    double& known = best[group(groups, i)];
    if (value != value) {
      known = value;
    } else {
      known = largest ? std::max(known, value) : std::min(known, value);  // one that is NaN stays
    }
  }
  return best;
}

// What to take off before e ** a, so that it does not overflow.
std::vector<double> shifts(const Array& a, const Groups& groups) {
  std::vector<double> result = extremes(a, groups, true);
  for (double& value : result) value = std::isinf(value) ? 0 : value;
  return result;
}

std::vector<double> sums_of_exponentials(const Array& a, const Groups& groups,
                                         const std::vector<double>& shift) {
  std::vector<double> sums(groups.number, 0);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    sums[group(groups, i)] += std::exp(a.values[i].real() - shift[group(groups, i)]);
  }
  return sums;
}

// Each element becomes the sum of its group.
Tensor* group_sums(Graph& graph, Tensor* a, const Groups& groups) {
  return take(graph, put(graph, a, groups.of, groups.kept), groups.of, groups.whole);
}

}  // namespace

Tensor* extreme(Graph& graph, Tensor* a, const Attribute& dims, bool keep, bool largest) {
  need_real(*a, "amax or amin");
  const std::vector<bool> reduced = reduced_dimensions(a->shape, dims);
  const Groups groups = groups_of(a->shape, reduced);
  if (count(a->shape) == 0 && groups.number > 0) throw Refused{ErrorCategory::invalid_argument};
  const Array array = elements_of(*a);
  Array best{a->type, reduced_shape(a->shape, reduced, keep), {}};
  for (double value : extremes(array, groups, largest)) best.values.emplace_back(value);
  Tensor* out = graph.make(std::move(best), a->device);
  GraphNode* node = graph.record({a}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    const Array x = elements_of(*n.unpacked(a));
    const Array y = elements_of(*n.unpacked(out));
    auto chosen = std::make_shared<Array>(x);
    Array counts{a->type, groups.kept, Numbers(groups.number)};
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      if (x.values[i] != x.values[i]) throw CannotTell("the gradient of amax or amin at nan");
      chosen->values[i] = x.values[i] == y.values[group(groups, i)] ? 1 : 0;
      counts.values[group(groups, i)] += chosen->values[i];
    }
    Tensor* all = take(g, d[0], groups.of, groups.whole);
    return Gradients{div(g, weigh(g, all, chosen), g.make(std::move(counts), a->device))};
  });
  if (node) graph.save(*node, a);
  if (node) graph.save(*node, out);
  return out;
}

Tensor* logsumexp(Graph& graph, Tensor* a, const Attribute& dims, bool keep) {
  need_real(*a, "logsumexp");
  const std::vector<bool> reduced = reduced_dimensions(a->shape, dims);
  const Groups groups = groups_of(a->shape, reduced);
  const Array array = elements_of(*a);
  const std::vector<double> shift = shifts(array, groups);
  const std::vector<double> sums = sums_of_exponentials(array, groups, shift);
  Array result{a->type, reduced_shape(a->shape, reduced, keep), {}};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.values.push_back(round_to(a->type, shift[i] + std::log(sums[i])));
  }
  Tensor* out = graph.make(std::move(result), a->device);
  GraphNode* node = graph.record({a}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    Tensor* y = take(g, n.unpacked(out), groups.of, groups.whole);
    Tensor* all = take(g, d[0], groups.of, groups.whole);
    return Gradients{mul(g, all, exponential(g, sub(g, n.unpacked(a), y)))};
  });
  if (node) graph.save(*node, a);
  if (node) graph.save(*node, out);
  return out;
}

namespace {

// `function` of the shifted exponent and of the group's sum of exponentials.
template <typename Function>
Tensor* normalised(Graph& graph, const Tensor& a, const Groups& groups, Function function) {
  Array array = elements_of(a);
  const std::vector<double> largest = extremes(array, groups, true);
  const std::vector<double> sums = sums_of_exponentials(array, groups, largest);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    const double exponent = array.values[i].real() - largest[group(groups, i)];
    array.values[i] = round_to(a.type, function(exponent, sums[group(groups, i)]));
  }
  return graph.make(std::move(array), a.device);
}

}  // namespace

Tensor* softmax(Graph& graph, Tensor* a, std::int64_t dim) {
  need_real(*a, "softmax");
  const Groups groups = groups_along(*a, dim);
  Tensor* out = normalised(graph, *a, groups,
                           [](double exponent, double sum) { return std::exp(exponent) / sum; });
  GraphNode* node = graph.record({a}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    Tensor* y = n.unpacked(out);
    return Gradients{mul(g, y, sub(g, d[0], group_sums(g, mul(g, d[0], y), groups)))};
  });
  if (node) graph.save(*node, out);
  return out;
}

Tensor* log_softmax(Graph& graph, Tensor* a, std::int64_t dim) {
  need_real(*a, "log_softmax");
  const Groups groups = groups_along(*a, dim);
  Tensor* out = normalised(graph, *a, groups,
                           [](double exponent, double sum) { return exponent - std::log(sum); });
  GraphNode* node = graph.record({a}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    Tensor* y = n.unpacked(out);
    return Gradients{sub(g, d[0], mul(g, exponential(g, y), group_sums(g, d[0], groups)))};
  });
  if (node) graph.save(*node, out);
  return out;
}

namespace {

// x less its mean, and the root of its variance plus eps.
struct Normal {
  Tensor* hat;
  Tensor* deviation;
};

Tensor* group_means(Graph& graph, Tensor* a, const Groups& groups) {
  return divide_by(graph, group_sums(graph, a, groups), static_cast<double>(a->shape.back()));
}

Normal normal_of(Graph& graph, Tensor* x, const Groups& groups, double eps) {
  Tensor* centred = sub(graph, x, group_means(graph, x, groups));
  Tensor* variance = group_means(graph, mul(graph, centred, centred), groups);
  Tensor* deviation = square_root(graph, shift(graph, variance, eps));
  return {div(graph, centred, deviation), deviation};
}

Array layer_norm_value(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps) {
  Array array = elements_of(a);
  const Array factors = elements_of(weight);
  const Array terms = elements_of(bias);
  const std::size_t size = factors.values.size();
  for (std::size_t row = 0; row < array.values.size(); row += size) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < size; ++i) mean += array.values[row + i].real();
    mean /= static_cast<double>(size);
    for (std::size_t i = 0; i < size; ++i)
      variance += std::pow(array.values[row + i].real() - mean, 2);
    variance /= static_cast<double>(size);
    for (std::size_t i = 0; i < size; ++i) {
      const double hat = (array.values[row + i].real() - mean) / std::sqrt(variance + eps);
      array.values[row + i] = round_to(a.type, hat * factors.values[i] + terms.values[i]);
    }
  }
  return array;
}

}  // namespace

Tensor* layer_norm(Graph& graph, Tensor* a, Tensor* weight, Tensor* bias, double eps) {
  need_real(*a, "layer_norm");
  const bool fits =
      !a->shape.empty() && weight->shape == Shape{a->shape.back()} && bias->shape == weight->shape;
  if (!fits) throw Refused{ErrorCategory::invalid_argument};
  Tensor* out = graph.make(layer_norm_value(*a, *weight, *bias, eps), a->device);
  const Groups groups = groups_along(*a, -1);
  GraphNode* node =
      graph.record({a, weight, bias}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
        const auto [hat, deviation] = normal_of(g, n.unpacked(a), groups, eps);
        Gradients result(3, nullptr);
        if (n.edges[0].node) {
          Tensor* inner = mul(g, d[0], n.unpacked(weight));
          Tensor* along = mul(g, hat, group_means(g, mul(g, inner, hat), groups));
          Tensor* rest = sub(g, sub(g, inner, group_means(g, inner, groups)), along);
          result[0] = fit(g, div(g, rest, deviation), *a);
        }
        if (n.edges[1].node) result[1] = fit(g, mul(g, d[0], hat), *weight);
        if (n.edges[2].node) result[2] = fit(g, d[0], *bias);
        return result;
      });
  if (node) graph.save(*node, a);
  if (node) graph.save(*node, weight);
  return out;
}

Tensor* running_sum(Graph& graph, Tensor* a, std::size_t dim, bool from_the_end) {
  need_dense(*a, "cumsum");
  std::vector<bool> along(a->shape.size(), false);
  along[dim] = true;
  const Groups groups = groups_of(a->shape, along);
  Array array = elements_of(*a);
  Numbers sums(groups.number);
  const std::size_t size = array.values.size();
  for (std::size_t step = 0; step < size; ++step) {
    const std::size_t i = from_the_end ? size - 1 - step : step;
    array.values[i] = round_to(a->type, sums[group(groups, i)] += array.values[i]);
  }
  Tensor* out = graph.make(std::move(array), a->device);
  graph.record({a}, {out}, [=](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{running_sum(g, d[0], dim, !from_the_end)};
  });
  return out;
}

Tensor* flip(Graph& graph, Tensor* a, const std::vector<bool>& flipped) {
  const Shape strides = row_major_strides(a->shape);
  auto map = std::make_shared<Elements>();
  for (std::int64_t i = 0; i < count(a->shape); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < a->shape.size(); ++d) {
      const std::int64_t at = i / strides[d] % a->shape[d];
      from += (flipped[d] ? a->shape[d] - 1 - at : at) * strides[d];
    }
    map->push_back(static_cast<std::int32_t>(from));
  }
  return take(graph, a, map, a->shape);
}

}  // namespace gradcts::oracle
