// Hooks on libtorch's nodes. For the one source file of the adapter.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gradcts::libtorch {

namespace ag = torch::autograd;
using List = ag::variable_list;

using Script = std::function<std::optional<List>(const List&)>;
struct PreHook final : ag::FunctionPreHook {
  enum class Trace : bool { no, yes };
  explicit PreHook(Script s, Trace t = Trace::no) : script(std::move(s)), trace(t) {}
  List operator()(const List& gradients) override {
    return *removed ? gradients : script(gradients).value_or(gradients);
  }
  const Script script;
  const Trace trace;
  const std::shared_ptr<std::atomic<bool>> removed = std::make_shared<std::atomic<bool>>(false);
};
struct PostHook final : ag::FunctionPostHook {
  explicit PostHook(Script s) : script(std::move(s)) {}
  List operator()(const List& results, const List&) override {
    return script(results).value_or(results);
  }
  const Script script;
};

// Hooks on the gradient of a tensor that is no leaf are pre-hooks of its node, and pre-hooks run in
// the order of their list. A node begins after the hooks on its tensors: the trace's hook must be
// the last.
inline void keep_trace_last(ag::Node* node) {
  if (!node) return;
  auto& hooks = const_cast<std::vector<std::unique_ptr<ag::FunctionPreHook>>&>(node->pre_hooks());
  const auto trace = std::find_if(hooks.begin(), hooks.end(), [](const auto& hook) {
    const auto* ours = dynamic_cast<const PreHook*>(hook.get());
    return ours && ours->trace == PreHook::Trace::yes;
  });
  if (trace != hooks.end()) std::rotate(trace, trace + 1, hooks.end());
}

}  // namespace gradcts::libtorch
