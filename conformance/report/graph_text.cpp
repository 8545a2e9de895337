#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "conformance/report/graph.h"
#include "conformance/report/words.h"

namespace gradcts {
namespace {

// How the drawing refers to a node or a leaf: the leaves are numbered after the nodes, as
// accumulators.
using Vertex = NodeId;
constexpr Vertex outside = -1;  // a gradient returned by a step or a kept tensor

std::string root_notes(const Scenario& scenario, const std::vector<ValueId>& outputs) {
  std::vector<std::string> notes;
  for_each_step(scenario, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    if (!pass) return;
    const bool is_root = std::ranges::any_of(pass->roots, [&](const Root& root) {
      return std::ranges::find(outputs, root.value) != outputs.end();
    });
    if (is_root) notes.push_back(step_name(scenario, step.id));
  });
  return notes.empty() ? "" : fmt::format("  <- root of {}", fmt::join(notes, ", "));
}

class TextDrawing {
 public:
  TextDrawing(const Scenario& scenario, std::size_t line_limit)
      : scenario_(scenario),
        line_limit_(line_limit),
        users_(vertex_count()),
        drawn_(vertex_count()) {
    for (const Node& node : scenario.nodes) {
      for (const Vertex input : distinct_inputs(node)) {
        if (input != outside) ++users_[index(input)];
      }
    }
  }

  std::string draw() {
    for (Vertex v = static_cast<Vertex>(vertex_count()) - 1; v >= 0; --v) {
      if (users_[index(v)] == 0) draw_vertex(v, "", "");
    }
    if (left_out_ > 0) text_ += fmt::format("... and {} not drawn\n", counted(left_out_, "line"));
    return std::move(text_);
  }

 private:
  static std::size_t index(Vertex v) { return static_cast<std::size_t>(v); }
  std::size_t vertex_count() const { return scenario_.nodes.size() + scenario_.leaves.size(); }
  const Node& node(Vertex v) const { return scenario_.nodes[index(v)]; }

  Vertex source(ValueId value) const {
    const Value& v = scenario_.values[index(value)];
    if (v.origin == Value::Origin::leaf) return accumulator_of(scenario_, v.producer);
    return v.origin == Value::Origin::node_output ? v.producer : outside;
  }

  std::vector<Vertex> distinct_inputs(const Node& node) const {
    std::vector<Vertex> vertices;
    for (const ValueId value : node.inputs) {
      const Vertex v = source(value);
      if (std::ranges::find(vertices, v) == vertices.end()) vertices.push_back(v);
    }
    return vertices;
  }

  void line(const std::string& text) {
    if (lines_ < line_limit_) {
      text_ += text + "\n";
      ++lines_;
    } else {
      ++left_out_;
    }
  }

  // One line for each input, repeated inputs included: they are edges of their own.
  void draw_vertex(Vertex v, const std::string& lead, const std::string& indent) {
    if (lines_ >= line_limit_) {
      ++left_out_;
      return;
    }
    const bool again = drawn_[index(v)];
    drawn_[index(v)] = true;
    line(lead + (again ? name(v) + " (above)" : title(v)));
    if (!again && !is_accumulator(scenario_, v)) draw_inputs(v, indent);
  }

  void draw_inputs(Vertex v, const std::string& indent) {
    const Vertex end = end_of_chain(v);
    if (end != v) {
      line(fmt::format("{}⋮  a chain of {} from {} to {}", indent, counted(chain_length_, "node"),
                       name(distinct_inputs(node(v)).front()), name(end)));
      v = end;
      drawn_[index(v)] = true;
    }
    const auto& inputs = node(v).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool last = i + 1 == inputs.size();
      draw_input(inputs[i], indent + (last ? "└─ " : "├─ "), indent + (last ? "   " : "│  "));
    }
  }

  void draw_input(ValueId value, const std::string& lead, const std::string& indent) {
    const Vertex v = source(value);
    if (v == outside) {
      line(lead + scenario_.values[index(value)].name + " (made by a step)");
    } else {
      draw_vertex(v, lead + port(value, v), indent);
    }
  }

  // Which of several outputs the edge starts from.
  std::string port(ValueId value, Vertex v) const {
    const bool several = !is_accumulator(scenario_, v) && node(v).outputs.size() > 1;
    return several ? fmt::format("[{}] of ", scenario_.values[index(value)].name) : "";
  }

  // The last of the plain single-input nodes below `v` when there are many of them, else `v`.
  Vertex end_of_chain(Vertex v) {
    constexpr std::size_t least = 6;
    chain_length_ = 0;
    Vertex end = v;
    for (Vertex next = only_input(v); is_link(next); next = only_input(next)) {
      end = next;
      ++chain_length_;
    }
    return chain_length_ >= least ? end : v;
  }

  Vertex only_input(Vertex v) const {
    return node(v).inputs.size() == 1 ? source(node(v).inputs.front()) : outside;
  }

  bool is_link(Vertex v) const {
    return v != outside && !is_accumulator(scenario_, v) && !drawn_[index(v)] &&
           users_[index(v)] == 1 && node(v).inputs.size() == 1 && notes(v).empty();
  }

  std::string name(Vertex v) const {
    if (!is_accumulator(scenario_, v)) return node(v).name;
    const Leaf& leaf = scenario_.leaves[index(leaf_of(scenario_, v))];
    return scenario_.values[index(leaf.value)].name;
  }

  std::string title(Vertex v) const {
    return (is_accumulator(scenario_, v) ? leaf_title(v) : node_title(v)) + notes(v);
  }

  std::string leaf_title(Vertex v) const {
    const Leaf& leaf = scenario_.leaves[index(leaf_of(scenario_, v))];
    return fmt::format("{} leaf {}{}", name(v), to_text(leaf.initial),
                       leaf.requires_grad ? "" : " (requires no gradient)");
  }

  std::string node_title(Vertex v) const {
    std::vector<std::string> outputs;
    for (const ValueId value : node(v).outputs)
      outputs.push_back(scenario_.values[index(value)].name);
    const bool plain = outputs.size() == 1 && outputs.front() == node(v).name;
    return fmt::format("{} = {}{}", node(v).name, in_words(scenario_, node(v)),
                       plain ? "" : fmt::format(" -> {}", fmt::join(outputs, ", ")));
  }

  std::vector<ValueId> outputs(Vertex v) const {
    if (!is_accumulator(scenario_, v)) return node(v).outputs;
    return {scenario_.leaves[index(leaf_of(scenario_, v))].value};
  }

  std::string notes(Vertex v) const {
    std::string text;
    const auto own = outputs(v);
    for (const Hook& hook : scenario_.hooks) {
      const bool here = hook.node == v || std::ranges::any_of(hook.values, [&](ValueId value) {
                          return std::ranges::find(own, value) != own.end();
                        });
      if (here) text += fmt::format("  [{} {}]", in_words(hook.kind), hook.name);
    }
    return text + root_notes(scenario_, own);
  }

  const Scenario& scenario_;
  std::size_t line_limit_;
  std::vector<int> users_;
  std::vector<bool> drawn_;
  std::string text_;
  std::size_t lines_ = 0, left_out_ = 0, chain_length_ = 0;
};

}  // namespace

std::string graph_text(const Scenario& scenario, std::size_t line_limit) {
  return TextDrawing(scenario, line_limit).draw();
}

}  // namespace gradcts
