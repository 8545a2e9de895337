// Writes scenarios in C++: for tests and generators.
//
//   ScenarioBuilder b("root/twice");
//   const ValueId x = b.leaf("x", 2);
//   const ValueId y = b.mul(x, x);
//   b.backward({{y, 3}});
//   b.read_grads({x});
//   b.expect({12});
//   const Scenario s = b.build();
//
// A verb that makes something returns its id and takes a name last; without one it gets a name of
// its own ("mul1", "hook2"). A verb that is a step adds it to the list that is being written: the
// program, or the list of the enclosing `steps`, `with`, `attempt`, `repeat`, `fork` or `parallel`.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "conformance/scenario/scenario.h"

namespace gradcts {

// A tensor: a number, a list of numbers, or a TensorValue.
struct TensorArgument {
  TensorArgument(double number) : value(TensorValue::scalar(number)) {}
  TensorArgument(TensorValue tensor) : value(std::move(tensor)) {}
  TensorArgument(std::initializer_list<double> numbers) : value(TensorValue::vector(numbers)) {}
  TensorValue value;
};

// What flows into a root: a tensor, `nullptr` for undefined, or `existing(v)`.
struct SeedArgument {
  SeedArgument(double number) : seed{TensorValue::scalar(number), no_id} {}
  SeedArgument(TensorValue tensor) : seed{std::move(tensor), no_id} {}
  SeedArgument(std::nullptr_t) {}
  explicit SeedArgument(Seed s) : seed(std::move(s)) {}
  Seed seed;
};
inline SeedArgument existing(ValueId value) {
  return SeedArgument(Seed{std::nullopt, value});
}

struct RootArgument {
  ValueId value;
  SeedArgument seed;
};

struct PassOptions {
  bool keep = false;
  bool create = false;
  bool allow_unused = false;                    // grad
  bool materialise = false;                     // grad
  std::vector<CaptureHook> capture_hooks = {};  // grad
  std::vector<AnnouncementId> announced = {};
  FutureId future = no_id;
};

// Expressions of scripts.
Expression scaled(double factor, std::int32_t slot = 0);                  // factor * slot
Expression product(std::int32_t slot, ValueId times, double factor = 1);  // factor * slot * times
Expression sum_of(std::vector<Term> terms);
Expression pass_on(std::int32_t slot = 0);  // the very tensor
Expression undefined();
Expression constant(TensorArgument tensor);
Expression pool(TensorArgument tensor);
Script returning(std::vector<Expression> expressions);  // a script without steps

class ScenarioBuilder {
 public:
  using Body = std::function<void()>;  // writes steps through the builder

  explicit ScenarioBuilder(std::string id);

  // Title and clauses have defaults: the id, and TOPO-1.
  ScenarioBuilder& title(std::string text);
  ScenarioBuilder& clause(std::string id);
  ScenarioBuilder& report(std::string id);
  ScenarioBuilder& needs(std::string feature);
  Configuration& configuration() { return scenario_.configuration; }
  ScenarioBuilder& trace(Trace trace);

  StreamId stream(Device device, std::string name = "");
  BarrierId barrier_for(std::int32_t parties, std::string name = "");
  LockId make_lock(std::string name = "");
  AnnouncementId announcement(ValueId to, std::string name = "");
  FutureId future(std::string name = "");
  ReducerId reducer(Reducer reducer);

  ValueId leaf(std::string name, TensorArgument initial);
  ValueId constant_leaf(std::string name, TensorArgument initial);  // requires no gradient
  ValueId leaf(std::string name, Leaf leaf);                        // all settings; `value` is set

  // Nodes. Each returns its (first) output.
  ValueId node(Operation operation, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes = {}, std::string name = "");
  ValueId add(ValueId a, ValueId b, std::string name = "");
  ValueId sub(ValueId a, ValueId b, std::string name = "");
  ValueId mul(ValueId a, ValueId b, std::string name = "");
  ValueId scale(ValueId a, double factor, std::string name = "");
  ValueId power(ValueId a, double exponent, std::string name = "");
  ValueId sum(ValueId a, std::string name = "");
  ValueId clone(ValueId a, std::string name = "");
  ValueId to_device(ValueId a, Device device, std::string name = "");
  ValueId custom(std::vector<ValueId> inputs, CustomNode custom = {}, std::string name = "");
  // Nodes with several outputs, which are named "name.0", "name.1", ...
  std::vector<ValueId> custom_with_outputs(std::size_t outputs, std::vector<ValueId> inputs,
                                           CustomNode custom = {}, std::string name = "");
  std::vector<ValueId> unbind(std::size_t outputs, ValueId a, std::int64_t dim = 0,
                              std::string name = "");

  NodeId node_of(ValueId output) const;
  // A stand-in that build() replaces: accumulators are numbered after all nodes.
  NodeId accumulator(ValueId leaf) const;

  HookId tensor_hook(ValueId on, Script script = {}, std::string name = "");
  HookId retain_grad(ValueId on, std::string name = "");
  HookId node_pre_hook(NodeId on, Script script = {}, std::string name = "");
  HookId node_post_hook(NodeId on, Script script = {}, std::string name = "");
  HookId post_accumulate_hook(ValueId leaf, Steps steps = {}, std::string name = "");
  HookId capture_hook(Script script = {}, std::string name = "");
  HookId multi_hook(std::vector<ValueId> on, Steps steps = {}, std::string name = "");
  HookId saved_hook(Script pack, Script unpack, std::string name = "");
  HookId added_by_step(HookId hook);  // the hook waits for an `add_hook` step; returns it
  CallbackId callback(Steps steps = {}, std::string name = "");
  void when_destroyed(HookId hook, CallbackId callback);

  // The steps that `body` writes, as a list for a script or a callback.
  Steps steps(const Body& body);

  // Steps.
  void forward();  // all nodes that no other forward names
  void forward(const std::vector<ValueId>& outputs);
  void backward(const std::vector<RootArgument>& roots, PassOptions options = {});
  void backward_into(const std::vector<RootArgument>& roots, std::vector<ValueId> inputs,
                     PassOptions options = {});
  // Returns the results; none of an asynchronous pass.
  std::vector<ValueId> grad(const std::vector<RootArgument>& roots, std::vector<ValueId> inputs,
                            PassOptions options = {});
  void set_grad(ValueId leaf, TensorArgument grad);
  void clear_grad(ValueId leaf);
  void read(std::vector<ValueId> values, std::vector<ValueId> grads = {});
  void read_grads(std::vector<ValueId> of) { read({}, std::move(of)); }
  void change(ValueId value, ChangeStep::How how, double number, Through through = Through::handle);
  ValueId keep(std::int32_t slot = 0, Through through = Through::handle, std::string name = "");
  ValueId keep_grad(ValueId of, Through through = Through::handle, std::string name = "");
  void drop(std::vector<ValueId> values);
  void requires_grad(ValueId value, bool on);
  void with(WithStep settings, const Body& body);
  void attempt(const Body& body);                   // a `try` step
  void parallel(const std::vector<Body>& threads);  // named "t0", "t1", ...
  void repeat(std::int64_t times, const Body& body);
  void barrier(BarrierId barrier);
  void lock(LockId lock);
  void unlock(LockId lock);
  void throw_error(std::string token, bool foreign = false);
  void throw_on_call(std::int32_t call, std::string token);
  void queue(CallbackId callback);
  void add_hook(HookId hook);
  void remove_hook(HookId hook);
  void observe(ObserveStep::What what, NodeId node = no_id);
  void observe_compiles_for(ObserveStep::Cause cause);
  void start();
  void stop();
  void stop_within(double seconds);
  void deliver(AnnouncementId announcement, SeedArgument gradient);
  void deliver_error(AnnouncementId announcement, std::string token);
  void wait(FutureId future);
  void when_done(FutureId future, CallbackId callback);
  void redirect(NodeId node, std::int32_t edge, ValueId to = no_id);
  void close_hooks(HookId hook);
  void forget_programs();
  void reduce(ReducerStep step) { add_step(std::move(step)); }
  void fork(const Body& body);
  void wait_stream(StreamId stream, StreamId waits_for);
  void synchronise(StreamId stream);

  // What the step that was added last must give.
  void expect(std::vector<TensorArgument> values);
  void expect_error(ErrorCategory error, std::vector<Mention> names = {});
  void expect(StepExpectation expectation);

  // The scenario: numbered and validated (a FormatError says what is wrong). A scenario without any
  // forward gets one as its first step.
  Scenario build() const;

 private:
  std::string name_or(std::string name, std::string_view prefix);
  ValueId add_value(std::string name, Value::Origin origin, std::int32_t producer,
                    std::int32_t index);
  std::vector<ValueId> add_node(Node node, std::size_t outputs);
  HookId add_new_hook(HookKind kind, Script script, std::string name);
  void add_step(Action action);
  PassStep pass_step(PassStep::Kind kind, const std::vector<RootArgument>& roots,
                     PassOptions options) const;

  Scenario scenario_;
  std::vector<Steps> open_;  // the lists that are being written, outermost (the program) first
  std::int32_t next_name_ = 1;
};

}  // namespace gradcts
