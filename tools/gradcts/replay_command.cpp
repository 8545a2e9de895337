#include <fmt/format.h>

#include <filesystem>

#include "conformance/report/console.h"
#include "conformance/report/explain.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/records.h"
#include "conformance/report/trace.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/run.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json.h"
#include "tools/gradcts/command.h"

namespace gradcts {
namespace {

struct ReplayFlags {
  std::string target;
  std::string engine = "reference";
  std::string suites;
  std::string outcome;
  std::string trace;
  std::string dialect;
  double timeout = 10;
  int repeat = 1;
};

ExitStatus status_of(VerdictKind verdict) {
  if (verdict == VerdictKind::pass) return as_expected;
  return verdict == VerdictKind::error ? cannot_work : not_as_expected;
}

std::string pass_text(const ScenarioResult& result) {
  return fmt::format("PASS {}\n{}", result.planned.scenario->id,
                     wrapped(result.planned.scenario->title, "  "));
}

void write_files(const ReplayFlags& options, const ScenarioResult& result) {
  for (const std::string& file : {options.outcome, options.trace}) {
    if (!file.empty() && !result.outcome)
      throw std::runtime_error(fmt::format("{}: not written: the engine gave no outcome", file));
  }
  const Scenario& scenario = *result.planned.scenario;
  if (!options.outcome.empty())
    write_file(options.outcome, write_outcome(*result.outcome, scenario).dump(2) + "\n");
  if (!options.trace.empty()) {
    const Json trace = trace_json(scenario, make_timeline(scenario, *result.outcome));
    write_file(options.trace, json_line(trace) + "\n");
  }
}

int replay(const ReplayFlags& options) {
  if (!options.dialect.empty()) or_wrong_use([&] { return make_dialect(options.dialect); });
  const Chosen chosen = choose_scenario(options.target, options.suites);
  for (const std::string& file : {options.outcome, options.trace}) {
    if (!file.empty()) or_wrong_use([&] { check_writable(file); });
  }
  RunOptions run_options;
  run_options.worker.engine_path = find_engine(options.engine).path;
  run_options.worker.dialect = options.dialect;
  run_options.worker.timeout = milliseconds(options.timeout);
  run_options.repeat = options.repeat;
  auto worker = std::make_unique<WorkerProcess>(run_options.worker);
  RunHeader header;
  header.engine_argument = options.engine;
  // A scenario that was given as a file is found again only in that file.
  header.suites =
      std::filesystem::is_regular_file(options.target) ? options.target : options.suites;
  header.suites_given = !header.suites.empty();
  header.dialect = options.dialect;
  header.timeout = run_options.worker.timeout;
  const ScenarioResult result = run_scenario(chosen.planned, worker, run_options);
  const bool pass = result.verdict.kind == VerdictKind::pass;
  print(pass ? pass_text(result) : failure_text(result, header, paint_for(stdout)));
  if (result.outcome) print(explain(*result.planned.scenario, *result.outcome));
  write_files(options, result);
  return status_of(result.verdict.kind);
}

}  // namespace

void add_replay_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("replay", "Run one scenario and show all that happened");
  const auto options = std::make_shared<ReplayFlags>();
  add_scenario_argument(command, options->target);
  add_engine_option(command, options->engine);
  add_suites_option(command, options->suites);
  command.add_option("--outcome", options->outcome, "Also write the outcome as JSON")
      ->type_name("FILE");
  command
      .add_option("--trace", options->trace,
                  "Also write what happened as a trace for Perfetto or chrome://tracing")
      ->type_name("FILE");
  add_dialect_option(command, options->dialect);
  add_timeout_option(command, options->timeout, "one run");
  add_repeat_option(command, options->repeat);
  command.footer(
      "Examples:\n"
      "  gradcts replay root/leaf/below-another-root/x-first --engine libtorch\n"
      "  gradcts replay stream/waits/producers/s1-s2-s1 --trace trace.json   # open it at "
      "https://ui.perfetto.dev\n"
      "  gradcts replay my-scenario.json --engine path/to/libmy-engine.so --outcome outcome.json");
  command.callback([options, &status] { status = replay(*options); });
}

}  // namespace gradcts
