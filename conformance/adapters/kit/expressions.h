// Expressions of scripts, computed with the engine's own arithmetic.
#pragma once

#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "conformance/adapters/kit/binding.h"
#include "conformance/adapters/kit/errors.h"
#include "conformance/adapters/kit/handles.h"
#include "conformance/adapters/kit/sync.h"

namespace gradcts::kit {

// Buffers that a node or hook owns and overwrites at each call: one for each expression that says
// so. Thread-safe, as far as handing them out goes.
template <typename B>
class Pools {
 public:
  typename B::Tensor write(B& binding, const Expression& expression) {
    std::lock_guard lock(mutex_);
    for (auto& [owner, buffer] : buffers_) {
      if (owner == &expression) {
        binding.write(buffer, *expression.constant);
        return buffer;
      }
    }
    auto& buffer = buffers_.emplace_back(&expression, typename B::Tensor()).second;
    binding.write(buffer, *expression.constant);
    return buffer;
  }

 private:
  Mutex mutex_;
  std::vector<std::pair<const Expression*, typename B::Tensor>> buffers_;
};

// What an expression may refer to.
template <typename B>
struct Scope {
  using Tensor = typename B::Tensor;

  std::span<const Tensor> slots;
  // What the running node saved, unpacked: saved[i] is the value saves[i]. Empty elsewhere.
  std::span<const ValueId> saves;
  std::span<const Tensor> saved;
  Pools<B>* pools = nullptr;  // of the running node

  // An engine that lets a hook change the number of gradients (HOOK-3) is wrong, and does not crash
  // us.
  const Tensor& slot(std::int32_t index) const {
    const auto position = static_cast<std::size_t>(index);
    if (position >= slots.size()) throw std::out_of_range("a script was given too few tensors");
    return slots[position];
  }
};

template <typename B>
class Evaluator {
 public:
  using Tensor = typename B::Tensor;

  Evaluator(B& binding, const Handles<Tensor>& values, const Scope<B>& scope)
      : binding_(binding), values_(values), scope_(scope) {}

  Tensor evaluate(const Expression& expression) const {
    Tensor result = plain(expression);
    if (!binding_.defined(result)) return result;
    if (expression.expand) result = binding_.expanded(result, *expression.expand);
    if (expression.cast) result = binding_.cast(result, *expression.cast);
    if (expression.move_to) result = binding_.moved(result, *expression.move_to);
    return result;
  }

  // A new tensor, or undefined when all slots are.
  Tensor sum_of_slots() const {
    Tensor sum;
    bool fresh = false;
    for (const Tensor& slot : scope_.slots) add(sum, fresh, slot, false);
    return finish(std::move(sum), fresh);
  }

 private:
  Tensor plain(const Expression& expression) const {
    switch (expression.kind) {
      case Expression::Kind::combination:
        return combination(expression.terms);
      case Expression::Kind::pass:
        return scope_.slot(expression.slot);
      case Expression::Kind::constant:
        return binding_.make(*expression.constant);
      case Expression::Kind::pool:
        return scope_.pools->write(binding_, expression);
      case Expression::Kind::undefined:
        break;
    }
    return Tensor();
  }

  // Sums are kept as handles as long as one term is all there is, so that no step is wasted; but
  // the result of a combination is never one of its slots.
  Tensor combination(const std::vector<Term>& terms) const {
    Tensor sum;
    bool fresh = false;
    for (const Term& term : terms) {
      const Tensor& from = scope_.slot(term.slot);
      if (!binding_.defined(from)) continue;
      const bool as_it_is = term.factor == 1 && term.times == no_id;
      add(sum, fresh, as_it_is ? from : weighted(from, term), !as_it_is);
    }
    return finish(std::move(sum), fresh);
  }

  Tensor weighted(const Tensor& from, const Term& term) const {
    if (term.times == no_id) return binding_.scaled(from, term.factor);
    const Tensor product = binding_.product(from, value(term.times));
    return term.factor == 1 ? product : binding_.scaled(product, term.factor);
  }

  void add(Tensor& sum, bool& fresh, const Tensor& term, bool term_is_fresh) const {
    if (!binding_.defined(term)) return;
    const bool first = !binding_.defined(sum);
    sum = first ? term : binding_.sum(sum, term);
    fresh = first ? term_is_fresh : true;
  }

  Tensor finish(Tensor sum, bool fresh) const {
    if (fresh || !binding_.defined(sum)) return sum;
    return binding_.scaled(sum, 1);
  }

  Tensor value(ValueId id) const {
    for (std::size_t i = 0; i < scope_.saves.size(); ++i) {
      if (scope_.saves[i] == id) return scope_.saved[i];
    }
    const Tensor tensor = values_.get(id);
    if (!binding_.defined(tensor)) throw UndefinedValue("a factor of an expression");
    if constexpr (ChecksAccesses<B>) binding_.register_use(tensor);
    return tensor;
  }

  B& binding_;
  const Handles<Tensor>& values_;
  const Scope<B>& scope_;
};

}  // namespace gradcts::kit
