// An adapter in C++: the kit interprets scenarios, this binding turns its requests into calls of
// the engine. Copy it, put your engine in, claim more features as you go. The contract, function by
// function, is conformance/adapters/kit/binding.h.
#include "conformance/adapters/kit/export.h"
#include "my_engine.h"

namespace {

namespace kit = gradcts::kit;

struct Binding {
  using Tensor = my::TensorPointer;
  using List = std::vector<Tensor>;
  using NodeHandle = std::shared_ptr<my::Node>;
  using HookHandle = int;
  struct RunningNode {
    Tensor saved(std::size_t) { throw kit::NotOffered("saved tensors"); }
  };
  struct Settings {
    Settings(Binding&, const gradcts::WithStep&, kit::SettingBodies<Binding>) {}
  };
  struct NoRecording {};

  static gradcts::Description describe() {
    gradcts::Description description;
    description.name = "my-cpp-engine";
    description.version = "1";
    description.dialect = "reference";
    // Next: "custom.node", with make_custom; most scenarios need it. `gradcts list --features` has
    // all.
    description.features = {"pass.backward", "operation.add", "operation.mul", "operation.scale",
                            "type.float64"};
    description.trace = gradcts::Trace::scripted;  // until `trace` below does something
    return description;
  }
  explicit Binding(const gradcts::Scenario&) {}
  void finish() {}

  // ---- Tensors ----

  Tensor make(const gradcts::TensorValue& value) const {
    return my::make({value.values.begin(), value.values.end()},
                    {value.shape.begin(), value.shape.end()});
  }
  std::optional<gradcts::TensorValue> read(const Tensor& tensor) const {
    if (!tensor) return std::nullopt;
    gradcts::TensorValue value;
    value.shape.assign(tensor->shape.begin(), tensor->shape.end());
    value.values.assign(tensor->values.begin(), tensor->values.end());
    return value;
  }
  bool defined(const Tensor& tensor) const { return tensor != nullptr; }
  void set_requires_grad(const Tensor& tensor, bool on) const { tensor->requires_grad = on; }
  Tensor grad_of(const Tensor& tensor) const { return tensor ? tensor->grad : nullptr; }
  void set_grad(const Tensor& tensor, Tensor grad) const { tensor->grad = grad; }
  Tensor alias(const Tensor&, gradcts::Through) const { throw kit::NotOffered("aliases"); }
  void change(const Tensor&, gradcts::ChangeStep::How, double) const {
    throw kit::NotOffered("changes in place");
  }
  void write(Tensor&, const gradcts::TensorValue&) const { throw kit::NotOffered("pools"); }

  // ---- Arithmetic of scripts; this engine does not differentiate twice, so nothing is recorded
  // ----

  Tensor scaled(const Tensor& x, double factor) const {
    return my::make(my::times(x->values, factor), x->shape);
  }
  Tensor sum(const Tensor& x, const Tensor& y) const {
    return my::make(my::plus(x->values, y->values), x->shape);
  }
  Tensor product(const Tensor& x, const Tensor& y) const {
    return my::make(my::times(x->values, y->values), x->shape);
  }
  Tensor expanded(const Tensor&, const gradcts::Shape&) const {
    throw kit::NotOffered("expanding");
  }
  Tensor cast(const Tensor&, gradcts::ScalarType) const { throw kit::NotOffered("casts"); }
  Tensor moved(const Tensor&, gradcts::Device) const { throw kit::NotOffered("devices"); }

  // ---- Graphs and passes ----

  void apply(const gradcts::Node& node, const List& inputs, List& outputs) const {
    using gradcts::Operation;
    if (node.operation == Operation::add) return outputs.push_back(my::add(inputs[0], inputs[1]));
    if (node.operation == Operation::mul) return outputs.push_back(my::mul(inputs[0], inputs[1]));
    outputs.push_back(my::scale(inputs[0], std::get<double>(node.attributes[0])));
  }
  void make_custom(kit::CustomNodeRequest<Binding>) const { throw kit::NotOffered("custom nodes"); }
  NodeHandle node_of(const Tensor& tensor) const { return tensor->node; }
  NodeHandle accumulator_of(const Tensor&) const { return nullptr; }
  void trace(const NodeHandle&, std::shared_ptr<kit::TraceBody>) const {}

  List pass(kit::PassRequest<Binding> request) const {
    my::backward(request.roots, request.seeds);
    return {};
  }
  gradcts::ErrorReport classify(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const std::invalid_argument& problem) {
      return {gradcts::ErrorCategory::invalid_argument, "", false, problem.what()};
    } catch (const std::exception& problem) {
      return {gradcts::ErrorCategory::other, "", false, problem.what()};
    }
  }
  kit::ThreadState thread_state() const { return {}; }
  std::int64_t observe(const gradcts::ObserveStep&, const NodeHandle&) const {
    throw kit::NotOffered("observations");
  }
};

}  // namespace

GRADCTS_EXPORT_ADAPTER(Binding)
