#include "fuzz/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conformance/scenario/features.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json_entries.h"
#include "conformance/spec/spec.h"
#include "fuzz/index.h"

namespace gradcts::fuzz {

namespace {

// ---- Circumstances

bool is_leaf(const Scenario& s, ValueId value) {
  return s.values[at(value)].origin == Value::Origin::leaf;
}

bool has_tensor_hook(const Scenario& s, ValueId value) {
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    return hook.kind == HookKind::tensor && hook.values[0] == value;
  });
}

bool leaf_hook_gets_nothing(const Scenario& s, const Expectation* expectation) {
  if (expectation == nullptr) return false;
  return std::any_of(expectation->events.begin(), expectation->events.end(),
                     [&](const ExpectedEvent& expected) {
                       const Event& event = expected.event;
                       return event.kind == EventKind::tensor_hook &&
                              is_leaf(s, s.hooks[at(event.subject)].values[0]) &&
                              !event.values.empty() && !event.values[0];
                     });
}

bool leaf_with_hook_is_turned_off(const Scenario& s, const Expectation*) {
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* turned = std::get_if<RequiresGradStep>(&step.action);
    found |= turned != nullptr && !turned->on && has_tensor_hook(s, turned->value);
  });
  return found;
}

bool leaf_has_tensor_and_pre_hooks(const Scenario& s, const Expectation*) {
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    if (hook.kind != HookKind::node_pre || !is_accumulator(s, hook.node)) return false;
    const auto leaf = at(hook.node) - s.nodes.size();
    return has_tensor_hook(s, s.leaves[leaf].value);
  });
}

bool accumulator_pre_hook_gives_nothing(const Scenario& s, const Expectation*) {
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    if (hook.kind != HookKind::node_pre || !is_accumulator(s, hook.node)) return false;
    return hook.script.returns && !hook.script.returns->empty() &&
           hook.script.returns->front().kind == Expression::Kind::undefined;
  });
}

bool input_of_backward_has_a_hook(const Scenario& s, const Expectation*) {
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    if (pass == nullptr || pass->kind != PassStep::Kind::backward || !pass->inputs) return;
    for (const ValueId input : *pass->inputs) {
      const Value& value = s.values[at(input)];
      if (value.origin != Value::Origin::node_output) continue;
      found |= has_tensor_hook(s, input) ||
               std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
                 return hook.kind == HookKind::node_pre && hook.node == value.producer;
               });
    }
  });
  return found;
}

bool node_hook_returns_a_wrong_count(const Scenario& s, const Expectation*) {
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    const bool pre = hook.kind == HookKind::node_pre;
    if ((!pre && hook.kind != HookKind::node_post) || !hook.script.returns) return false;
    std::size_t count = pre ? 1 : 0;  // of an accumulator
    if (!is_accumulator(s, hook.node)) {
      const Node& node = s.nodes[at(hook.node)];
      count = pre ? node.outputs.size() : node.inputs.size();
    }
    return hook.script.returns->size() != count;
  });
}

bool seed_is_a_value(const Scenario& s, const Expectation*) {
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    if (pass == nullptr) return;
    for (const Root& root : pass->roots) found |= root.seed.value != no_id;
  });
  return found;
}

// The value whose elements these are: what was changed in place, or viewed.
ValueId base_of(const Scenario& s, ValueId value) {
  while (s.values[at(value)].origin == Value::Origin::node_output) {
    const Node& node = s.nodes[at(s.values[at(value)].producer)];
    const OperationSpec& spec = spec_of(node.operation);
    if (!spec.in_place && !spec.makes_view) break;
    value = node.inputs[0];
  }
  return value;
}

bool returns_a_pool(const Scenario& s, const Expectation*) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [](const Node& node) {
    if (!node.custom || !node.custom->backward.returns) return false;
    const auto& returns = *node.custom->backward.returns;
    return std::any_of(returns.begin(), returns.end(), [](const Expression& returned) {
      return returned.kind == Expression::Kind::pool;
    });
  });
}

// Whether the value's history leads to the node: through what made it, and what changed it.
bool leads_to(const Scenario& s, ValueId value, NodeId node) {
  std::vector<ValueId> todo{base_of(s, value)};
  std::set<ValueId> seen;
  while (!todo.empty()) {
    const ValueId next = todo.back();
    todo.pop_back();
    if (!seen.insert(next).second) continue;
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
      const Node& maker = s.nodes[i];
      if (std::none_of(maker.outputs.begin(), maker.outputs.end(),
                       [&](ValueId output) { return base_of(s, output) == next; })) {
        continue;
      }
      if (static_cast<NodeId>(i) == node) return true;
      for (const ValueId input : maker.inputs) todo.push_back(base_of(s, input));
    }
  }
  return false;
}

bool changed_by_its_own_history(const Scenario& s, const Expectation*) {
  for (const Node& changing : s.nodes) {
    if (!spec_of(changing.operation).in_place || changing.inputs.size() < 2) continue;
    const ValueId changed = base_of(s, changing.inputs[0]);
    const ValueId other = changing.inputs[1];
    if (base_of(s, other) == changed) return true;
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
      const auto& inputs = s.nodes[i].inputs;
      const bool uses = std::any_of(inputs.begin(), inputs.end(),
                                    [&](ValueId input) { return base_of(s, input) == changed; });
      if (uses && leads_to(s, other, static_cast<NodeId>(i))) return true;
    }
  }
  return false;
}

bool view_is_changed_unrecorded(const Scenario& s, const Expectation*) {
  const auto is_view = [&](ValueId id) {
    const Value& value = s.values[at(id)];
    return value.origin == Value::Origin::node_output &&
           spec_of(s.nodes[at(value.producer)].operation).makes_view;
  };
  bool changes = false;
  for_each_step(
      s, [&](const Step& step) { changes |= std::holds_alternative<ChangeStep>(step.action); });
  if (!changes) return false;
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    if (is_view(static_cast<ValueId>(i))) return true;
  }
  return false;
}

bool asks_what_will_run(const Scenario& s, const Expectation*) {
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* asked = std::get_if<ObserveStep>(&step.action);
    found |= asked && asked->what == ObserveStep::What::will_run;
  });
  return found;
}

bool throws_foreign(const Scenario& s, const Expectation*) {
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* thrown = std::get_if<ThrowStep>(&step.action);
    found |= thrown != nullptr && thrown->foreign;
  });
  return found;
}

bool callback_starts_a_pass(const Scenario& s, const Expectation*) {
  bool found = false;
  for (const Callback& callback : s.callbacks) {
    for_each_step(callback.steps, [&](const Step& step) {
      found |= std::holds_alternative<PassStep>(step.action);
    });
  }
  return found;
}

bool passes_nest_on_devices(const Scenario& s, const Expectation*) {
  const std::set<std::string> features = required_features(s);
  return features.count("pass.nested") != 0 && features.count("device.sim") != 0;
}

bool records_a_backward_on_streams(const Scenario& s, const Expectation*) {
  if (s.streams.empty()) return false;
  bool found = false;
  for_each_step(s, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    found |= pass != nullptr && pass->kind == PassStep::Kind::backward && pass->create_graph;
  });
  return found;
}

bool hook_follows_a_way_to_the_cpu(const Scenario& s, const Expectation*) {
  if (s.streams.empty()) return false;
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    if (hook.kind != HookKind::node_post || is_accumulator(s, hook.node)) return false;
    const Node& node = s.nodes[at(hook.node)];
    const auto* device = node.operation == Operation::to_device
                             ? std::get_if<Device>(&node.attributes.at(0))
                             : nullptr;
    return device != nullptr && device->type == DeviceType::cpu;
  });
}

bool retains_before_a_tensor_hook(const Scenario& s, const Expectation*) {
  std::set<ValueId> retained;
  return std::any_of(s.hooks.begin(), s.hooks.end(), [&](const Hook& hook) {
    if (hook.kind == HookKind::retain_grad) retained.insert(hook.values[0]);
    return hook.kind == HookKind::tensor && retained.count(hook.values[0]) != 0;
  });
}

bool changes_a_view_in_place(const Scenario& s, const Expectation*) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const Node& node) {
    if (!spec_of(node.operation).in_place) return false;
    const Value& target = s.values[at(node.inputs[0])];
    return target.origin == Value::Origin::node_output &&
           spec_of(s.nodes[at(target.producer)].operation).makes_view;
  });
}

// ---- Reading

constexpr std::string_view schema = "gradcts.known_findings/1";

std::vector<std::string> clauses_of(const Json& json, const std::string& path) {
  std::vector<std::string> clauses;
  if (!json.contains("clauses")) return clauses;
  if (!json["clauses"].is_array()) throw FormatError(path + ".clauses", "expected a list");
  for (const Json& clause : json["clauses"]) {
    const std::string name = clause.is_string() ? clause.get<std::string>() : "";
    if (name != "crash" && name != "hang" && !find_clause(name)) {
      throw FormatError(path + ".clauses", fmt::format("no clause '{}'", name));
    }
    clauses.push_back(name);
  }
  return clauses;
}

KnownFinding read_entry(const Json& json, const std::string& path) {
  check_entry(json, path,
              {"name", "says", "when", "clauses", "run", "report", "reason", "example"});
  KnownFinding entry;
  entry.name = required_text(json, path, "name");
  entry.says = text_field(json, path, "says");
  entry.when = text_field(json, path, "when");
  if (entry.says.empty() && entry.when.empty()) {
    throw FormatError(path, "expected 'says' or 'when'");
  }
  const auto& all = all_circumstances();
  const auto is_known = [&](const Circumstance& one) { return one.name == entry.when; };
  if (!entry.when.empty() && std::none_of(all.begin(), all.end(), is_known)) {
    throw FormatError(path + ".when", fmt::format("no circumstance '{}'", entry.when));
  }
  entry.clauses = clauses_of(json, path);
  if (json.contains("run")) {
    if (json["run"] != false || entry.when.empty() || !entry.says.empty()) {
      throw FormatError(path + ".run", "expected false, and 'when' alone");
    }
    entry.run = false;
  }
  entry.report = required_text(json, path, "report");
  entry.reason = required_text(json, path, "reason");
  if (!json.contains("example")) throw FormatError(path, "'example' is missing");
  entry.example = json["example"];
  return entry;
}

bool circumstance_holds(std::string_view name, const Scenario& scenario,
                        const Expectation* expectation) {
  for (const Circumstance& one : all_circumstances()) {
    if (one.name == name) return one.holds(scenario, expectation);
  }
  return false;
}

}  // namespace

const std::vector<Circumstance>& all_circumstances() {
  static const std::vector<Circumstance> all{
      {"leaf-hook-of-nothing", "a tensor hook of a leaf is given an undefined gradient",
       leaf_hook_gets_nothing},
      {"leaf-with-hook-turned-off", "a leaf with a tensor hook is set to require no gradient",
       leaf_with_hook_is_turned_off},
      {"leaf-tensor-and-pre-hooks", "a leaf has tensor hooks, and its accumulator has pre-hooks",
       leaf_has_tensor_and_pre_hooks},
      {"accumulator-pre-hook-gives-nothing", "a pre-hook of an accumulator takes its gradient away",
       accumulator_pre_hook_gives_nothing},
      {"input-of-backward-has-hook",
       "a backward restricted to inputs has one that is no leaf, with a tensor hook or a pre-hook "
       "of its node",
       input_of_backward_has_a_hook},
      {"node-hook-wrong-count", "a hook of a node returns too many or too few gradients",
       node_hook_returns_a_wrong_count},
      {"seed-is-a-value", "a pass is seeded with a value of the program", seed_is_a_value},
      {"returns-a-pool", "a node returns a buffer that it writes again", returns_a_pool},
      {"changed-by-its-own-history",
       "a value that a node takes is changed in place by what was made from that node",
       changed_by_its_own_history},
      {"asks-what-will-run", "a step asks whether a node will run", asks_what_will_run},
      {"callback-starts-a-pass", "a callback starts a pass", callback_starts_a_pass},
      {"passes-nest-on-devices", "there are devices, and passes that are nested",
       passes_nest_on_devices},
      {"recorded-backward-on-streams", "there are streams, and a backward that is recorded",
       records_a_backward_on_streams},
      {"hook-on-the-way-to-the-cpu",
       "there are streams, and a post hook of a node that takes something from a device to the CPU",
       hook_follows_a_way_to_the_cpu},
      {"retained-before-tensor-hook", "a value retains its gradient, and then gets a tensor hook",
       retains_before_a_tensor_hook},
      {"throws-foreign", "something throws outside the standard hierarchy", throws_foreign},
      {"view-changed-in-place", "an operation changes a view in place", changes_a_view_in_place},
      {"change-of-viewed", "there are views, and a step changes elements unrecorded",
       view_is_changed_unrecorded},
  };
  return all;
}

KnownFindings read_known_findings(const Json& json) {
  KnownFindings known;
  read_entries(json, schema, "known", [&](const Json& entry, const std::string& path) {
    known.push_back(read_entry(entry, path));
  });
  return known;
}

KnownFindings load_known_findings(const std::string& file) {
  try {
    return read_known_findings(parse_json(read_file(file)));
  } catch (const FormatError& problem) {
    throw std::runtime_error(fmt::format("{}: {}", file, problem.what()));
  }
}

std::string left_out_as(const KnownFindings& known, const Scenario& scenario) {
  for (const KnownFinding& entry : known) {
    if (!entry.run && circumstance_holds(entry.when, scenario, nullptr)) return entry.name;
  }
  return "";
}

std::string known_as(const KnownFindings& known, std::string_view clause,
                     const std::vector<std::string>& texts, const Scenario& scenario,
                     const Expectation* expectation) {
  for (const KnownFinding& entry : known) {
    const auto& clauses = entry.clauses;
    if (!clauses.empty() && std::find(clauses.begin(), clauses.end(), clause) == clauses.end()) {
      continue;
    }
    const auto says = [&](const std::string& text) {
      return text.find(entry.says) != std::string::npos;
    };
    const bool said = entry.says.empty() || std::any_of(texts.begin(), texts.end(), says);
    const bool holds = entry.when.empty() || circumstance_holds(entry.when, scenario, expectation);
    if (said && holds) return entry.name;
  }
  return "";
}

}  // namespace gradcts::fuzz
