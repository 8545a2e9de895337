#include "conformance/report/case_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/checker/describe.h"
#include "conformance/checker/matching.h"
#include "conformance/report/explain.h"
#include "conformance/report/graph.h"
#include "conformance/report/index.h"
#include "conformance/report/timeline.h"
#include "conformance/report/words.h"

namespace gradcts {
namespace {

// Whether what a finding says is about a thing of that name, and not of one that only begins so.
bool mentions(const std::string& where, const std::string& thing) {
  const std::size_t at = where.find(thing);
  if (at == std::string::npos) return false;
  const std::size_t end = at + thing.size();
  return end == where.size() || where[end] == ',' || where[end] == ' ';
}

// ------------------------------------------------------------------------------------------------
// The drawing

class Drawing {
 public:
  Drawing(const Scenario& scenario, const Expectation& expectation)
      : scenario_(scenario), expectation_(expectation) {}

  Json draw() {
    Json drawing = {{"text", graph_text(scenario_, 200)}};
    if (scenario_.nodes.size() + scenario_.leaves.size() <= most_vertices) {
      flag_all();
      for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) add_node(static_cast<NodeId>(i));
      for (std::size_t i = 0; i < scenario_.leaves.size(); ++i) add_leaf(scenario_.leaves[i]);
      for (std::size_t i = 0; i < scenario_.nodes.size(); ++i) add_edges(static_cast<NodeId>(i));
      add_hooks();
      drawing["nodes"] = std::move(vertices_);
      drawing["edges"] = std::move(edges_);
    }
    return drawing;
  }

 private:
  std::size_t vertex_of_accumulator(std::int32_t leaf) const {
    return index(accumulator_of(scenario_, leaf));
  }

  // The vertex that a value comes from; what a step made gets a vertex of its own.
  std::size_t source(ValueId value) {
    const Value& v = scenario_.values[index(value)];
    if (v.origin == Value::Origin::leaf) return vertex_of_accumulator(v.producer);
    if (v.origin == Value::Origin::node_output) return index(v.producer);
    const auto [found, is_new] = made_by_steps_.emplace(value, vertices_.size());
    if (is_new)
      vertices_.push_back({{"name", v.name}, {"text", "made by a step"}, {"kind", "value"}});
    return found->second;
  }

  std::optional<std::size_t> known_source(ValueId value) const {
    const Value& v = scenario_.values[index(value)];
    if (v.origin == Value::Origin::leaf) return vertex_of_accumulator(v.producer);
    if (v.origin == Value::Origin::node_output) return index(v.producer);
    return std::nullopt;
  }

  void flag_all() {
    bool passes = false;
    for_each_step(scenario_, [&](const Step& step) {
      const auto* pass = std::get_if<PassStep>(&step.action);
      if (!pass) return;
      passes = true;
      for (const Root& root : pass->roots) flag(root.value, "root");
      if (!pass->inputs) return;
      for (const ValueId input : *pass->inputs) flag(input, "captured");
    });
    if (passes && expectation_.cannot_tell.empty()) flag_still();
  }

  void flag(ValueId value, const char* name) {
    if (const auto vertex = known_source(value)) flags_[*vertex].insert(name);
  }

  void flag_still() {
    std::set<std::int32_t> running;
    for (const ExpectedEvent& expected : expectation_.events) {
      if (expected.event.kind == EventKind::node_enter) running.insert(expected.event.subject);
    }
    const auto count = static_cast<NodeId>(scenario_.nodes.size() + scenario_.leaves.size());
    for (NodeId node = 0; node < count; ++node) {
      const bool captured =
          flags_[index(node)].contains("captured");  // gets its gradient and stops there
      if (is_traced(node) && !running.contains(node) && !captured)
        flags_[index(node)].insert("still");
    }
  }

  bool is_traced(NodeId node) const {
    if (scenario_.trace == Trace::all) return true;
    return !is_accumulator(scenario_, node) && scenario_.nodes[index(node)].custom.has_value();
  }

  static Device device_from(const Expression& expression, Device inherited) {
    if (expression.move_to) return *expression.move_to;
    return expression.constant ? expression.constant->device : inherited;
  }

  // Where the node's output is, and so where its backward runs (DEV-1).
  Device device_of(NodeId id) {
    const auto known = devices_.find(id);
    if (known != devices_.end()) return known->second;
    const Node& node = scenario_.nodes[index(id)];
    Device device = node.inputs.empty() ? Device{} : device_of_value(node.inputs.front());
    if (node.operation == Operation::to_device) {
      for (const Attribute& attribute : node.attributes) {
        if (const auto* target = std::get_if<Device>(&attribute)) device = *target;
      }
    }
    if (node.custom && !node.custom->forward.empty())
      device = device_from(node.custom->forward.front(), device);
    return devices_[id] = device;
  }

  Device device_of_value(ValueId value) {
    const Value& v = scenario_.values[index(value)];
    if (v.origin == Value::Origin::leaf) return scenario_.leaves[index(v.producer)].initial.device;
    const auto known = devices_.find(v.producer);  // nodes stand after those that they take from
    return v.origin == Value::Origin::node_output && known != devices_.end() ? known->second
                                                                             : Device{};
  }

  void add_vertex(Json vertex, Device device) {
    if (device.type != DeviceType::cpu) vertex["device"] = to_text(device);
    const auto flags = flags_.find(vertices_.size());
    if (flags != flags_.end() && !flags->second.empty()) vertex["flags"] = flags->second;
    vertices_.push_back(std::move(vertex));
  }

  void add_node(NodeId id) {
    const Node& node = scenario_.nodes[index(id)];
    add_vertex({{"name", node.name}, {"text", in_words(scenario_, node)}, {"kind", "node"}},
               device_of(id));
  }

  void add_leaf(const Leaf& leaf) {
    if (!leaf.requires_grad) flags_[vertices_.size()] = {"no_grad"};
    add_vertex({{"name", scenario_.values[index(leaf.value)].name},
                {"text", in_words(std::optional(leaf.initial))},
                {"kind", "leaf"}},
               leaf.initial.device);
  }

  void add_edges(NodeId id) {
    const Node& node = scenario_.nodes[index(id)];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const std::size_t to = source(node.inputs[k]);
      const Value& value = scenario_.values[index(node.inputs[k])];
      const bool several = value.origin == Value::Origin::node_output &&
                           scenario_.nodes[index(value.producer)].outputs.size() > 1;
      edges_.push_back({index(id), to, several ? value.name : std::string()});
    }
  }

  void add_hooks() {
    for (const Hook& hook : scenario_.hooks) {
      const std::string text = fmt::format("{} {}", in_words(hook.kind), hook.name);
      if (hook.node != no_id) vertices_[index(hook.node)]["hooks"].push_back(text);
      for (const ValueId value : hook.values) {
        if (const auto vertex = known_source(value)) vertices_[*vertex]["hooks"].push_back(text);
      }
    }
  }

  const Scenario& scenario_;
  const Expectation& expectation_;
  Json vertices_ = Json::array(), edges_ = Json::array();
  std::map<ValueId, std::size_t> made_by_steps_;
  std::map<std::size_t, std::set<std::string>> flags_;
  std::map<NodeId, Device> devices_;
};

// The program as lines; bodies of steps are indented below them.
class ProgramLines {
 public:
  explicit ProgramLines(const Scenario& scenario) : scenario_(scenario) {
    add(scenario.program, 0);
    for (const Node& node : scenario.nodes) {
      if (node.custom)
        add_script(fmt::format("backward of {}", node.name), node.custom->backward.steps);
    }
    for (const Hook& hook : scenario.hooks) {
      add_script(fmt::format("{} {}", in_words(hook.kind), hook.name), hook.script.steps);
      add_script(fmt::format("unpack of {}", hook.name), hook.unpack_script.steps);
    }
    for (const Callback& callback : scenario.callbacks)
      add_script(fmt::format("final callback {}", callback.name), callback.steps);
  }

  Json take() { return std::move(lines_); }

 private:
  void heading(const std::string& text, int indent) { lines_.push_back({indent, no_id, text, ""}); }

  void add_script(const std::string& name, const Steps& steps) {
    if (steps.empty()) return;
    heading(name + ":", 0);
    add(steps, 1);
  }

  void add(const Steps& steps, int indent) {
    for (const Step& step : steps) {
      lines_.push_back(
          {indent, step.id, in_words(scenario_, step), step.expect ? in_words(*step.expect) : ""});
      if (const auto* parallel = std::get_if<ParallelStep>(&step.action)) {
        for (const auto& thread : parallel->threads) {
          heading(fmt::format("thread {}:", thread.name), indent + 1);
          add(thread.steps, indent + 2);
        }
      } else {
        for_each_body(step, [&](const Steps& body) { add(body, indent + 1); });
      }
    }
  }

  const Scenario& scenario_;
  Json lines_ = Json::array();
};

// ------------------------------------------------------------------------------------------------
// The evidence

class EvidenceView {
 public:
  EvidenceView(const Scenario& scenario, const Expectation& expectation, const Outcome& outcome,
               const std::vector<Finding>& findings)
      : scenario_(scenario),
        expectation_(expectation),
        outcome_(outcome),
        findings_(findings),
        evidence_({scenario, expectation, outcome}) {}

  Json view() {
    Json json = {
        {"nodes", nodes()}, {"steps", bad_steps()}, {"results", results()}, {"missing", missing()}};
    add_timeline(json);
    json["state"] = state();
    return json;
  }

 private:
  bool is_blamed(const std::string& thing) const {
    return std::ranges::any_of(findings_,
                               [&](const Finding& f) { return mentions(f.where, thing); });
  }

  struct Runs {
    int observed = 0, least = 0, most = 0;
  };

  bool is_bad_node(NodeId node) const {
    if (is_blamed(fmt::format("node {}", node_name(scenario_, node)))) return true;
    return is_accumulator(scenario_, node) && is_blamed(leaf_gradient(leaf_of(scenario_, node)));
  }

  std::string leaf_gradient(std::int32_t leaf) const {
    const ValueId value = scenario_.leaves[index(leaf)].value;
    return fmt::format("gradient of leaf {}", scenario_.values[index(value)].name);
  }

  Json nodes() const {
    std::map<NodeId, Runs> runs;
    const auto count = static_cast<NodeId>(scenario_.nodes.size() + scenario_.leaves.size());
    for (const Event& event : outcome_.events) {
      if (event.kind == EventKind::node_enter) ++runs[event.subject].observed;
    }
    for (const ExpectedEvent& expected : expectation_.events) {
      if (expected.event.kind != EventKind::node_enter) continue;
      Runs& entry = runs[expected.event.subject];
      entry.least += expected.required;
      ++entry.most;
    }
    Json json = Json::object();
    if (index(count) > most_vertices) return json;
    for (NodeId node = 0; node < count; ++node) {
      const bool bad = is_bad_node(node);
      const auto found = runs.find(node);
      if (found == runs.end() && !bad) continue;
      const Runs entry = found == runs.end() ? Runs{} : found->second;
      Json mark = {{"runs", entry.observed}, {"least", entry.least}, {"most", entry.most}};
      if (found == runs.end()) mark = Json::object();
      if (bad) mark["bad"] = true;
      json[std::to_string(node)] = std::move(mark);
    }
    return json;
  }

  bool is_bad_step(StepId step) const {
    const std::string path = step_path(scenario_, step);
    return std::ranges::any_of(findings_,
                               [&](const Finding& f) { return mentions(f.where, path); });
  }

  Json bad_steps() const {
    Json json = Json::array();
    for_each_step(scenario_, [&](const Step& step) {
      if (is_bad_step(step.id)) json.push_back(step.id);
    });
    return json;
  }

  // Without the name of the step, which `in_words` begins with.
  std::string result_text(const StepResult& result) const {
    StepResult plain = result;
    plain.thread = 0;
    const std::string text = in_words(scenario_, plain);
    const std::size_t colon = text.find(": ");
    return colon == std::string::npos ? text : text.substr(colon + 2);
  }

  static bool says_something(const StepResult& result) {
    return result.error.has_value() || !result.values.empty();
  }

  Json results() const {
    Json rows = Json::array();
    for (std::size_t i = 0; i < expectation_.steps.size(); ++i) {
      const StepResult& expected = expectation_.steps[i].result;
      const std::int32_t at = evidence_.steps[i];
      const StepResult* observed = at == unmatched ? nullptr : &outcome_.steps[index(at)];
      if (!says_something(expected) && (!observed || !says_something(*observed))) continue;
      rows.push_back({describe_step(scenario_, expected.step, expected.occurrence),
                      result_text(expected), observed ? result_text(*observed) : "no result",
                      is_bad_step(expected.step)});
    }
    for (std::size_t i = 0; i < expectation_.leaf_grads.size() && i < outcome_.leaf_grads.size();
         ++i) {
      const bool known =
          i >= expectation_.leaf_grad_known.size() || expectation_.leaf_grad_known[i];
      const std::string name = leaf_gradient(static_cast<std::int32_t>(i));
      rows.push_back({name, known ? in_words(expectation_.leaf_grads[i]) : "anything",
                      in_words(outcome_.leaf_grads[i]), is_blamed(name)});
    }
    return rows;
  }

  Json missing() const {
    Json lines = Json::array();
    for (std::size_t i = 0; i < expectation_.events.size() && lines.size() < most_events; ++i) {
      if (expectation_.events[i].required && evidence_.events[i] == unmatched)
        lines.push_back(in_words(scenario_, expectation_.events[i].event));
    }
    return lines;
  }

  bool is_bad(const Bar& bar, const std::set<std::size_t>& surplus) const {
    if (surplus.contains(bar.event)) return true;
    const Event& event = outcome_.events[bar.event];
    return is_blamed(describe_subject(scenario_, event.kind, event.subject));
  }

  void add_timeline(Json& json) const {
    const Timeline timeline = make_timeline(scenario_, outcome_, most_events);
    const std::set<std::size_t> surplus(evidence_.surplus_events.begin(),
                                        evidence_.surplus_events.end());
    json["lanes"] = json["bars"] = json["arrows"] = Json::array();
    for (const Lane& lane : timeline.lanes)
      json["lanes"].push_back({lane.kind == Lane::Kind::thread ? "thread" : "stream", lane.name});
    for (const Bar& bar : timeline.bars) {
      json["bars"].push_back({bar.lane, bar.begin, bar.end, bar.depth, to_text(bar.kind), bar.name,
                              bar.detail, is_bad(bar, surplus)});
    }
    for (const Arrow& arrow : timeline.arrows) {
      json["arrows"].push_back(
          {arrow.from_lane, arrow.from_time, arrow.to_lane, arrow.to_time, arrow.reason});
    }
    json["shown"] = timeline.length;
    json["events"] = timeline.events;
  }

  Json state() const {
    Json lines = Json::array();
    if (outcome_.state.live_objects != 0)
      lines.push_back(fmt::format("{} objects still alive", outcome_.state.live_objects));
    for (const std::string& change : outcome_.state.state_changes) lines.push_back(change);
    for (const UnorderedAccess& unordered : outcome_.state.unordered_accesses)
      lines.push_back(describe(unordered));
    return lines;
  }

  const Scenario& scenario_;
  const Expectation& expectation_;
  const Outcome& outcome_;
  const std::vector<Finding>& findings_;
  Evidence evidence_;
};

}  // namespace

Json case_drawing(const Scenario& scenario, const Expectation& expectation) {
  Json drawing = Drawing(scenario, expectation).draw();
  drawing["program"] = ProgramLines(scenario).take();
  return drawing;
}

Json case_evidence(const Scenario& scenario, const Expectation& expectation, const Outcome& outcome,
                   const std::vector<Finding>& findings) {
  return EvidenceView(scenario, expectation, outcome, findings).view();
}

}  // namespace gradcts
