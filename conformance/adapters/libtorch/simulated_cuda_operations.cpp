// Operations on tensors of simulated CUDA: see simulated_cuda.h.
//
// Note [One function for all operations]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// libtorch's dispatcher calls `put_on_stream` for each operation that reaches a CUDA tensor and has
// no function of its own below. It makes tensors of the CPU over the memory of the arguments, and
// puts the same operation, on these, on the current stream, where it runs late. What comes out must
// have its shape at once: it is found by running the operation on tensors of zeros first.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "conformance/adapters/libtorch/simulated_cuda.h"
#include "reference_engine/device/runtime.h"

namespace gradcts::libtorch {
namespace {

namespace ref = gradcts::reference;
using at::Tensor;
using Stack = torch::jit::Stack;
using c10::IValue;

const c10::DispatchKeySet cuda_keys(c10::DispatchKey::CUDA);

ref::DeviceRuntime& runtime() {
  return ref::runtime(sim);
}

// The tensor's memory as a tensor of the CPU, which does not own it; read in the same way, where
// elements are to be conjugated or negated when they are read.
Tensor on_cpu(const Tensor& tensor) {
  const auto options = tensor.options().device(at::kCPU).requires_grad(false);
  Tensor alias = at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), options);
  if (tensor.is_conj()) alias.unsafeGetTensorImpl()->_set_conj(true);
  if (tensor.is_neg()) alias.unsafeGetTensorImpl()->_set_neg(true);
  return alias;
}

// What later work uses of a tensor of the CPU, so that nobody changes it meanwhile.
Tensor kept(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number() ? tensor : tensor.clone();
}

// A list of arguments or of results with each tensor replaced.
template <typename Function>
IValue replaced(const IValue& value, Function&& function) {
  if (value.isTensor()) {
    const Tensor& tensor = value.toTensor();
    return tensor.defined() ? function(tensor) : tensor;
  }
  if (!value.isTensorList()) return value;
  c10::List<Tensor> list;
  for (const Tensor& tensor : value.toTensorVector()) list.push_back(function(tensor));
  return list;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

// One operation on its way to a stream.
class LateOperation {
 public:
  LateOperation(const c10::OperatorHandle& operation, const Stack& stack)
      : operation_(operation),
        schema_(operation.schema()),
        arguments_(stack.end() - static_cast<std::ptrdiff_t>(schema_.arguments().size()),
                   stack.end()) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) note_memory(i);
  }

  // What the operation returns, to be filled when its turn comes.
  Stack enqueue() {
    const c10::OptionalDeviceGuard guard(device_);
    Stack results = make_results();
    ref::Work work;
    work.name = schema_.name().c_str();
    for (const IValue& result : results) {
      replaced(result, [&](const Tensor& t) { return add_access(t, true), t; });
    }
    work.accesses.assign(accesses_.begin(), accesses_.end());
    work.run = late(results);
    runtime().enqueue(ref::current_stream(simulated(*device_)), std::move(work));
    return results;
  }

 private:
  void note_memory(std::size_t i) {
    replaced(arguments_[i], [&](const Tensor& tensor) {
      if (!tensor.is_cuda()) return tensor;
      if (!device_) device_ = tensor.device();
      TORCH_CHECK(*device_ == tensor.device(), "expected all tensors on one device, got ", *device_,
                  " and ", tensor.device());
      add_access(tensor, is_written(schema_.arguments()[i]));
      return tensor;
    });
  }
  void add_access(const Tensor& tensor, bool writes) {
    accesses_.push_back({tensor.storage().data(), writes});
  }

  Stack on(Tensor (*make)(const Tensor&)) const {
    Stack stack;
    for (const IValue& argument : arguments_) {
      stack.push_back(
          replaced(argument, [&](const Tensor& t) { return t.is_cuda() ? make(t) : kept(t); }));
    }
    return stack;
  }

  Stack make_results() const {
    Stack results =
        on([](const Tensor& t) { return at::zeros_like(on_cpu(t), at::MemoryFormat::Preserve); });
    operation_.callBoxed(&results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = written_argument(i).value_or(replaced(results[i], [](const Tensor& t) {
        return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kCUDA));
      }));
    }
    return results;
  }

  // Of an operation in place: the argument that it returns.
  c10::optional<IValue> written_argument(std::size_t result) const {
    const c10::Argument& returned = schema_.returns()[result];
    if (!is_written(returned)) return {};
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const c10::Argument& argument = schema_.arguments()[i];
      if (is_written(argument) && *argument.alias_info() == *returned.alias_info()) {
        return arguments_[i];
      }
    }
    TORCH_CHECK(false, schema_.name(), " returns what it was not given");
  }

  std::function<void()> late(const Stack& results) const {
    Stack targets;
    for (std::size_t i = 0; i < results.size(); ++i) {
      targets.push_back(written_argument(i) ? IValue() : replaced(results[i], on_cpu));
    }
    return [operation = operation_, arguments = on(on_cpu), targets = std::move(targets)] {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      Stack stack = arguments;
      operation.callBoxed(&stack);
      for (std::size_t i = 0; i < targets.size(); ++i) copy(stack[i], targets[i]);
    };
  }
  static void copy(const IValue& from, const IValue& to) {
    if (to.isTensor() && to.toTensor().defined()) to.toTensor().copy_(from.toTensor());
    if (!to.isTensorList()) return;
    const auto sources = from.toTensorVector();
    const auto targets = to.toTensorVector();
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].copy_(sources[i]);
  }

  const c10::OperatorHandle operation_;
  const c10::FunctionSchema& schema_;
  const Stack arguments_;
  c10::optional<c10::Device> device_;
  std::vector<ref::MemoryAccess> accesses_;
};

void put_on_stream(const c10::OperatorHandle& operation, Stack* stack) {
  LateOperation late(operation, *stack);
  Stack results = late.enqueue();
  torch::jit::drop(*stack, operation.schema().arguments().size());
  stack->insert(stack->end(), results.begin(), results.end());
}

// ---- Operations with functions of their own: making, views, copies ----

Tensor empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
             c10::optional<at::Device> device, c10::optional<bool>,
             c10::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(sizes, &cuda_memory(), cuda_keys, c10::dtype_or_default(type),
                                   format);
}

Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                     c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
                     c10::optional<at::Device> device, c10::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, &cuda_memory(), cuda_keys,
                                           c10::dtype_or_default(type));
}

void enqueue_copy(ref::Stream stream, const Tensor& target, const Tensor& source, const char* name = "copy") {
  ref::Work work;
  work.name = name;
  if (source.is_cuda()) work.accesses.push_back({source.storage().data(), false});
  if (target.is_cuda()) work.accesses.push_back({target.storage().data(), true});
  work.run = [to = target.is_cuda() ? on_cpu(target) : target,
              from = source.is_cuda() ? on_cpu(source) : kept(source)] {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    to.copy_(from);
  };
  runtime().enqueue(stream, std::move(work));
}

// As a CUDA build does it: on the source's current stream, which the target's current stream waits
// for on both sides of the copy. The caller waits for copies to the CPU, and for those from it
// unless it says that it does not.
Tensor& copy_(Tensor& target, const Tensor& source, bool non_blocking) {
  const Tensor from = source.expand(target.sizes());
  const ref::Stream own = ref::current_stream(simulated((from.is_cuda() ? from : target).device()));
  const bool crosses = from.is_cuda() && target.is_cuda() && from.device() != target.device();
  if (crosses) ref::wait_stream(own, ref::current_stream(simulated(target.device())));
  enqueue_copy(own, target, from);
  if (crosses) ref::wait_stream(ref::current_stream(simulated(target.device())), own);
  if (!target.is_cuda() || (!from.is_cuda() && !non_blocking)) ref::synchronize(own);
  return target;
}

// As a CUDA build does it: a copy on the current stream, which the caller waits for.
at::Scalar local_scalar(const Tensor& tensor) {
  const ref::Stream stream = ref::current_stream(simulated(tensor.device()));
  const Tensor number = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  enqueue_copy(stream, number, tensor, "read of a number");
  ref::synchronize(stream);
  return at::native::_local_scalar_dense_cpu(number);
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&put_on_stream>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("copy_", copy_);
  library.impl("_local_scalar_dense", local_scalar);
}

}  // namespace
}  // namespace gradcts::libtorch
