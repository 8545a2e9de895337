#include <fmt/format.h>

#include "conformance/adapters/reference/compiled_adapter.h"
#include "conformance/report/explain.h"
#include "conformance/report/graph.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/json.h"
#include "tools/gradcts/command.h"

namespace gradcts {
namespace {

struct ShowFlags {
  std::string target;
  std::string suites;
  std::string svg;
  std::string dialect = "reference";
  bool json = false;
  bool dot = false;
  bool compiled = false;
};

int show(const ShowFlags& options) {
  const Chosen chosen = choose_scenario(options.target, options.suites);
  const Scenario& scenario = *chosen.planned.scenario;
  if (!options.svg.empty()) {
    or_wrong_use([&] { write_graph_svg(scenario, options.svg); });
    return as_expected;
  }
  if (options.json) {
    print(write_scenario(scenario).dump(2) + "\n");
  } else if (options.dot) {
    print(graph_dot(scenario));
  } else if (options.compiled) {
    print(programs_of(std::make_shared<const Scenario>(scenario)));
  } else {
    const Dialect dialect = or_wrong_use([&] { return make_dialect(options.dialect); });
    print(explain(scenario, expect_safely(scenario, dialect)));
  }
  return as_expected;
}

}  // namespace

void add_show_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("show", "Explain a scenario: its graph, its program, what is right");
  const auto options = std::make_shared<ShowFlags>();
  add_scenario_argument(command, options->target);
  add_suites_option(command, options->suites);
  auto* form = command.add_option_group("Form", "How to show it (default: in words)");
  form->add_flag("--json", options->json, "The plain scenario as JSON, templates filled in");
  form->add_flag("--dot", options->dot, "The graph for Graphviz");
  form->add_option("--svg", options->svg, "The graph as a picture (needs Graphviz' dot)")
      ->type_name("FILE");
  form->add_flag(
      "--compiled", options->compiled,
      "The programs that the reference engine makes of its passes, and why each was made");
  form->require_option(0, 1);
  command
      .add_option("--dialect", options->dialect,
                  "What is right in this dialect (default: reference)")
      ->type_name("NAME");
  command.footer(
      "Examples:\n"
      "  gradcts show root/leaf/below-another-root/x-first\n"
      "  gradcts show root/leaf/below-another-root/x-first --svg graph.svg\n"
      "  gradcts show my-scenario.json --json              # templates filled in\n"
      "  gradcts show comp/same/hooks --compiled");
  command.callback([options, &status] { status = show(*options); });
}

}  // namespace gradcts
