#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "conformance/explore/search/chance.h"
#include "conformance/explore/search/explore.h"
#include "conformance/explore/search/shrink_schedule.h"
#include "conformance/report/console.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/words.h"
#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json.h"
#include "fuzz/shrink.h"
#include "tools/gradcts/command.h"
#include "tools/gradcts/interrupt.h"

namespace gradcts {
namespace {

struct ExploreFlags {
  std::string target;
  std::string engine = "reference";
  std::string suites;
  std::string strategy = "exhaustive";
  std::optional<std::uint32_t> bound;
  std::optional<std::uint64_t> schedules;
  double seconds = 0;
  std::uint64_t seed = 0;
  std::optional<std::string> schedule;
  std::uint32_t spurious = 0;
  std::uint64_t step_bound = 20'000;
  double timeout = 60;
  std::string frontier;
  std::string small;
};

constexpr std::uint64_t default_samples = 10'000;
// For a smaller scenario, even if the first schedule of the one that was found fails.
constexpr std::uint64_t least_samples = 20;
constexpr std::uint64_t samples_of_a_crash = 1'000;  // it leaves the count of the last progress
// Of smaller scenarios, at most.
constexpr std::size_t most_explorations = 3'000;

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string number_of(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

class ExploreCommand {
 public:
  explicit ExploreCommand(ExploreFlags options) : options_(std::move(options)) {}

  ExitStatus run() {
    const Chosen chosen = choose_scenario(options_.target, options_.suites);
    planned_ = chosen.planned;
    refuse_forks();
    engine_ = find_engine_to_explore(options_.engine);
    fill_request();
    Exploration exploration = explore_all();
    save_frontier(exploration.answer);
    if (exploration.failed() && !options_.small.empty()) exploration = shrink_scenario(exploration);
    if (exploration.failed()) show_failure(exploration);
    print(conclusion(exploration));
    if (stop_ && !exploration.failed()) throw std::runtime_error(interrupted_in_words());
    return exploration.failed() ? not_as_expected : as_expected;
  }

 private:
  const std::string& id() const { return planned_.scenario->id; }

  void refuse_forks() const {
    for_each_step(*planned_.scenario, [&](const Step& step) {
      if (!std::holds_alternative<ForkStep>(step.action)) return;
      throw WrongUse(fmt::format("{}: forks, and a child process has no schedule", id()));
    });
  }

  Exploration explore_all() {
    const Exploration exploration = explore(
        engine_, request_, [this](const ExploreCounts& c) { show_progress(c); },
        milliseconds(options_.timeout), &stop_);
    clear_progress();
    if (exploration.answer.kind == ExploreAnswer::Kind::unusable) {
      throw std::runtime_error(fmt::format("{}: {}", id(), exploration.answer.text));
    }
    return exploration;
  }

  void fill_request() {
    for (const std::string& file : {options_.frontier, options_.small}) {
      if (!file.empty()) or_wrong_use([&] { check_writable(file); });
    }
    const bool searches = options_.strategy == "exhaustive";
    request_.engine = engine_.path;
    request_.scenario = write_scenario(*planned_.scenario);
    request_.strategy = options_.schedule ? "replay" : options_.strategy;
    request_.schedule = options_.schedule.value_or("");
    request_.bound = options_.bound.value_or(options_.strategy == "pct" ? 3 : 2);
    request_.schedules = options_.schedules.value_or(searches ? 0 : default_samples);
    request_.seconds = options_.seconds;
    request_.seed = options_.seed;
    request_.spurious = options_.spurious;
    request_.step_bound = options_.step_bound;
    request_.keeps_frontier = !options_.frontier.empty();
    std::error_code ignored;
    if (request_.keeps_frontier && std::filesystem::exists(options_.frontier, ignored)) {
      request_.frontier = or_wrong_use([&] { return read_file(options_.frontier); });
    }
  }

  // ---- Progress ----

  void show_progress(const ExploreCounts& counts) {
    std::string line = number_of(counts.schedules, "schedule");
    if (request_.strategy == "exhaustive") {
      line +=
          fmt::format(", {} open, complete to {}", with_commas(counts.open), counts.complete_to);
    }
    show_progress(line);
  }

  void show_progress(const std::string& line) {
    if (isatty(STDERR_FILENO) == 0) return;
    std::fputs(fmt::format("\r\033[K{}: {}", id(), line).c_str(), stderr);
    shown_ = true;
  }

  void clear_progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

  void save_frontier(const ExploreAnswer& answer) const {
    if (options_.frontier.empty()) return;
    const bool all_taken = answer.kind == ExploreAnswer::Kind::ended && answer.counts.open == 0;
    if (all_taken) std::filesystem::remove(options_.frontier);
    if (!answer.frontier.empty()) write_file(options_.frontier, answer.frontier);
  }

  std::string interrupted_in_words() const {
    return options_.frontier.empty()
               ? "interrupted; with `--frontier FILE` what is open would have been kept"
               : fmt::format("interrupted; what is open is in {}", options_.frontier);
  }

  // ---- A failure ----

  // What is wrong, as for any other run of the scenario.
  Verdict verdict_of(const Exploration& exploration) {
    if (!exploration.crash.empty()) return {VerdictKind::crash, {}, exploration.crash};
    if (exploration.answer.how != "outcome") {
      return {VerdictKind::hang, {}, exploration.answer.text};
    }
    WorkerAnswer answer;
    answer.kind = WorkerAnswer::Kind::outcome;
    answer.content = exploration.answer.outcome;
    return judge(*planned_.scenario, expectation(), answer).verdict;
  }

  const Expectation& expectation() {
    if (!expectation_) {
      const AdapterLibrary library(find_engine_to_explore(options_.engine).path);
      const Description engine = read_description(parse_json(library.describe().text));
      expectation_ = expect_safely(*planned_.scenario, engine.make_dialect());
    }
    return *expectation_;
  }

  // Of one kind, and by the same clause.
  std::string signature(const Exploration& exploration) {
    const Verdict verdict = verdict_of(exploration);
    std::string text = exploration.crash.empty() ? exploration.answer.how : "crash";
    if (!verdict.findings.empty()) text += " " + verdict.findings.front().clause;
    return text;
  }

  void show_failure(const Exploration& found) {
    Exploration shown = found;
    if (found.crash.empty() && !options_.schedule) {
      const std::string wanted = signature(found);
      shown = shrink_exploration(engine_, request_, found, [&](const Exploration& other) {
        return other.crash.empty() && signature(other) == wanted;
      });
    }
    ScenarioResult result;
    result.planned = planned_;
    result.verdict = verdict_of(shown);
    result.standing.as_expected = false;
    print(failure_text(result, replay_command(shown), paint_for(stdout)));
    if (!shown.crash.empty()) return;
    const std::size_t before = switches_in(found.answer.schedule);
    const std::size_t after = switches_in(shown.answer.schedule);
    print(fmt::format("  schedule\n    {} ({} {}{})\n", shown.answer.schedule, after,
                      after == 1 ? "switch" : "switches",
                      after < before ? fmt::format(", {} before it was shrunk", before) : ""));
  }

  std::string replay_command(const Exploration& shown) const {
    std::string command = fmt::format("gradcts explore {} --engine {}", shell_word(options_.target),
                                      shell_word(options_.engine));
    if (!options_.suites.empty()) command += " --suites " + shell_word(options_.suites);
    return command + " " +
           (shown.crash.empty() ? "--schedule " + shell_word(shown.answer.schedule) : shown.taking);
  }

  // ---- A smaller scenario ----

  void take(const Scenario& scenario) {
    smaller_ = scenario;
    planned_.scenario = &smaller_;
    expectation_.reset();
    request_.scenario = write_scenario(scenario);
  }

  // How the first schedule fails that does; empty where none does.
  std::string failure_of(const Scenario& scenario) {
    take(scenario);
    const Exploration exploration = explore(
        engine_, request_, [](const ExploreCounts&) {}, milliseconds(options_.timeout), &stop_);
    show_progress("making the scenario smaller");
    return exploration.failed() ? signature(exploration) : "";
  }

  // A smaller scenario counts when one of about as many schedules as it took, chosen in the same
  // way, fails alike. Its failure takes the place of the one that was found.
  Exploration shrink_scenario(const Exploration& found) {
    const std::size_t size = fuzz::size_of(*planned_.scenario);
    request_.schedules =
        found.answer.counts.schedules + (found.crash.empty() ? least_samples : samples_of_a_crash);
    request_.keeps_frontier = false;
    const fuzz::Shrunk shrunk = fuzz::shrink(
        *planned_.scenario,
        [&](const Scenario& candidate) { return stop_ ? "" : failure_of(candidate); },
        most_explorations,
        /*runs=*/1);
    clear_progress();
    take(shrunk.scenario);
    write_file(options_.small, write_scenario(shrunk.scenario).dump(2) + "\n");
    if (stop_) throw std::runtime_error("interrupted; what was written is the smallest so far");
    options_.target = options_.small;
    options_.suites.clear();
    print(fmt::format("{}: size {} from {}, {} runs of up to {}, in {}\n", id(),
                      fuzz::size_of(shrunk.scenario), size, shrunk.tries,
                      number_of(request_.schedules, "schedule"), options_.small));
    Exploration again = explore_all();
    if (again.failed()) return again;
    throw std::runtime_error(
        fmt::format("{}: failed, and then not, under the same schedules: threads outside control "
                    "have a part in it",
                    id()));
  }

  // ---- The last lines ----

  std::string conclusion(const Exploration& exploration) const {
    const ExploreCounts& counts = exploration.answer.counts;
    if (!exploration.crash.empty()) return fmt::format("{}: crash\n", id());
    std::string text = fmt::format("{}: {}", id(), number_of(counts.schedules, "schedule"));
    if (request_.strategy == "exhaustive") text += search_in_words(counts);
    if (request_.strategy != "exhaustive" && request_.strategy != "replay") {
      text += fmt::format(" ({}, seeds from {})", request_.strategy, request_.seed);
    }
    if (counts.meanings > 0 && counts.schedules > 1) {
      text += ", " + number_of(counts.meanings, "meaning");
    }
    if (counts.outside > 0) {
      text += fmt::format(", {} with threads outside control", with_commas(counts.outside));
    }
    if (counts.schedules > 1 && counts.seconds > 0) {
      text += fmt::format(", {:.1f} s ({} a second)", counts.seconds,
                          with_commas(static_cast<std::uint64_t>(
                              static_cast<double>(counts.schedules) / counts.seconds)));
    }
    text += exploration.failed() ? fmt::format(": FAILED ({})\n", exploration.answer.how)
                                 : std::string(": none fails\n");
    const bool sampled = request_.strategy != "exhaustive" && request_.strategy != "replay";
    if (sampled && !exploration.failed()) {
      text += chance_in_words(request_.strategy, counts.schedules, counts.most_threads,
                              counts.most_steps, request_.bound, counts.seen_once);
    }
    return text;
  }

  std::string search_in_words(const ExploreCounts& counts) const {
    std::string what = fmt::format("at most {} preemptions", request_.bound);
    if (request_.spurious > 0) what += fmt::format(", {} spurious", request_.spurious);
    if (counts.open == 0) return fmt::format(" (exhaustive, {}: all taken)", what);
    const std::string complete = counts.complete_to < 0
                                     ? "nothing complete"
                                     : fmt::format("complete to {}", counts.complete_to);
    return fmt::format(" (exhaustive, {}: {}, {} open)", what, complete, with_commas(counts.open));
  }

  ExploreFlags options_;
  PlannedScenario planned_;
  EngineToExplore engine_;
  ExploreRequest request_;
  std::optional<Expectation> expectation_;
  bool shown_ = false;
  const std::atomic<bool>& stop_ = stop_when_interrupted();
  Scenario smaller_;
};

}  // namespace

void add_explore_command(CLI::App& program, int& status) {
  CLI::App& command = *program.add_subcommand(
      "explore", "Run one scenario under many schedules of its threads, chosen one by one");
  const auto options = std::make_shared<ExploreFlags>();
  add_scenario_argument(command, options->target);
  add_engine_option(command, options->engine);
  add_suites_option(command, options->suites);
  command
      .add_option("--strategy", options->strategy,
                  "exhaustive (default), pct, pos or random; see docs/schedules.md")
      ->check(CLI::IsMember({"exhaustive", "pct", "pos", "random"}))
      ->type_name("NAME");
  command
      .add_option(
          "--bound", options->bound,
          "Most preemptions of a schedule (exhaustive, default 2), or orderings that a fault "
          "may need (pct, default 3)")
      ->type_name("K")
      ->check(CLI::Range(0, 100));
  command
      .add_option("--schedules", options->schedules,
                  "Take at most N (default: all, or 10000 of those that are sampled)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command.add_option("--time", options->seconds, "Begin no schedule after so many seconds")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 10'000'000));
  command.add_option("--seed", options->seed, "Seed of the first schedule (default 0)")
      ->type_name("S")
      ->check(counting_number());
  command
      .add_option("--schedule", options->schedule,
                  "Take this schedule and no other, as a failure has shown it")
      ->type_name("TEXT");
  command
      .add_option("--spurious", options->spurious,
                  "Up to N waits of a schedule end by themselves: without a signal, or by their "
                  "time-out (default 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000));
  command
      .add_option("--step-bound", options->step_bound,
                  "Steps after which a schedule counts as one that never ends (default 20000)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000));
  command
      .add_option("--frontier", options->frontier,
                  "Exhaustive: keep what is open in this file, and go on from it if it is there")
      ->type_name("FILE");
  command
      .add_option("--shrink", options->small,
                  "When a schedule fails, make the scenario small too, and write it to this file")
      ->type_name("FILE")
      ->excludes("--schedule");
  add_timeout_option(command, options->timeout, "one schedule");
  command.footer(
      "Example:\n  gradcts explore thread/callers/own-graphs/2 --strategy pos --schedules "
      "1000");
  command.callback([options, &status] { status = ExploreCommand(*options).run(); });
}

}  // namespace gradcts
