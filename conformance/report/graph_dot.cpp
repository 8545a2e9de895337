#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "conformance/report/graph.h"
#include "conformance/report/index.h"
#include "conformance/report/words.h"
#include "conformance/scenario/file_text.h"

extern char** environ;

namespace gradcts {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') result += "\\n";
    if (c != '\n') result += c;
  }
  return result + "\"";
}

std::string vertex(const Scenario& scenario, NodeId node) {
  return is_accumulator(scenario, node) ? fmt::format("leaf{}", leaf_of(scenario, node))
                                        : fmt::format("node{}", node);
}

// The vertex that a value comes from; values that steps make are vertices of their own.
std::string source(const Scenario& scenario, ValueId value) {
  const Value& v = scenario.values[index(value)];
  if (v.origin == Value::Origin::leaf) return fmt::format("leaf{}", v.producer);
  if (v.origin == Value::Origin::node_output) return fmt::format("node{}", v.producer);
  return fmt::format("value{}", value);
}

std::string leaves_dot(const Scenario& scenario) {
  std::string dot;
  for (std::size_t i = 0; i < scenario.leaves.size(); ++i) {
    const Leaf& leaf = scenario.leaves[i];
    const std::string label =
        fmt::format("{}\n{}", scenario.values[index(leaf.value)].name, to_text(leaf.initial));
    dot += fmt::format("  leaf{} [shape=ellipse, style={}, label={}];\n", i,
                       leaf.requires_grad ? "solid" : "dashed", in_quotes(label));
  }
  return dot;
}

std::string nodes_dot(const Scenario& scenario) {
  std::string dot;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    const Node& node = scenario.nodes[i];
    const std::string label = fmt::format("{}\n{}", node.name, in_words(scenario, node));
    dot += fmt::format("  node{} [shape=box, label={}];\n", i, in_quotes(label));
  }
  return dot;
}

std::string edges_dot(const Scenario& scenario) {
  std::string dot;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    const auto& inputs = scenario.nodes[i].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::string from = source(scenario, inputs[k]);
      const std::string& name = scenario.values[index(inputs[k])].name;
      if (from.starts_with("value")) {
        dot +=
            fmt::format("  {} [shape=ellipse, style=dotted, label={}];\n", from, in_quotes(name));
      }
      dot += fmt::format("  node{} -> {} [label={}];\n", i, from,
                         in_quotes(inputs.size() > 1 ? fmt::format("{}: {}", k, name) : name));
    }
  }
  return dot;
}

std::string hooks_dot(const Scenario& scenario) {
  std::string dot;
  for (std::size_t i = 0; i < scenario.hooks.size(); ++i) {
    const Hook& hook = scenario.hooks[i];
    if (hook.values.empty() && hook.node == no_id) continue;
    dot += fmt::format("  hook{} [shape=note, fontsize=10, label={}];\n", i,
                       in_quotes(fmt::format("{}\n{}", hook.name, in_words(hook.kind))));
    if (hook.node != no_id) {
      dot += fmt::format("  hook{} -> {} [style=dashed, arrowhead=none];\n", i,
                         vertex(scenario, hook.node));
    }
    for (const ValueId value : hook.values) {
      dot += fmt::format("  hook{} -> {} [style=dashed, arrowhead=none];\n", i,
                         source(scenario, value));
    }
  }
  return dot;
}

std::string roots_dot(const Scenario& scenario) {
  std::string dot;
  for_each_step(scenario, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    if (!pass) return;
    dot += fmt::format("  step{} [shape=plaintext, label={}];\n", step.id,
                       in_quotes(step_name(scenario, step.id)));
    for (const Root& root : pass->roots) {
      dot += fmt::format("  step{} -> {} [style=bold];\n", step.id, source(scenario, root.value));
    }
  });
  return dot;
}

// ------------------------------------------------------------------------------------------------
// Graphviz

void feed(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

// Runs `dot -Tsvg -oFILE` with the text as its input; its exit status, or -1 when it does not
// start.
int run_dot(const std::string& text, const std::string& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  std::string output = "-o" + file;
  char name[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {name, format, output.data(), nullptr};
  pid_t process = -1;
  const int failure = posix_spawnp(&process, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  const auto old = std::signal(SIGPIPE, SIG_IGN);  // a dot that stops reading tells by its status
  if (failure == 0) feed(ends[1], text);
  std::signal(SIGPIPE, old);
  close(ends[1]);
  int status = 0;
  if (failure != 0 || waitpid(process, &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

std::string graph_dot(const Scenario& scenario) {
  return fmt::format(
      "digraph {} {{\n"
      "  label={}; labelloc=t; fontname=\"sans-serif\";\n"
      "  node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=9];\n"
      "{}{}{}{}{}}}\n",
      in_quotes(scenario.id), in_quotes(fmt::format("{}\n{}", scenario.id, scenario.title)),
      leaves_dot(scenario), nodes_dot(scenario), edges_dot(scenario), hooks_dot(scenario),
      roots_dot(scenario));
}

void write_graph_svg(const Scenario& scenario, const std::string& file) {
  check_writable(file);
  const int status = run_dot(graph_dot(scenario), file);
  if (status == -1 || status == 127) {
    throw std::runtime_error("an SVG needs Graphviz: its command 'dot' is not installed");
  }
  if (status != 0) {
    throw std::runtime_error(fmt::format("{}: 'dot' failed with status {}", file, status));
  }
}

}  // namespace gradcts
