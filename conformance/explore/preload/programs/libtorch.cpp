// Programs that run libtorch's engine, for libtorch_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "conformance/explore/preload/programs/control.h"

namespace gradcts::schedule::programs {

std::mutex first_mutex;  // named in the report
std::mutex second_mutex;

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// A node that passes values through, and calls `in_backward` in its backward.
class Scripted : public torch::autograd::Function<Scripted> {
 public:
  using Script = std::function<void()>;

  static Tensor forward(AutogradContext* context, const Tensor& input, const Script* in_backward) {
    context->saved_data["script"] = reinterpret_cast<std::int64_t>(in_backward);
    return input.clone();
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const std::int64_t script = context->saved_data["script"].toInt();
    const at::AutoGradMode recording(true);  // off in a backward, unless said otherwise
    (*reinterpret_cast<const Script*>(script))();
    return {gradients[0], Tensor()};
  }
};

Tensor scripted(const Tensor& input, const Scripted::Script& script) {
  return Scripted::apply(input, &script);
}

Tensor leaf(double value) {
  return torch::full({}, value, at::TensorOptions().requires_grad(true));
}

// Two callers; each pass starts a nested one from the backward of one of its nodes, and both
// callers add to the gradient of one shared leaf.
bool two_callers_with_nested_passes() {
  const Tensor shared = leaf(3);
  const auto call = [&shared](double factor) {
    const Scripted::Script nested = [&] { (shared * factor).backward(); };
    (scripted(shared * factor, nested) * 2).backward();
  };
  std::thread other(call, 10);
  call(1);
  other.join();
  return shared.grad().item<double>() == (1 + 2 * 1) + (10 + 2 * 10);
}

// Passes within passes, beyond the depth (60) at which the engine goes on in threads of a pool.
void nest(const Tensor& shared, int depth) {
  const Scripted::Script deeper = [&] {
    if (depth > 1) nest(shared, depth - 1);
  };
  scripted(shared * 1, deeper).backward();
}

bool passes_beyond_the_nesting_limit() {
  const Tensor shared = leaf(3);
  const int depth = 64;
  std::thread other(nest, shared, depth);
  nest(shared, depth);
  other.join();
  return shared.grad().item<double>() == 2 * depth;
}

// Each pass takes two mutexes of the user, one in each of two nodes, nested. The order differs.
bool lock_inversion_between_passes() {
  const auto call = [](std::mutex& one, std::mutex& other) {
    const Tensor input = leaf(1);
    const Scripted::Script take_other = [&] { std::lock_guard guard(other); };
    const Scripted::Script take_one_and_nest = [&] {
      std::lock_guard guard(one);
      scripted(leaf(1), take_other).backward();
    };
    scripted(input, take_one_and_nest).backward();
  };
  std::thread thread(call, std::ref(second_mutex), std::ref(first_mutex));
  call(first_mutex, second_mutex);
  thread.join();
  return true;
}

bool ordered_locks_between_passes() {
  const auto call = [] {
    const Scripted::Script take = [] {
      std::lock_guard outer(first_mutex);
      std::lock_guard inner(second_mutex);
    };
    scripted(leaf(1), take).backward();
  };
  std::thread thread(call);
  call();
  thread.join();
  return true;
}

void start_up() {
  (leaf(1) * 2).backward();
}

const Program all[] = {
    {"two_callers_with_nested_passes", two_callers_with_nested_passes, start_up},
    {"passes_beyond_the_nesting_limit", passes_beyond_the_nesting_limit, start_up},
    {"lock_inversion_between_passes", lock_inversion_between_passes, start_up},
    {"ordered_locks_between_passes", ordered_locks_between_passes, start_up},
};

}  // namespace
}  // namespace gradcts::schedule::programs

int main(int count, char** arguments) {
  using namespace gradcts::schedule::programs;
  at::set_num_threads(1);
  const Arguments parsed = parse(count, arguments);
  for (const Program& program : all) {
    if (parsed.program == program.name) return run(parsed, program);
  }
  std::fprintf(stderr, "programs: no program '%s'\n", parsed.program.c_str());
  return 2;
}
