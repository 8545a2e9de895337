// One hook over several tensors (HOOK-8).
#pragma once

#include <functional>
#include <vector>

#include "reference_engine/graph/autograd.h"

namespace gradcts::reference {

// Gets one gradient a tensor, undefined for those that take no part in the pass.
using MultiTensorHook = std::function<void(const std::vector<Tensor>& gradients)>;

// Runs once in each pass that any of the tensors takes part in, when the last gradient of those
// that do is there. Passes that run at the same time do not mix. The tensors must require grad.
HookHandle add_multi_tensor_hook(absl::Span<const Tensor> tensors, MultiTensorHook hook);

}  // namespace gradcts::reference
