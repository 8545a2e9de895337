#include "fuzz/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "conformance/scenario/features.h"
#include "fuzz/generate.h"
#include "fuzz/index.h"

namespace gradcts::fuzz {

namespace {

// The shape of the graph, as numbers.
struct GraphShape {
  std::size_t depth = 0, fan_in = 0, fan_out = 0, diamonds = 0, shared_leaves = 0;
};

GraphShape shape_of(const Scenario& s) {
  GraphShape shape;
  std::vector<std::size_t> uses(s.values.size(), 0), depth(s.values.size(), 0);
  std::vector<std::vector<bool>> below(s.nodes.size(), std::vector<bool>(s.nodes.size(), false));
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    std::size_t deepest = 0;
    bool joins = false;
    for (const ValueId input : s.nodes[i].inputs) {
      ++uses[at(input)];
      deepest = std::max(deepest, depth[at(input)]);
      const Value& value = s.values[at(input)];
      if (value.origin != Value::Origin::node_output) continue;
      const auto producer = at(value.producer);
      for (std::size_t j = 0; j < i; ++j) {
        if (!below[producer][j] && j != producer) continue;
        joins = joins || below[i][j];
        below[i][j] = true;
      }
    }
    for (const ValueId output : s.nodes[i].outputs) depth[at(output)] = deepest + 1;
    shape.depth = std::max(shape.depth, deepest + 1);
    shape.fan_in = std::max(shape.fan_in, s.nodes[i].inputs.size());
    shape.diamonds += joins ? 1 : 0;
  }
  for (const std::size_t count : uses) shape.fan_out = std::max(shape.fan_out, count);
  for (const Leaf& leaf : s.leaves) shape.shared_leaves += uses[at(leaf.value)] > 1 ? 1 : 0;
  return shape;
}

// How deep passes in scripts nest, followed through what their roots reach.
class Nesting {
 public:
  explicit Nesting(const Scenario& s) : s_(s), known_(s.nodes.size() + s.leaves.size(), -1) {}
  int of(const Steps& steps) {
    int deepest = 0;
    for_each_step(steps, [&](const Step& step) {
      if (const auto* pass = std::get_if<PassStep>(&step.action)) {
        int inside = 0;
        for (const Root& root : pass->roots) inside = std::max(inside, below(root.value));
        deepest = std::max(deepest, inside + 1);
      }
      if (const auto* queue = std::get_if<QueueCallbackStep>(&step.action)) {
        if (callback_depth_++ < 4) {
          deepest = std::max(deepest, of(s_.callbacks[at(queue->callback)].steps));
        }
        --callback_depth_;
      }
    });
    return deepest;
  }

 private:
  int below(ValueId id) {
    const Value& value = s_.values[at(id)];
    if (value.origin == Value::Origin::leaf) return at_node(accumulator_of(s_, value.producer));
    return value.origin == Value::Origin::node_output ? at_node(value.producer) : 0;
  }
  int at_node(NodeId id) {
    if (known_[at(id)] >= 0) return known_[at(id)];
    known_[at(id)] = 0;
    int deepest = 0;
    for (const Hook& hook : s_.hooks) {
      bool here = hook.node == id;
      for (const ValueId value : hook.values) {
        const Value& on = s_.values[at(value)];
        here = here || (on.origin == Value::Origin::leaf ? accumulator_of(s_, on.producer)
                                                         : on.producer) == id;
      }
      if (here) deepest = std::max(deepest, of(hook.script.steps));
    }
    if (!is_accumulator(s_, id)) {
      const Node& node = s_.nodes[at(id)];
      if (node.custom) deepest = std::max(deepest, of(node.custom->backward.steps));
      for (const ValueId input : node.inputs) deepest = std::max(deepest, below(input));
    }
    return known_[at(id)] = deepest;
  }

  const Scenario& s_;
  std::vector<int> known_;
  int callback_depth_ = 0;
};

std::size_t devices_of(const Scenario& s) {
  std::set<std::string> devices;
  for (const Leaf& leaf : s.leaves) devices.insert(to_text(leaf.initial.device));
  for (const Node& node : s.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (const auto* device = std::get_if<Device>(&attribute)) devices.insert(to_text(*device));
    }
  }
  return devices.size();
}

std::size_t threads_of(const Scenario& s) {
  std::size_t threads = 1;
  for_each_step(s, [&](const Step& step) {
    if (const auto* parallel = std::get_if<ParallelStep>(&step.action)) {
      threads = std::max(threads, parallel->threads.size());
    }
  });
  return threads;
}

// Traits that no feature of the language stands for.
constexpr const char* shape_traits[] = {
    "graph.diamond",
    "graph.shared-leaf",
    "graph.deep",
    "graph.wide",
    "graph.many-outputs",
    "nested.to-limit",
    "nested.past-limit",
    "passes.several",
    "roots.several",
    "errors.thrown",
    "in-place",
    "threads.barrier",
    "threads.locks",
    "devices.several",
    "repeat",
    "try",
};

// The features that the generator leaves alone, each with its reason in docs/fuzz.md.
bool is_left_alone(const std::string& feature) {
  // The generator does not write these yet.
  static const std::set<std::string> alone = {
      "anomaly.report",
      "change.data",
      "compiled",
      "compiled.forget",
      "custom.conversion",
      "destructor.hook",
      "destructor.node",
      "destructor.user_state",
      "device.cuda",
      "device.refusal",
      "engine.start",
      "engine.stop_limit",
      "fork",
      "graph.redirect",
      "hook.returns_list",
      "hook.saved.close",
      "keep.data",
      "leaf.saved_elsewhere",
      "observe.compiles",
      "observe.compiles_for",
      "observe.engine_threads",
      "observe.live_objects",
      "observe.programs",
      "observe.replays",
      "observe.stream_events",
      "observe.stream_waits",
      "operation.div",
      "operation.mean",
      "operation.where",
      "pass.announced",
      "pass.asynchronous",
      "pass.nested.alone",
      "pass.no_roots",
      "streams.captured",
  };
  return feature.starts_with("reducer") || alone.count(feature) > 0;
}

}  // namespace

std::set<std::string> traits_of(const Scenario& s) {
  std::set<std::string> traits = required_features(s);
  const auto note = [&](bool condition, const char* trait) {
    if (condition) traits.insert(trait);
  };
  const GraphShape shape = shape_of(s);
  note(shape.diamonds > 0, "graph.diamond");
  note(shape.shared_leaves > 0, "graph.shared-leaf");
  note(shape.depth >= 8, "graph.deep");
  note(shape.fan_out >= 5, "graph.wide");
  for (const Node& node : s.nodes) {
    note(node.outputs.size() > 1, "graph.many-outputs");
    note(spec_of(node.operation).in_place, "in-place");
  }
  const int nesting = Nesting(s).of(s.program) - 1;
  const auto limit = s.configuration.nesting_limit;
  note(limit && nesting >= *limit, "nested.to-limit");
  note(limit && nesting > *limit, "nested.past-limit");
  std::size_t passes = 0;
  for_each_step(s.program, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    passes += pass != nullptr ? 1 : 0;
    note(pass != nullptr && pass->roots.size() > 1, "roots.several");
    note(std::holds_alternative<RepeatStep>(step.action), "repeat");
    note(std::holds_alternative<TryStep>(step.action), "try");
  });
  note(passes > 1, "passes.several");
  for_each_step(s, [&](const Step& step) {
    note(std::holds_alternative<ThrowStep>(step.action), "errors.thrown");
    note(std::holds_alternative<BarrierStep>(step.action), "threads.barrier");
    note(threads_of(s) > 1 && std::holds_alternative<LockStep>(step.action), "threads.locks");
  });
  note(devices_of(s) > 1, "devices.several");
  return traits;
}

const std::set<std::string>& all_traits() {
  static const std::set<std::string> traits = [] {
    std::set<std::string> all(std::begin(shape_traits), std::end(shape_traits));
    for (const FeatureSpec& feature : all_features()) {
      if (!is_left_alone(std::string(feature.name))) all.emplace(feature.name);
    }
    return all;
  }();
  return traits;
}

std::string describe(std::uint64_t seed, std::uint64_t count) {
  std::map<std::string, std::map<std::size_t, std::uint64_t>> numbers;
  std::map<std::string, std::uint64_t> traits;
  std::uint64_t undefined = 0, returns = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Scenario s = random_scenario(seed, i);
    const GraphShape shape = shape_of(s);
    ++numbers["nodes"][s.nodes.size()];
    ++numbers["leaves"][s.leaves.size()];
    ++numbers["steps"][at(s.step_count)];
    ++numbers["depth"][shape.depth];
    ++numbers["fan-in"][shape.fan_in];
    ++numbers["fan-out"][shape.fan_out];
    ++numbers["diamonds"][shape.diamonds];
    ++numbers["shared leaves"][shape.shared_leaves];
    ++numbers["hooks"][s.hooks.size()];
    ++numbers["nesting"][at(std::max(0, Nesting(s).of(s.program) - 1))];
    ++numbers["devices"][devices_of(s)];
    ++numbers["threads"][threads_of(s)];
    for (const Node& node : s.nodes) {
      if (!node.custom || !node.custom->backward.returns) continue;
      for (const Expression& e : *node.custom->backward.returns) {
        ++returns;
        undefined += e.kind == Expression::Kind::undefined ? 1 : 0;
      }
    }
    for (const std::string& trait : traits_of(s)) ++traits[trait];
  }
  std::string text = fmt::format("{} cases of seed {}\n\n", count, seed);
  text += fmt::format("{:<15}{:>8}{:>8}{:>8}{:>8}\n", "", "median", "90%", "99%", "most");
  for (const auto& [name, histogram] : numbers) {
    // Named again, since Clang 14 does not let a lambda capture a structured binding.
    const auto quantile = [&, &histogram = histogram](double share) {
      std::uint64_t seen = 0;
      for (const auto& [value, cases] : histogram) {
        seen += cases;
        if (static_cast<double>(seen) >= share * static_cast<double>(count)) return value;
      }
      return histogram.rbegin()->first;
    };
    text += fmt::format("{:<15}{:>8}{:>8}{:>8}{:>8}\n", name, quantile(0.5), quantile(0.9),
                        quantile(0.99), quantile(1));
  }
  text += fmt::format(
      "\nundefined: {:.1f}% of what custom nodes return\n\nshare of the cases\n",
      returns == 0 ? 0 : 100.0 * static_cast<double>(undefined) / static_cast<double>(returns));
  for (const auto& [trait, cases] : traits) {
    text += fmt::format("  {:<28}{:>6.1f}%\n", trait,
                        100.0 * static_cast<double>(cases) / static_cast<double>(count));
  }
  for (const std::string& trait : all_traits()) {
    if (traits.count(trait) == 0) text += fmt::format("  {:<28}  none\n", trait);
  }
  return text;
}

}  // namespace gradcts::fuzz
