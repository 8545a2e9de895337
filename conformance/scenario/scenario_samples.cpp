#include "conformance/scenario/scenario_samples.h"

#include <limits>

namespace gradcts {
namespace {

constexpr Device sim0{DeviceType::sim, 0};

// A tensor in every respect unlike the default one.
TensorValue strided() {
  TensorValue tensor = TensorValue::filled({2, 3}, 0, ScalarType::float32);
  tensor.values = {1, 2, 3, 4, 5, 6};
  tensor.strides = {1, 2};
  tensor.device = sim0;
  return tensor;
}

TensorValue sparse() {
  TensorValue tensor;
  tensor.layout = Layout::sparse;
  tensor.shape = {4, 2};
  tensor.coordinates = SparseCoordinates{1, {0, 3}, true};
  tensor.values = {1, 2, 3, 4};
  return tensor;
}

struct Leaves {
  ValueId x, c, vector, complex, sparse, on_stream;
};

Leaves add_leaves(ScenarioBuilder& b, StreamId stream) {
  Leaves leaves{};
  Leaf preset;
  preset.initial = TensorValue::scalar(2);
  preset.grad = TensorValue::scalar(-1);
  leaves.x = b.leaf("x", preset);
  leaves.c = b.constant_leaf("c", TensorValue::vector({0, 1}, ScalarType::boolean));
  leaves.vector = b.leaf("vector", {1, 2});
  leaves.complex = b.leaf("complex", TensorValue::vector({1, 0, 0, -1}, ScalarType::complex64));
  leaves.sparse = b.leaf("sparse", sparse());
  Leaf on_stream;
  on_stream.initial = strided();
  on_stream.stream = stream;
  leaves.on_stream = b.leaf("on_stream", on_stream);
  return leaves;
}

// One node of each operation; they need not fit each other in shape.
void add_nodes(ScenarioBuilder& b, const Leaves& leaves) {
  const ValueId x = leaves.x;
  for (const OperationSpec& spec : all_operations()) {
    if (spec.operation == Operation::custom || spec.operation == Operation::unbind) continue;
    std::vector<Attribute> attributes;
    for (const AttributeSpec& attribute : spec.attributes) {
      switch (attribute.kind) {
        case AttributeKind::integer:
          attributes.emplace_back(std::int64_t{1});
          break;
        case AttributeKind::number:
          attributes.emplace_back(0.5);
          break;
        case AttributeKind::boolean:
          attributes.emplace_back(true);
          break;
        case AttributeKind::integers:
          attributes.emplace_back(IntegerList{0, -1});
          break;
        case AttributeKind::type:
          attributes.emplace_back(ScalarType::bfloat16);
          break;
        case AttributeKind::device:
          attributes.emplace_back(Device{DeviceType::cuda, 1});
          break;
      }
    }
    b.node(spec.operation, std::vector<ValueId>(static_cast<std::size_t>(spec.least_inputs), x),
           attributes);
  }
  b.unbind(2, leaves.vector);
}

Steps nested_pass(ScenarioBuilder& b, ValueId value, LockId lock, CallbackId callback) {
  return b.steps([&] {
    b.lock(lock);
    b.observe(ObserveStep::What::depth);
    b.unlock(lock);
    b.keep(0, Through::detached, "kept");
    b.backward({{value, 2}}, {.keep = true});
    b.queue(callback);
  });
}

CustomNode scripted(ScenarioBuilder& b, ValueId x, LockId lock, CallbackId callback) {
  CustomNode custom;
  custom.forward = {product(0, x, 2), scaled(3)};
  custom.saves = {x};
  custom.destroyed = callback;
  custom.materialise = true;
  custom.differentiable = false;
  custom.backward.steps = nested_pass(b, x, lock, callback);
  Expression converted = pass_on(1);
  converted.expand = Shape{2, 1};
  converted.cast = ScalarType::float16;
  converted.move_to = sim0;
  custom.backward.returns = {sum_of({{0, 2, no_id}, {1, 1, x}}), undefined(), converted,
                             constant({1, 2}), pool(4)};
  return custom;
}

struct Hooks {
  HookId by_step, capture, saved;
};

Hooks add_hooks(ScenarioBuilder& b, ValueId x, ValueId y) {
  b.tensor_hook(y, returning({scaled(10)}), "double");
  b.retain_grad(y);
  b.node_pre_hook(b.node_of(y), returning({pass_on()}));
  b.node_post_hook(b.accumulator(x), {b.steps([&] { b.throw_error("late", true); }), {}});
  b.post_accumulate_hook(x, b.steps([&] { b.observe(ObserveStep::What::recording); }));
  b.multi_hook({x, y}, b.steps([&] { b.keep(1); }));
  return {b.added_by_step(b.tensor_hook(x)), b.capture_hook(returning({scaled(2)})),
          b.saved_hook(returning({pass_on()}), {})};
}

void add_threads(ScenarioBuilder& b, ValueId y, BarrierId barrier) {
  b.parallel({[&] {
                b.barrier(barrier);
                b.attempt([&] { b.throw_error("early"); });
              },
              [&] {
                b.repeat(3, [&] { b.read({y}); });
                b.barrier(barrier);
              }});
}

void add_settings(ScenarioBuilder& b, ValueId y, StreamId stream, HookId saved, CallbackId gone) {
  WithStep settings;
  settings.recording = false;
  settings.anomaly = true;
  settings.check_nan = false;
  settings.user_state = 7;
  settings.user_state_destroyed = gone;
  settings.stream = stream;
  settings.captured = true;
  settings.device = sim0;
  settings.saved_hooks = saved;
  b.with(settings, [&] {
    b.read({y});
    b.close_hooks(saved);
  });
}

void add_reducers(ScenarioBuilder& b, ValueId x, ValueId y) {
  Reducer first;
  first.ranks = {{x}};
  first.bucket_bytes = {8, 16};
  first.rebuild = true;
  first.limit = 2.5;
  Reducer other;
  other.name = "other";
  other.ranks = {{x}};
  other.buckets = {{0}};
  other.find_unused = true;
  other.static_graph = true;
  other.views = true;
  b.reducer(other);
  ReducerStep step;
  step.reducer = b.reducer(first);
  b.reduce(step);
  step.what = ReducerStep::What::prepare;
  step.outputs = {y};
  b.reduce(step);
  step.what = ReducerStep::What::reset;
  step.outputs = {};
  b.reduce(step);
  step.what = ReducerStep::What::ask;
  for (int question = 0; question < 4; ++question) {
    step.question = static_cast<ReducerStep::Question>(question);
    b.reduce(step);
  }
}

// What drives a pass from outside, and what goes wrong on purpose.
void add_outside(ScenarioBuilder& b, ValueId x, ValueId y, CallbackId callback) {
  const FutureId future = b.future();
  const AnnouncementId first = b.announcement(y);
  const AnnouncementId second = b.announcement(y, "second");
  b.grad({{y, 3}}, {x}, {.announced = {first, second}, .future = future});
  b.deliver(first, existing(x));
  b.deliver_error(second, "lost");
  b.when_done(future, callback);
  b.wait(future);
  b.keep_grad(x, Through::detached);
  b.redirect(b.node_of(y), 0, x);
  b.redirect(b.node_of(y), 0);
  add_reducers(b, x, y);
  b.attempt([&] { b.throw_on_call(2, "second time"); });
  b.backward({{y, 3}});
  b.expect_error(ErrorCategory::gradient_shape, {"y", std::int64_t{0}, Shape{2, 3}});
  StepExpectation maybe;
  maybe.or_error = ErrorCategory::stopped;
  maybe.follows = {{"DEV-2", "lazy"}};
  b.backward({{y, 3}});
  b.expect(maybe);
  StepExpectation one;
  one.number = NumberRange{1, 1};
  b.observe(ObserveStep::What::live_objects);
  b.expect(one);
  b.forget_programs();
  b.observe_compiles_for(ObserveStep::Cause::edges);
  StepExpectation some;
  some.number = NumberRange{0, 2};
  b.observe(ObserveStep::What::engine_threads);
  b.expect(some);
}

void add_program(ScenarioBuilder& b, const Leaves& leaves, ValueId y, const Hooks& hooks) {
  const ValueId x = leaves.x;
  b.forward();
  b.add_hook(hooks.by_step);
  b.remove_hook(hooks.by_step);
  b.backward_into({{y, nullptr}}, {x}, {.keep = true, .create = true});
  const std::vector<ValueId> results =
      b.grad({{y, 3}, {x, existing(leaves.vector)}}, {x, leaves.vector},
             {.allow_unused = true, .materialise = true, .capture_hooks = {{0, hooks.capture}}});
  b.grad({{y, std::numeric_limits<double>::infinity()}}, {leaves.vector});
  b.expect_error(ErrorCategory::unused_input);
  b.set_grad(x, 5);
  b.clear_grad(x);
  b.read({results[0]}, {x});
  b.expect({6, std::numeric_limits<double>::quiet_NaN()});
  b.change(y, ChangeStep::How::multiply, -2, Through::data);
  b.requires_grad(x, false);
  b.drop({results[1]});
}

}  // namespace

Scenario everything() {
  ScenarioBuilder b("all/things");
  b.title("Everything that the language has").clause("ROOT-2").clause("VAL-1").report("B026");
  b.needs("operation.log").trace(Trace::scripted);
  b.configuration() = {60, true, {{sim0, 2}}};
  const StreamId stream = b.stream(sim0);
  const StreamId other_stream = b.stream(sim0);
  const BarrierId barrier = b.barrier_for(2);
  const LockId lock = b.make_lock();
  const Leaves leaves = add_leaves(b, stream);
  add_nodes(b, leaves);
  const CallbackId callback = b.callback(b.steps([&] { b.throw_error("in callback"); }));
  const ValueId y =
      b.custom_with_outputs(2, {leaves.x}, scripted(b, leaves.x, lock, callback), "y")[0];
  const Hooks hooks = add_hooks(b, leaves.x, y);
  b.when_destroyed(hooks.by_step, callback);
  b.start();
  add_program(b, leaves, y, hooks);
  add_threads(b, y, barrier);
  add_settings(b, y, stream, hooks.saved, callback);
  add_outside(b, leaves.x, y, callback);
  b.wait_stream(stream, other_stream);
  b.synchronise(stream);
  b.fork([&] { b.observe(ObserveStep::What::will_run, b.accumulator(leaves.x)); });
  b.stop_within(0.5);
  b.stop();
  return b.build();
}

}  // namespace gradcts
