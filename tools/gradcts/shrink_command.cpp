#include <fmt/format.h>

#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json.h"
#include "fuzz/emit.h"
#include "fuzz/outside.h"
#include "tools/gradcts/command.h"
#include "tools/gradcts/interrupt.h"
#include "tools/gradcts/known_option.h"

namespace gradcts {
namespace {

struct ShrinkFlags {
  std::string target, engine = "reference", suites, out, known, as = "json", dialect = "reference";
  double timeout = 10;
  std::size_t tries = 3000;
};

int shrink(const ShrinkFlags& options) {
  const Chosen chosen = choose_scenario(options.target, options.suites);
  if (!options.out.empty()) or_wrong_use([&] { check_writable(options.out); });
  fuzz::OutsideEngine engine(options.engine, milliseconds(options.timeout),
                             known_findings(options.known, options.engine));
  const std::atomic<bool>& stop = stop_when_interrupted();
  const fuzz::Shrunk shrunk = fuzz::shrink(
      *chosen.planned.scenario,
      // Once it is interrupted nothing fails any more, and the smallest so far is left.
      [&](const Scenario& scenario) { return stop ? "" : engine.failure_of(scenario); },
      options.tries);
  if (stop && (shrunk.flaky || shrunk.failure.empty())) {
    throw std::runtime_error("interrupted before anything was known of how it fails");
  }
  if (shrunk.failure.empty()) {
    throw WrongUse(
        fmt::format("{} does not fail on {}: nothing to shrink", options.target, options.engine));
  }
  const std::string json = write_scenario(shrunk.scenario).dump(2) + "\n";
  if (options.out.empty()) print(json);
  if (!options.out.empty()) write_file(options.out, json);
  std::fflush(stdout);
  std::fputs(fmt::format("{}: {}, size {} from {}, {} runs{}\n", options.target,
                         fuzz::clause_of(shrunk.failure), fuzz::size_of(shrunk.scenario),
                         fuzz::size_of(*chosen.planned.scenario), shrunk.tries,
                         shrunk.flaky ? "; flaky, so it was left as it is" : "")
                 .c_str(),
             stderr);
  if (stop) throw std::runtime_error("interrupted; what was written is the smallest so far");
  return shrunk.flaky ? not_as_expected : as_expected;
}

int emit(const ShrinkFlags& options) {
  const Chosen chosen = choose_scenario(options.target, options.suites);
  const Scenario& scenario = *chosen.planned.scenario;
  std::string text = write_scenario(scenario).dump(2) + "\n";
  if (options.as == "gtest") text = fuzz::as_gtest(scenario);
  if (options.as == "python")
    text = or_wrong_use([&] { return fuzz::as_python(scenario, options.dialect); });
  if (options.out.empty()) print(text);
  if (!options.out.empty()) or_wrong_use([&] { write_file(options.out, text); });
  return as_expected;
}

std::shared_ptr<ShrinkFlags> add_common(CLI::App& command) {
  const auto options = std::make_shared<ShrinkFlags>();
  add_scenario_argument(command, options->target);
  command.add_option("--out", options->out, "File to write (default: standard output)")
      ->type_name("FILE");
  add_suites_option(command, options->suites);
  return options;
}

}  // namespace

void add_shrink_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("shrink", "Make a failing scenario as small as it can be");
  const auto options = add_common(command);
  add_engine_option(command, options->engine);
  add_timeout_option(command, options->timeout, "one run");
  add_known_option(command, options->known);
  command.add_option("--tries", options->tries, "Most runs of the engine (default 3000)")
      ->type_name("N")
      ->check(counting_number());
  command.footer("Example:\n  gradcts shrink found/HOOK-4.json --engine libtorch --out small.json");
  command.callback([options, &status] { status = shrink(*options); });
}

void add_emit_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("emit", "Write a scenario as a reproducer that stands alone");
  const auto options = add_common(command);
  command.add_option("--as", options->as, "json (default), gtest or python")
      ->check(CLI::IsMember({"json", "gtest", "python"}));
  command.add_option("--dialect", options->dialect, "python: what is right (default: reference)");
  command.footer("Example:\n  gradcts emit small.json --as python --out reproduce.py");
  command.callback([options, &status] { status = emit(*options); });
}

}  // namespace gradcts
