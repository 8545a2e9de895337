#include <fmt/format.h>

#include <csignal>
#include <cstdio>

#include "conformance/report/console.h"
#include "conformance/report/json_lines.h"
#include "conformance/report/junit.h"
#include "conformance/report/page.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/run.h"
#include "conformance/runner/selection.h"
#include "tools/gradcts/command.h"
#include "tools/gradcts/interrupt.h"

namespace gradcts {
namespace {

struct RunFlags {
  std::string engine = "reference";
  std::string suites;
  std::string shard;
  std::string expect;
  std::string dialect;
  bool no_expect = false;
  bool quiet = false;
  double timeout = 10;
  int jobs = 1;
  int repeat = 1;
  std::size_t max_failures = 0;
  std::vector<std::string> reports;
  Selection selection;
};

class RunCommand {
 public:
  explicit RunCommand(RunFlags options) : options_(std::move(options)) {}

  int run() {
    check_flags();
    suites_ = load_suites_or_wrong_use(options_.suites);
    choose();
    open_reports();
    const EngineFile engine = find_engine(options_.engine);
    run_options_.worker.engine_path = engine.path;
    run_options_.worker.dialect = options_.dialect;
    run_options_.worker.timeout = milliseconds(options_.timeout);
    auto first = std::make_unique<WorkerProcess>(run_options_.worker);
    fill_header(first->description());
    return execute(std::move(first));
  }

 private:
  void check_flags() {
    or_wrong_use([&] {
      if (!options_.dialect.empty()) make_dialect(options_.dialect);
      if (!options_.shard.empty()) options_.selection.shard = read_shard(options_.shard);
      for (const std::string& clause : options_.selection.clauses) check_clause(clause);
    });
  }

  void choose() {
    const auto pointers = suites_->pointers();
    for (const std::size_t i : select(pointers, options_.selection)) {
      chosen_.push_back(suites_->scenarios()[i]);
    }
    dead_patterns_ = dead_patterns(pointers, options_.selection);
  }

  void open_reports() {
    or_wrong_use([&] {
      for (const std::string& report : options_.reports) open_report(report);
    });
    ConsoleReporter::Options console = console_options(stdout);
    console.quiet = options_.quiet;
    console_ = std::make_unique<ConsoleReporter>(stdout, console);
    reporters_.push_back(console_.get());
    for (const auto& reporter : files_) reporters_.push_back(reporter.get());
  }

  void open_report(const std::string& report) {
    const std::size_t equals = report.find('=');
    const std::string kind = report.substr(0, equals);
    const std::string file = equals == std::string::npos ? "" : report.substr(equals + 1);
    if (file.empty() || (kind != "junit" && kind != "json" && kind != "html")) {
      throw WrongUse(
          fmt::format("--report '{}': expected junit=FILE, json=FILE or html=FILE", report));
    }
    if (kind == "junit") files_.push_back(std::make_unique<JUnitReporter>(file));
    if (kind == "json") files_.push_back(std::make_unique<JsonLinesReporter>(file));
    if (kind == "html") files_.push_back(std::make_unique<HtmlReporter>(file));
  }

  void load_expectations_for(const std::string& engine) {
    header_.expectations = options_.expect;
    if (options_.expect.empty() && !options_.no_expect) {
      header_.expectations = default_expectations(header_.suites, engine).value_or("");
    }
    if (header_.expectations.empty()) return;
    or_wrong_use([&] {
      run_options_.expectations = load_expectations(header_.expectations);
      std::vector<ScenarioName> names;
      for (const auto& planned : suites_->scenarios())
        names.push_back({planned.scenario->id, planned.hash});
      const auto stale = stale_entries(run_options_.expectations, names);
      if (!stale.empty())
        throw WrongUse(fmt::format("{}: {}", header_.expectations, stale.front()));
    });
    header_.expectation_count = run_options_.expectations.size();
  }

  void fill_header(const Description& engine) {
    header_.engine = engine;
    header_.engine_argument = options_.engine;
    header_.suites = find_suites(options_.suites);
    header_.suites_given = !options_.suites.empty();
    header_.dialect = options_.dialect;
    header_.scenario_count = chosen_.size();
    header_.suite_size = suites_->scenarios().size();
    header_.shard = options_.shard;
    header_.jobs = options_.jobs;
    header_.repeat = options_.repeat;
    header_.timeout = run_options_.worker.timeout;
    load_expectations_for(engine.name);
  }

  int execute(std::unique_ptr<WorkerProcess> first) {
    run_options_.jobs = options_.jobs;
    run_options_.repeat = options_.repeat;
    run_options_.max_failures = options_.max_failures;
    run_options_.stop = &stop_when_interrupted();
    // Whoever reads the console may leave (`| head`); the reports are still to be written. A handler,
    // and not SIG_IGN, which engines would inherit.
    if (!files_.empty()) std::signal(SIGPIPE, [](int) {});
    const RunSummary summary =
        run_scenarios(chosen_, header_, run_options_, std::move(first), reporters_);
    std::fflush(stdout);
    for (const std::string& pattern : dead_patterns_) {
      std::fputs(fmt::format("gradcts: no scenario matches '{}'\n", pattern).c_str(), stderr);
    }
    const bool missed = !dead_patterns_.empty() && summary.exit_status() == as_expected;
    return missed ? not_as_expected : summary.exit_status();
  }

  RunFlags options_;
  std::unique_ptr<SuiteFolder> suites_;
  std::vector<PlannedScenario> chosen_;
  std::vector<std::string> dead_patterns_;
  std::unique_ptr<ConsoleReporter> console_;
  std::vector<std::unique_ptr<Reporter>> files_;
  std::vector<Reporter*> reporters_;
  RunOptions run_options_;
  RunHeader header_;
};

void add_selection_options(CLI::App& command, RunFlags& options) {
  Selection& selection = options.selection;
  command
      .add_option("patterns", selection.patterns,
                  "Scenarios: globs over ids; a prefix selects all below it")
      ->type_name("PATTERN");
  command.add_option("--skip", selection.skip, "Leave out what matches (may be repeated)")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command
      .add_option("--clause", selection.clauses,
                  "Only scenarios that test this clause or area (may be repeated)")
      ->type_name("ID")
      ->allow_extra_args(false);
  command
      .add_option("--shard", options.shard,
                  "Part I of N: of the selected scenarios in order of their ids, every N-th")
      ->type_name("I/N");
}

void add_run_options(CLI::App& command, RunFlags& options) {
  command.add_option("-j,--jobs", options.jobs, "Workers at a time (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 128));
  add_dialect_option(command, options.dialect);
  add_timeout_option(command, options.timeout, "one scenario");
  add_repeat_option(command, options.repeat);
  command
      .add_option("--max-failures", options.max_failures,
                  "Start no further scenario after N that were not as expected (default: run all)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  auto* expect =
      command.add_option("--expect", options.expect, "Expected failures (gradcts.expectations/1)")
          ->type_name("FILE");
  command
      .add_flag("--no-expect", options.no_expect,
                "Not even those that are kept beside the suites for known engines")
      ->excludes(expect);
}

void add_output_options(CLI::App& command, RunFlags& options) {
  command
      .add_option("--report", options.reports,
                  "Also write junit=FILE, json=FILE or html=FILE (may be repeated)")
      ->type_name("KIND=FILE")
      ->allow_extra_args(false);
  command.add_flag("-q,--quiet", options.quiet,
                   "Print only what is not as expected: nothing when all is");
}

}  // namespace

void add_run_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("run", "Run scenarios on an engine and judge what it does");
  const auto options = std::make_shared<RunFlags>();
  add_engine_option(command, options->engine);
  add_suites_option(command, options->suites);
  add_selection_options(command, *options);
  add_run_options(command, *options);
  add_output_options(command, *options);
  command.footer(
      "Examples:\n"
      "  gradcts run                                       # everything, on the reference engine\n"
      "  gradcts run root topo --engine libtorch -j 2 --report junit=report.xml\n"
      "  gradcts run --clause STREAM --engine path/to/libmy-engine.so --report html=report.html\n"
      "  gradcts run --quiet --repeat 10 thread reent      # says nothing unless something is "
      "wrong");
  command.callback([options, &status] { status = RunCommand(*options).run(); });
}

}  // namespace gradcts
