// The engine under test: replace it by yours. This one knows vectors of doubles, three operations
// and a tape that hangs on its tensors.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

namespace my {

using Values = std::vector<double>;
struct Node;

struct Tensor {
  Values values;
  std::vector<long> shape;
  bool requires_grad = false;
  std::shared_ptr<Tensor> grad;
  std::shared_ptr<Node> node;  // that made it; null: a leaf or a constant
};
using TensorPointer = std::shared_ptr<Tensor>;

struct Node {
  std::vector<TensorPointer> inputs;
  std::function<std::vector<Values>(const Values&)> backward;  // one gradient for each input
  long number = 0;                                             // newer nodes have higher ones
};

inline TensorPointer make(Values values, std::vector<long> shape) {
  return std::make_shared<Tensor>(
      Tensor{std::move(values), std::move(shape), false, nullptr, nullptr});
}

template <typename Function>
Values zip(const Values& a, const Values& b, Function function) {
  Values result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(function(a[i], b[i]));
  return result;
}
inline Values times(Values a, double factor) {
  for (double& x : a) x *= factor;
  return a;
}
inline Values plus(const Values& a, const Values& b) {
  return zip(a, b, std::plus());
}
inline Values times(const Values& a, const Values& b) {
  return zip(a, b, std::multiplies());
}

inline TensorPointer record(Values values, std::vector<TensorPointer> inputs,
                            std::function<std::vector<Values>(const Values&)> backward) {
  static long nodes = 0;
  TensorPointer output = make(std::move(values), inputs[0]->shape);
  for (const TensorPointer& input : inputs) output->requires_grad |= input->requires_grad;
  if (!output->requires_grad) return output;
  output->node = std::make_shared<Node>(Node{std::move(inputs), std::move(backward), ++nodes});
  return output;
}

inline TensorPointer add(const TensorPointer& a, const TensorPointer& b) {
  return record(plus(a->values, b->values), {a, b}, [](const Values& g) {
    return std::vector<Values>{g, g};
  });
}
inline TensorPointer mul(const TensorPointer& a, const TensorPointer& b) {
  return record(times(a->values, b->values), {a, b},
                [x = a->values, y = b->values](const Values& g) {
                  return std::vector<Values>{times(g, y), times(g, x)};
                });
}
inline TensorPointer scale(const TensorPointer& a, double factor) {
  return record(times(a->values, factor), {a},
                [factor](const Values& g) { return std::vector<Values>{times(g, factor)}; });
}

// Gradients go into the leaves. Of the nodes that are ready the newest runs first.
inline void backward(const std::vector<TensorPointer>& roots,
                     const std::vector<TensorPointer>& seeds) {
  struct Pending {
    std::shared_ptr<Node> node;
    Values sum;
  };
  std::map<long, Pending> pending;
  const auto deliver = [&](const TensorPointer& to, const Values& gradient) {
    if (to->node) {
      const auto [entry, first] =
          pending.try_emplace(to->node->number, Pending{to->node, gradient});
      if (!first) entry->second.sum = plus(entry->second.sum, gradient);
    } else if (to->requires_grad) {
      to->grad = make(to->grad ? plus(to->grad->values, gradient) : gradient, to->shape);
    }
  };
  for (const TensorPointer& root : roots) {
    if (!root->requires_grad) throw std::invalid_argument("a root does not require a gradient");
  }
  for (std::size_t i = 0; i < roots.size(); ++i) deliver(roots[i], seeds[i]->values);
  while (!pending.empty()) {
    const Pending next = std::prev(pending.end())->second;
    pending.erase(std::prev(pending.end()));
    const std::vector<Values> gradients = next.node->backward(next.sum);
    for (std::size_t i = 0; i < gradients.size(); ++i) deliver(next.node->inputs[i], gradients[i]);
  }
}

}  // namespace my
