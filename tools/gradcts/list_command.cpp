#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/report/json_lines.h"
#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/selection.h"
#include "conformance/runner/worker_process.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/operations.h"
#include "conformance/spec/spec.h"
#include "tools/gradcts/command.h"

namespace gradcts {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct ListFlags {
  bool scenarios = false, clauses = false, engines = false;
  bool operations = false, features = false, dialects = false, reports = false;
  bool json = false;
  std::string suites;
  std::vector<std::string> patterns;
};

// A list in both its forms.
struct List {
  Json json = Json::array();
  Rows rows;
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

List list_scenarios(const ListFlags& options) {
  const auto suites = load_suites_or_wrong_use(options.suites);
  Selection selection;
  selection.patterns = options.patterns;
  List list;
  for (const std::size_t i : select(suites->pointers(), selection)) {
    const PlannedScenario& planned = suites->scenarios()[i];
    const Scenario& scenario = *planned.scenario;
    list.json.push_back({{"id", scenario.id},
                         {"title", scenario.title},
                         {"hash", planned.hash},
                         {"clauses", scenario.clauses},
                         {"reports", scenario.reports},
                         {"features", required_features(scenario)},
                         {"nodes", scenario.nodes.size()},
                         {"file", planned.file}});
    list.rows.push_back({scenario.id, joined(scenario.clauses), scenario.title});
  }
  return list;
}

List list_clauses(const ListFlags& options) {
  const auto suites = load_suites_or_wrong_use(options.suites);
  std::map<std::string, std::vector<std::string>> scenarios;  // clause to ids
  for (const PlannedScenario& planned : suites->scenarios()) {
    for (const std::string& clause : planned.scenario->clauses) {
      scenarios[clause].push_back(planned.scenario->id);
    }
  }
  std::map<std::string, Json> proofs;  // clause to what breaks it and who notices
  for (const Proof& proof : all_proofs()) {
    proofs[proof.clause].push_back({{"mutant", proof.mutant}, {"scenario", proof.scenario}});
  }
  List list;
  list.rows.push_back({"clause", "level", "scenarios", "proofs", "text"});
  for (const Clause& clause : all_clauses()) {
    const std::vector<std::string>& ids = scenarios[clause.id];
    list.json.push_back({{"id", clause.id},
                         {"area", clause.area},
                         {"level", clause.level},
                         {"text", clause.text},
                         {"alternatives", clause.alternatives},
                         {"reports", clause.reports},
                         {"scenarios", ids},
                         {"proofs", proofs.emplace(clause.id, Json::array()).first->second},
                         {"unproven", clause.unproven}});
    list.rows.push_back({clause.id, clause.level, std::to_string(ids.size()),
                         std::to_string(proofs[clause.id].size()), clause.text});
  }
  return list;
}

// Reports that a clause or a scenario cites, with the clauses that cite it and the scenarios that
// come from it.
List list_reports(const ListFlags& options) {
  struct Report {
    std::vector<std::string> clauses;
    std::vector<std::string> scenarios;
  };
  std::map<std::string, Report> reports;
  for (const Clause& clause : all_clauses()) {
    for (const std::string& report : clause.reports) reports[report].clauses.push_back(clause.id);
  }
  const auto suites = load_suites_or_wrong_use(options.suites);
  for (const PlannedScenario& planned : suites->scenarios()) {
    for (const std::string& report : planned.scenario->reports) {
      reports[report].scenarios.push_back(planned.scenario->id);
    }
  }
  List list;
  list.rows.push_back({"report", "scenarios", "clauses"});
  for (const auto& [id, report] : reports) {
    list.json.push_back({{"id", id}, {"clauses", report.clauses}, {"scenarios", report.scenarios}});
    list.rows.push_back({id, std::to_string(report.scenarios.size()), joined(report.clauses)});
  }
  return list;
}

// An engine that cannot describe itself is listed with the reason.
void add_engine(List& list, const EngineFile& engine) {
  Json json = {{"id", engine.name}, {"path", engine.path}};
  try {
    WorkerOptions options;
    options.engine_path = engine.path;
    WorkerProcess worker(options);
    const Description& description = worker.description();
    json["version"] = description.version;
    json["dialect"] = description.dialect;
    json["choices"] = description.choices;
    json["features"] = description.features;
    list.rows.push_back({engine.name, description.version, description.dialect, engine.path});
    worker.close();
  } catch (const std::exception& problem) {
    json["problem"] = problem.what();
    list.rows.push_back({engine.name, "-", "-", fmt::format("cannot be used: {}", problem.what())});
  }
  list.json.push_back(std::move(json));
}

List list_engines() {
  List list;
  list.rows.push_back({"engine", "version", "dialect", "library"});
  for (const EngineFile& engine : all_engines()) add_engine(list, engine);
  return list;
}

std::string range_text(int least, int most) {
  if (most < 0) return fmt::format("{} or more", least);
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

List list_operations() {
  List list;
  list.rows.push_back({"operation", "inputs", "outputs", "attributes", "meaning"});
  for (const OperationSpec& operation : all_operations()) {
    std::vector<std::string> attributes;
    for (const AttributeSpec& attribute : operation.attributes) {
      attributes.push_back(fmt::format("{}{}", attribute.name, attribute.required ? "" : "?"));
    }
    const std::string outputs = operation.outputs < 0 ? "any" : std::to_string(operation.outputs);
    list.json.push_back({{"id", operation.name},
                         {"least_inputs", operation.least_inputs},
                         {"most_inputs", operation.most_inputs},
                         {"outputs", operation.outputs},
                         {"in_place", operation.in_place},
                         {"makes_view", operation.makes_view},
                         {"attributes", attributes},
                         {"meaning", operation.meaning}});
    list.rows.push_back({std::string(operation.name),
                         range_text(operation.least_inputs, operation.most_inputs), outputs,
                         joined(attributes), std::string(operation.meaning)});
  }
  return list;
}

List list_features() {
  List list;
  for (const FeatureSpec& feature : all_features()) {
    list.json.push_back({{"id", feature.name}, {"meaning", feature.meaning}});
    list.rows.push_back({std::string(feature.name), std::string(feature.meaning)});
  }
  return list;
}

List list_dialects() {
  List list;
  for (const Dialect& dialect : all_dialects()) {
    list.json.push_back({{"id", dialect.name}, {"choices", dialect.choices}});
    std::vector<std::string> choices;
    for (const auto& [clause, choice] : dialect.choices) choices.push_back(clause + "=" + choice);
    list.rows.push_back({dialect.name, joined(choices)});
  }
  return list;
}

List chosen_list(const ListFlags& options) {
  if (options.clauses) return list_clauses(options);
  if (options.reports) return list_reports(options);
  if (options.engines) return list_engines();
  if (options.operations) return list_operations();
  if (options.features) return list_features();
  if (options.dialects) return list_dialects();
  return list_scenarios(options);
}

int show_list(const ListFlags& options) {
  const List list = chosen_list(options);
  print(options.json ? list.json.dump(2) + "\n" : table_text(list.rows));
  return as_expected;
}

}  // namespace

void add_list_command(CLI::App& program, int& status) {
  CLI::App& command = *program.add_subcommand("list", "List scenarios, clauses, engines and words");
  const auto options = std::make_shared<ListFlags>();
  auto* what = command.add_option_group("What", "What to list (default: scenarios)");
  what->add_flag("--scenarios", options->scenarios, "Scenarios, with the clauses that they test");
  what->add_flag("--clauses", options->clauses,
                 "Clauses, with the numbers of their scenarios and of their proofs: known mistakes "
                 "that these scenarios notice");
  what->add_flag("--reports", options->reports,
                 "Public reports, with their clauses and the number of their scenarios");
  what->add_flag("--engines", options->engines,
                 "Engines that are found, and what they say of themselves");
  what->add_flag("--operations", options->operations, "Operations that a node may have");
  what->add_flag("--features", options->features, "Features that an engine may claim");
  what->add_flag("--dialects", options->dialects,
                 "Dialects, with their choices where clauses leave one");
  what->require_option(0, 1);
  command.add_flag("--json", options->json, "As a JSON array of objects, each with its `id`");
  add_suites_option(command, options->suites);
  command
      .add_option("patterns", options->patterns,
                  "With --scenarios: only these, as for `gradcts run`")
      ->type_name("PATTERN");
  command.footer(
      "Examples:\n"
      "  gradcts list root                                 # the scenarios below root\n"
      "  gradcts list --engines                            # engines that are found\n"
      "  gradcts list --clauses --json");
  command.callback([options, &status] { status = show_list(*options); });
}

}  // namespace gradcts
