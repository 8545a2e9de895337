// The rules of validate(), each with the exact words. Scenarios come from the builder, so that only
// the rule under test is broken; a few are damaged by hand.
#include "conformance/scenario/validate.h"

#include <gtest/gtest.h>

#include "conformance/scenario/json.h"
#include "conformance/scenario/scenario_samples.h"

namespace gradcts {
namespace {

std::string refusal(const Scenario& scenario) {
  try {
    validate(scenario);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

// What build() says about a scenario over a leaf `x` and a node `y` = x * x.
template <typename Write>
std::string refused(Write&& write) {
  try {
    ScenarioBuilder b("a/b");
    const ValueId x = b.leaf("x", 2);
    write(b, x, b.mul(x, x, "y"));
    b.build();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

using B = ScenarioBuilder;

TEST(Validate, AcceptsEverything) {
  EXPECT_EQ(refusal(everything()), "accepted");
}

TEST(Validate, Header) {
  Scenario s = everything();
  s.id = "Upper/case";
  EXPECT_EQ(refusal(s), "id: 'Upper/case' is no id; expected lower-case words with '/' between");
  s = everything();
  s.title = "two\nlines";
  EXPECT_EQ(refusal(s), "title: expected one line of text");
  s = everything();
  s.clauses.clear();
  EXPECT_EQ(refusal(s), "clauses: expected at least one clause that the scenario tests");
  s = everything();
  s.clauses = {"A-1", "B-1", "A-1"};
  EXPECT_EQ(refusal(s), "clauses[2]: 'A-1' stands twice");
  s = everything();
  s.reports = {""};
  EXPECT_EQ(refusal(s), "reports[0]: expected a word, found an empty string");
  s = everything();
  s.requires_features = {"hook.tensor", "hook.all"};
  EXPECT_EQ(refusal(s), "requires[1]: there is no feature 'hook.all'");
}

TEST(Validate, IdsAreWordsWithSlashes) {
  for (const auto* id : {"a", "a/b-c/d_1.5", "1/2"}) {
    Scenario s = everything();
    s.id = id;
    EXPECT_EQ(refusal(s), "accepted") << id;
  }
  for (const auto* id : {"", "/a", "a/", "a//b", "a b", "-a", "a/-1"}) {
    Scenario s = everything();
    s.id = id;
    EXPECT_NE(refusal(s), "accepted") << id;
  }
}

TEST(Validate, Resources) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.stream({}); }),
            "streams[0].device: the cpu has no streams; expected another device");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.barrier_for(1); }),
            "barriers[0].parties: expected at least 2");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.configuration().nesting_limit = 0; }),
            "configuration.nesting_limit: expected at least 1");
}

TEST(Validate, Names) {
  EXPECT_EQ(
      refused([](B& b, ValueId x, ValueId) { b.clone(x, "2nd"); }),
      "nodes[1].name: '2nd' is no name; expected letters, digits, '_', '-' and '.', beginning "
      "with a letter");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.clone(x, "x"); }),
            "nodes[1].name: the name 'x' is taken by another value: leaves[0].name");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.clone(x, "y"); }),
            "nodes[1].name: the name 'y' is taken by another node: nodes[0].name");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.tensor_hook(x, {b.steps([&] { b.keep(0, Through::view, "y"); }), {}});
            }),
            "hooks[0].steps[0].as: the name 'y' is taken by another value: nodes[0].name");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.retain_grad(x, "h");
              b.retain_grad(x, "h");
            }),
            "hooks[1].name: the name 'h' is taken by another hook: hooks[0].name");
}

TEST(Validate, Leaves) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              b.leaf("i", TensorValue::scalar(1, ScalarType::int64));
            }),
            "leaves[1]: a int64 leaf cannot require a gradient; expected \"requires_grad\": false");
  const auto with = [](void (*edit)(Leaf&)) {
    return refused([&](B& b, ValueId, ValueId) {
      b.stream({DeviceType::sim, 0});
      Leaf leaf;
      leaf.initial = TensorValue::vector({1, 2});
      edit(leaf);
      b.leaf("l", leaf);
    });
  };
  EXPECT_EQ(
      with([](Leaf& l) { l.grad = TensorValue::scalar(1); }),
      "leaves[1].grad: a .grad has its leaf's type, shape and device: expected float64 (2) on "
      "cpu");
  EXPECT_EQ(with([](Leaf& l) {
              l.requires_grad = false;
              l.grad = l.initial;
            }),
            "leaves[1].grad: a leaf that requires no gradient has none");
  EXPECT_EQ(with([](Leaf& l) { l.stream = 0; }),
            "leaves[1].stream: the stream is on sim:0 and the leaf on cpu");
  EXPECT_EQ(with([](Leaf& l) { l.stream = 3; }), "leaves[1].stream: id 3 refers to nothing");
  EXPECT_EQ(with([](Leaf& l) { l.initial.values.pop_back(); }),
            "leaves[1].value: the shape (2) needs 2 values, found 1");
}

TEST(Validate, NumbersOfInputsAndOutputs) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.node(Operation::add, {x}); }),
            "nodes[1].inputs: add takes 2 inputs, found 1");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.node(Operation::cat, {}, {std::int64_t{0}}); }),
            "nodes[1].inputs: cat takes at least 1 input, found 0");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.unbind(0, x); }),
            "nodes[1].outputs: unbind has at least 1 output, found 0");
}

TEST(Validate, Attributes) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.node(Operation::scale, {x}); }),
            "nodes[1]: field 'factor' is missing");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.node(Operation::scale, {x}, {true}); }),
            "nodes[1].factor: the attribute is of another kind");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              const std::int64_t zero = 0;
              b.node(Operation::slice, {x}, {zero, zero, zero, zero});
            }),
            "nodes[1].step: expected at least 1");
}

TEST(Validate, CustomNodes) {
  const auto with = [](CustomNode custom) {
    return refused([&](B& b, ValueId, ValueId y) { b.custom({y}, custom, "f"); });
  };
  CustomNode custom;
  custom.forward = {scaled(1), scaled(2)};
  EXPECT_EQ(with(custom),
            "nodes[1].forward: expected one expression for each of 1 outputs, found 2");
  custom.forward = {undefined()};
  EXPECT_EQ(with(custom),
            "nodes[1].forward[0]: expected a tensor: an output of a forward is never undefined");
  custom = {};
  custom.saves = {0};
  EXPECT_EQ(with(custom), "accepted");  // a leaf
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId y) {
              CustomNode saves_another;
              saves_another.saves = {y};
              b.custom({x}, saves_another, "f");
            }),
            "nodes[1].saves[0]: a node saves its own inputs or outputs, or a leaf; 'y' is none of "
            "these");
  custom = {};
  custom.backward = returning({product(0, 1)});
  EXPECT_EQ(with(custom),
            "nodes[1].backward.returns[0].terms[0].times: 'y' is not at hand here; a forward "
            "multiplies by the node's inputs, a backward by what the node saves");
  custom.backward = returning({scaled(1, 1)});
  EXPECT_EQ(with(custom),
            "nodes[1].backward.returns[0].terms[0].slot: there is no slot 1; the last is 0");
  custom.backward = returning({pass_on(2)});
  EXPECT_EQ(with(custom), "nodes[1].backward.returns[0].pass: there is no slot 2; the last is 0");
  custom.backward = returning({sum_of({})});
  EXPECT_EQ(with(custom),
            "nodes[1].backward.returns[0].terms: expected at least one term; write null for an "
            "undefined result");
  Expression moved = undefined();
  moved.cast = ScalarType::float32;
  custom.backward = returning({moved});
  EXPECT_EQ(with(custom),
            "nodes[1].backward.returns[0]: an undefined result cannot be expanded, cast or moved");
  custom = {};
  custom.forward = {pool(1)};
  EXPECT_EQ(with(custom),
            "nodes[1].forward[0].pool: a pool belongs to a node and stands only in its backward");
  Expression sparse = pool(1);
  sparse.constant->shape = {1};
  sparse.constant->layout = Layout::sparse;
  sparse.constant->coordinates = SparseCoordinates{1, {0}, true};
  custom = {};
  custom.backward = returning({sparse});
  EXPECT_EQ(with(custom),
            "nodes[1].backward.returns[0].pool: a pool is overwritten in place: its tensor must be "
            "dense");
}

TEST(Validate, AnyNumberOfReturnsIsAllowed) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              CustomNode custom;
              custom.backward = returning({scaled(1), scaled(1), undefined()});
              b.custom({x}, custom);
            }),
            "accepted");
}

TEST(Validate, Cycles) {
  Scenario s = everything();
  const Json json = parse_json(R"({
    "schema": "gradcts.scenario/1", "id": "a", "title": "t", "clauses": ["TOPO-1"],
    "leaves": [{"name": "x", "value": 2}],
    "nodes": [{"name": "p", "op": "mul", "inputs": ["x", "r"]},
              {"name": "q", "op": "clone", "inputs": ["p"]},
              {"name": "r", "op": "clone", "inputs": ["q"]}],
    "program": [{"do": "forward"}]})");
  try {
    read_scenario(json);
    FAIL() << "accepted";
  } catch (const FormatError& error) {
    EXPECT_STREQ(error.what(), "nodes[0]: the nodes form a cycle: p <- q <- r <- p");
  }
}

TEST(Validate, Hooks) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) { b.post_accumulate_hook(y); }),
            "hooks[0].on: expected a leaf, found 'y'");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.multi_hook({}); }),
            "hooks[0].on: expected at least one value");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.added_by_step(b.capture_hook()); }),
            "hooks[0].added: a step names this hook where it uses it; nothing adds it");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.tensor_hook(x, returning({pass_on(1)})); }),
            "hooks[0].returns[0].pass: there is no slot 1; the last is 0");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) { b.tensor_hook(x, returning({pool(1)})); }),
            "hooks[0].returns[0].pool: a pool belongs to a node and stands only in its backward");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.node_post_hook(b.accumulator(x), returning({pass_on(0)}));
            }),
            "hooks[0].returns[0].pass: there are no slots here");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.node_pre_hook(7); }),
            "hooks[0].on: id 7 refers to nothing");
  Scenario s = everything();
  s.hooks[1].script.returns.emplace();
  EXPECT_EQ(refusal(s), "hooks[1].returns: a retain_grad hook returns nothing");
}

TEST(Validate, StepsThatStandInTheWrongPlace) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.keep(); }),
            "program[1]: a keep step stands only in the script of a node or a hook, which is given "
            "tensors; elsewhere it keeps the gradient of a value ('grad_of')");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.tensor_hook(x, {b.steps([&] { b.keep(1); }), {}});
            }),
            "hooks[0].steps[0].slot: there is no slot 1; the last is 0");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.tensor_hook(x, {b.steps([&] { b.stop(); }), {}});
            }),
            "hooks[0].steps[0]: the engine is started and stopped only by the program");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.callback(b.steps([&] { b.fork([] {}); })); }),
            "callbacks[0].steps[0]: a fork stands only in the program");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.observe(ObserveStep::What::needed); }),
            "program[1].what: 'needed' can be observed only by a node or a hook on a node");
}

TEST(Validate, Passes) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              const HookId hook = b.retain_grad(y, "r");
              b.grad({{y, 1}}, {y}, {.capture_hooks = {{0, hook}}});
            }),
            "program[1].capture_hooks[0].hook: expected a hook of kind capture; 'r' is of kind "
            "retain_grad");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.grad({{y, 1}}, {y}, {.capture_hooks = {{1, b.capture_hook()}}});
            }),
            "program[1].capture_hooks[0].input: there is no input 1");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.backward({{y, 1}}, {.allow_unused = true});
            }),
            "program[1]: a backward step returns nothing; expected a grad step");
}

TEST(Validate, OtherSteps) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) { b.set_grad(y, 1); }),
            "program[1].leaf: expected a leaf, found 'y'");
  EXPECT_EQ(
      refused([](B& b, ValueId x, ValueId) {
        b.set_grad(x, {1, 2});
      }),
      "program[1].grad: a .grad has its leaf's type, shape and device: expected float64 () on "
      "cpu");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.read({}); }),
            "program[1]: expected 'values' or 'grads'");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.drop({}); }),
            "program[1].values: expected at least one value");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.with({}, [] {}); }),
            "program[1]: a with step changes at least one setting");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              WithStep with;
              with.saved_hooks = b.retain_grad(y, "r");
              b.with(with, [] {});
            }),
            "program[1].saved_hooks: expected a hook of kind saved; 'r' is of kind retain_grad");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              WithStep with;
              with.check_nan = true;
              b.with(with, [] {});
            }),
            "program[1].check_nan: expected \"anomaly\": true beside it");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.parallel({}); }),
            "program[1].threads: expected at least one thread");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.repeat(0, [] {}); }),
            "program[1].times: expected at least 1");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.throw_error(""); }),
            "program[1].token: expected a word by which the error is known again");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.add_hook(b.capture_hook({}, "c")); }),
            "program[1].hook: 'c' is of kind capture, which is on nothing");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.observe(ObserveStep::What::will_run); }),
            "program[1]: field 'node' is missing");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.observe(ObserveStep::What::compiles_for); }),
            "program[1]: field 'cause' is missing");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.observe(ObserveStep::What::depth, 0); }),
            "program[1].node: only will_run asks about a node");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const StreamId s = b.stream({DeviceType::sim, 0});
              b.wait_stream(s, s);
            }),
            "program[1].for: a stream cannot wait for itself");
}

TEST(Validate, Expectations) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.read_grads({x});
              b.expect({1, 2});
            }),
            "program[1].expect.values: the step gives 1 value, found 2");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.backward({{y, 1}});
              b.expect({1});
            }),
            "program[1].expect.values: a backward step gives no values");
  Scenario s = everything();
  for_each_step(s, [](Step& step) {
    if (step.expect && step.expect->error) step.expect->bound = 2;
  });
  EXPECT_EQ(
      refusal(s),
      "program[6].expect.bound: expected a number of units in the last place beside 'values'");
  for_each_step(s, [](Step& step) {
    if (step.expect) step.expect = StepExpectation{};
  });
  EXPECT_EQ(refusal(s), "program[6].expect: expected one of 'error', 'values' and 'number'");
}

TEST(Validate, Captures) {
  const auto captured = [](StreamId stream) {
    WithStep with;
    with.stream = stream;
    with.captured = true;
    return with;
  };
  const auto capturing = [&](auto&& steps) {
    return refused([&](B& b, ValueId, ValueId) {
      const StreamId s = b.stream({DeviceType::sim, 0}, "s"),
                     t = b.stream({DeviceType::sim, 0}, "t");
      b.forward();
      b.with(captured(s), [&] { steps(b, s, t); });
    });
  };
  EXPECT_EQ(refused([&](B& b, ValueId, ValueId) { b.with(captured(no_id), [] {}); }),
            "program[1].captured: expected 'stream' beside it");
  EXPECT_EQ(refused([&](B& b, ValueId, ValueId y) {
              const StreamId s = b.stream({DeviceType::sim, 0}, "s");
              b.tensor_hook(y, {b.steps([&] { b.with(captured(s), [] {}); }), {}});
            }),
            "hooks[0].steps[0].captured: a stream is captured only by the program");
  EXPECT_EQ(capturing([&](B& b, StreamId s, StreamId) { b.with(captured(s), [] {}); }),
            "program[1].steps[0].captured: stream 's' is being captured already");
  EXPECT_EQ(
      capturing([&](B& b, StreamId s, StreamId) { b.synchronise(s); }),
      "program[1].steps[0].stream: stream 's' is being captured: the host must not wait for it");
  EXPECT_EQ(capturing([&](B& b, StreamId s, StreamId t) { b.wait_stream(s, t); }),
            "program[1].steps[0].for: stream 's' is being captured and must not wait for stream "
            "'t', which has not "
            "waited for a captured one");
  EXPECT_EQ(
      capturing([&](B& b, StreamId s, StreamId t) {
        b.wait_stream(t, s);
        b.synchronise(t);
      }),
      "program[1].steps[1].stream: stream 't' is being captured: the host must not wait for it");
  EXPECT_EQ(capturing([&](B& b, StreamId s, StreamId t) {
              WithStep other;
              other.stream = t;
              b.with(other, [&] { b.wait_stream(t, s); });
              b.wait_stream(s, t);
            }),
            "accepted");
  EXPECT_EQ(refused([&](B& b, ValueId, ValueId) {
              const StreamId s = b.stream({DeviceType::sim, 0}, "s"),
                             t = b.stream({DeviceType::sim, 0}, "t");
              b.with(captured(s), [] {});
              b.wait_stream(s, t);
              b.synchronise(s);
            }),
            "accepted");
}

// ------------------------------------------------------------------------------------------------
// Values over time

TEST(ValidateFlow, UseBeforeMaking) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.read({y});
              b.forward();
            }),
            "program[0].values[0]: 'y' is used before it is made; expected a forward of 'y' before "
            "this step");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              const ValueId z = b.clone(y, "z");
              b.forward({z, y});
            }),
            "program[0]: this forward runs 'z', whose input 'y' is not made yet");
  EXPECT_EQ(
      refused([](B& b, ValueId x, ValueId y) {
        const ValueId late = b.clone(x, "late");
        b.forward({y});
        b.backward({{y, existing(late)}});
        b.forward({late});
      }),
      "program[1].roots[0].seed.from: 'late' is used before it is made; expected a forward of "
      "'late' before this step");
}

TEST(ValidateFlow, ResultsAndKeptValues) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId y) {
              ValueId kept = no_id;
              b.tensor_hook(y, {b.steps([&] { kept = b.keep(0, Through::handle, "k"); }), {}});
              b.forward();
              b.read({kept});
              b.backward({{y, 1}});
              b.read({kept, x});
            }),
            "program[1].values[0]: 'k' is used before it is made; expected a pass that runs the "
            "script which keeps it before this step");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId y) {
              ValueId kept = no_id;
              b.tensor_hook(y, {b.steps([&] { kept = b.keep(); }), {}});
              b.forward();
              b.backward({{y, 1}});
              b.read({kept, x});
            }),
            "accepted");
}

TEST(ValidateFlow, UseAfterDropping) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.forward();
              b.drop({y});
              b.backward({{y, 1}});
            }),
            "program[2].roots[0].value: 'y' was dropped before this step");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.forward();
              b.repeat(2, [&] { b.drop({y}); });
            }),
            "program[1].steps[0].values[0]: 'y' was dropped before this step");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.drop({x});
              b.forward();
            }),
            "program[1]: this forward runs 'y', whose input 'x' was dropped");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.forward({y});
              b.drop({y});
              b.forward({y});
              b.backward({{y, 1}});
            }),
            "accepted");
}

TEST(ValidateFlow, ThreadsSeeEachOtherAfterABarrier) {
  const auto with = [](bool barrier) {
    return refused([&](B& b, ValueId, ValueId y) {
      const BarrierId meet = b.barrier_for(2);
      const auto wait = [&b, barrier, meet] {
        if (barrier) b.barrier(meet);
      };
      b.parallel({[&, wait] {
                    b.forward({y});
                    wait();
                  },
                  [&, wait] {
                    wait();
                    b.read({y});
                  }});
    });
  };
  EXPECT_EQ(with(true), "accepted");
  EXPECT_EQ(with(false),
            "program[0].threads[1].steps[0].values[0]: 'y' is used before it is made; expected a "
            "forward of 'y' before this step");
}

TEST(ValidateFlow, ScriptsUseWhatIsMadeElsewhere) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId y) {
              ValueId kept = no_id;
              b.tensor_hook(x, {b.steps([&] {
                                  b.read({y});
                                  kept = b.keep();
                                  b.read({kept});
                                }),
                                {}});
            }),
            "accepted");
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              b.tensor_hook(x, {b.steps([&] {
                                  const ValueId kept = x + 2;
                                  b.read({kept});
                                  b.keep(0, Through::handle, "k");
                                }),
                                {}});
            }),
            "hooks[0].steps[0].values[0]: 'k' is used before it is made; expected a pass that runs "
            "the script which keeps it before this step");
}

TEST(ValidateFlow, EveryNodeRuns) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.clone(y, "z");
              b.forward({y});
            }),
            "nodes[1]: no forward step runs 'z'");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              b.forward({y});
              b.forward();
            }),
            "program[1]: no node is left for this forward: other forward steps name them all");
}

TEST(ValidateFlow, HooksWaitForTheirTarget) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId y) {
              const HookId hook = b.added_by_step(b.node_pre_hook(b.node_of(y), {}, "h"));
              b.add_hook(hook);
              b.forward();
            }),
            "program[0].hook: 'h' is on the node 'y', which no step has run before");
}

// ------------------------------------------------------------------------------------------------
// Locks and barriers

TEST(ValidateLocks, AreReleasedWhereTheyWereTaken) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.lock(b.make_lock("m")); }),
            "program: 'm' is not released at the end of these steps");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) { b.unlock(b.make_lock("m")); }),
            "program[1].lock: 'm' is not the lock that this list of steps took last");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const LockId m = b.make_lock("m");
              b.lock(m);
              b.attempt([&] { b.unlock(m); });
            }),
            "program[2].steps[0].lock: 'm' is not the lock that this list of steps took last");
}

TEST(ValidateLocks, AreNotTakenTwice) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const LockId m = b.make_lock("m");
              b.lock(m);
              b.lock(m);
              b.unlock(m);
              b.unlock(m);
            }),
            "program[2].lock: 'm' is held already; a lock cannot be taken twice");
}

TEST(ValidateLocks, AreTakenInOneOrder) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const LockId m = b.make_lock("m");
              const LockId n = b.make_lock("n");
              const auto both = [&b](LockId first, LockId second) {
                b.lock(first);
                b.lock(second);
                b.unlock(second);
                b.unlock(first);
              };
              b.parallel({[&] { both(m, n); }, [&] { both(n, m); }});
            }),
            "program[1].threads[1].steps[1].lock: 'm' is taken while 'n' is held, elsewhere the "
            "other way round: two threads could wait for each other");
}

// The scenario of report B002: a lock held over a nested pass, and taken by a node of the outer
// one.
std::string lock_over_nested_pass(bool nested_reaches_it) {
  return refused([&](B& b, ValueId x, ValueId y) {
    const LockId m = b.make_lock("m");
    CustomNode eval;
    eval.backward.steps = b.steps([&] {
      b.lock(m);
      b.unlock(m);
    });
    const ValueId w = b.custom({x}, eval, "eval");
    CustomNode checkpoint;
    checkpoint.backward.steps = b.steps([&] {
      b.lock(m);
      b.backward({{nested_reaches_it ? w : y, 1}}, {.keep = true});
      b.unlock(m);
    });
    b.backward({{b.add(w, b.custom({x}, checkpoint, "ckpt")), 1}});
  });
}

TEST(ValidateLocks, MayBeHeldOverAPassThatDoesNotTakeThem) {
  EXPECT_EQ(lock_over_nested_pass(false), "accepted");
  EXPECT_EQ(lock_over_nested_pass(true),
            "nodes[2].backward.steps[1]: 'm' is held during this pass, and "
            "nodes[1].backward.steps[0] takes it");
}

TEST(ValidateLocks, AreNotHeldWhereAStepWaitsForThreads) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const LockId m = b.make_lock("m");
              b.lock(m);
              b.parallel({[] {}});
              b.unlock(m);
            }),
            "program[2]: 'm' is held here; a parallel step may wait for a thread that needs it");
}

TEST(ValidateBarriers, NeedAsManyThreadsAsParties) {
  EXPECT_EQ(
      refused([](B& b, ValueId, ValueId) { b.barrier(b.barrier_for(2)); }),
      "program[1]: no second thread can arrive at this barrier; expected it in a parallel step");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const BarrierId meet = b.barrier_for(3, "meet");
              b.parallel({[&] { b.barrier(meet); }, [&] { b.barrier(meet); }});
            }),
            "program[1]: the barrier 'meet' has 3 parties, and 2 threads of this step wait at it");
}

TEST(ValidateBarriers, ThreadsMeetInOneOrder) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const BarrierId p = b.barrier_for(2, "p");
              const BarrierId q = b.barrier_for(2, "q");
              b.parallel({[&] {
                            b.barrier(p);
                            b.barrier(q);
                          },
                          [&] {
                            b.barrier(q);
                            b.barrier(p);
                          }});
            }),
            "program[1]: the threads of this step never all meet at the barrier 'p'");
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const BarrierId p = b.barrier_for(2, "p");
              b.parallel({[&] { b.repeat(3, [&] { b.barrier(p); }); },
                          [&] { b.repeat(2, [&] { b.barrier(p); }); }});
            }),
            "program[1]: the threads of this step never all meet at the barrier 'p'");
}

TEST(ValidateBarriers, AreNotSkippedByAnError) {
  EXPECT_EQ(refused([](B& b, ValueId, ValueId) {
              const BarrierId p = b.barrier_for(2);
              b.parallel({[&] { b.attempt([&] { b.barrier(p); }); }, [&] { b.barrier(p); }});
            }),
            "program[1].threads[0].steps[0].steps[0]: an error before it would leave the other "
            "threads waiting at this barrier");
}

TEST(ValidateBarriers, InScriptsNeedASecondThread) {
  EXPECT_EQ(refused([](B& b, ValueId x, ValueId) {
              const BarrierId p = b.barrier_for(2);
              b.tensor_hook(x, {b.steps([&] { b.barrier(p); }), {}});
            }),
            "hooks[0].steps[0]: no second thread can arrive at this barrier");
}

TEST(Validate, Reducers) {
  const auto of_ranks = [](std::vector<std::vector<ValueId>> ranks) {
    Reducer reducer;
    reducer.ranks = std::move(ranks);
    return reducer;
  };
  const auto with = [&](auto&& make) {
    return refused([&](B& b, ValueId x, ValueId y) {
      b.reducer(make(b, x, y));
      b.forward();
    });
  };
  EXPECT_EQ(with([&](B&, ValueId x, ValueId) { return of_ranks({{x}}); }), "accepted");
  EXPECT_EQ(with([&](B&, ValueId, ValueId) { return of_ranks({}); }),
            "reducers[0].ranks: expected 1 to 8 ranks");
  EXPECT_EQ(with([&](B&, ValueId, ValueId y) { return of_ranks({{y}}); }),
            "reducers[0].ranks[0][0]: expected a leaf");
  EXPECT_EQ(with([&](B&, ValueId x, ValueId) {
              return of_ranks({{x}, {x}});
            }),
            "reducers[0].ranks[1][0]: this parameter stands here twice");
  EXPECT_EQ(with([&](B&, ValueId x, ValueId) {
              return of_ranks({{x}, {}});
            }),
            "reducers[0].ranks[1]: expected as many parameters as rank 0 has, and at least one");
  EXPECT_EQ(with([&](B& b, ValueId x, ValueId) {
              return of_ranks({{x}, {b.leaf("z", TensorValue::vector({1, 2}))}});
            }),
            "reducers[0].ranks[1][0]: expected a dense parameter of the type and shape that rank "
            "0's has");
  EXPECT_EQ(refused([&](B& b, ValueId x, ValueId) {
              ReducerStep step;
              step.reducer = b.reducer(of_ranks({{x}}));
              step.rank = 1;
              b.forward();
              b.reduce(step);
            }),
            "program[1].rank: there is no rank 1; the reducer has 1");
}

// ------------------------------------------------------------------------------------------------
// Structs damaged by hand

TEST(ValidateStructs, IdsInRange) {
  Scenario s = everything();
  s.nodes[0].inputs[0] = 1000;
  EXPECT_EQ(refusal(s), "nodes[0].inputs[0]: id 1000 refers to nothing");
}

TEST(ValidateStructs, StepsAreNumbered) {
  Scenario s = everything();
  s.program.erase(s.program.begin());
  EXPECT_EQ(refusal(s), "program[0]: the steps are not numbered; call number_steps first");
}

TEST(ValidateStructs, ValuesNameTheirProducers) {
  Scenario s = everything();
  s.values[0].producer = 1;
  EXPECT_EQ(refusal(s), "leaves[0]: the value 'x' names another producer");
  s = everything();
  s.values.push_back({"orphan", Value::Origin::leaf, 0, 0});
  EXPECT_EQ(refusal(s), "a value of a leaf or node is made by none");
  s = everything();
  s.values.push_back({"orphan", Value::Origin::kept, 0, 0});
  EXPECT_EQ(refusal(s), "a value that steps make is made by none, or by two");
}

}  // namespace
}  // namespace gradcts
