// Stands in for a header that Debian's libtorch lacks and its reducer.hpp includes: the two names
// that are used there. What has these types is touched by the library alone. Comes last among the
// includes, so that the real one is taken where there is one.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

namespace torch::distributed::autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd
