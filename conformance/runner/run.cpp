#include "conformance/runner/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "conformance/runner/adapter_library.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// ------------------------------------------------------------------------------------------------
// One scenario

// The first line in which two fingerprints differ, for the finding.
Finding difference(const std::string& first, const std::string& later, int run) {
  std::istringstream a(first), b(later);
  std::string left, right;
  int line = 0;
  do {
    ++line;
    if (!std::getline(a, left)) left = "(end)";
    if (!std::getline(b, right)) right = "(end)";
  } while (left == right && left != "(end)");
  const auto trimmed = [](const std::string& text) {
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  };
  return {"DET-1", fmt::format("run {} of the same scenario (line {} of the outcome)", run, line),
          trimmed(left), trimmed(right)};
}

Finding other_verdict(const Verdict& first, const Verdict& later, int run) {
  return {"DET-1", fmt::format("run {} of the same scenario", run),
          std::string(to_text(first.kind)), std::string(to_text(later.kind))};
}

class ScenarioRun {
 public:
  ScenarioRun(const PlannedScenario& planned, std::unique_ptr<WorkerProcess>& worker,
              const RunOptions& options)
      : scenario_(*planned.scenario), worker_(worker), options_(options) {
    result_.planned = planned;
  }

  ScenarioResult run() {
    const Clock::time_point start = Clock::now();
    if (!worker_) start_worker();
    result_.missing_features =
        missing_features(required_features(scenario_), worker_->description().features);
    if (result_.missing_features.empty()) execute();
    if (!result_.missing_features.empty()) be_unsupported();
    result_.seconds = seconds_since(start);
    result_.standing = compare(options_.expectations, scenario_.id, result_.verdict, result_.flaky);
    return std::move(result_);
  }

 private:
  void be_unsupported() {
    result_.verdict.kind = VerdictKind::unsupported;
    for (const std::string& feature : result_.missing_features) {
      result_.verdict.detail += (result_.verdict.detail.empty() ? "" : " ") + feature;
    }
  }

  void execute() {
    if (worker_->description().trace == Trace::scripted) {
      seen_ = scenario_;
      seen_->trace = Trace::scripted;
    }
    request_ = write_scenario(asked()).dump();
    Judgement first = once();
    result_.verdict = std::move(first.verdict);
    result_.outcome = std::move(first.outcome);
    for (int i = 2; i <= options_.repeat && !result_.flaky; ++i) compare_repeat(once(), i);
  }

  // The scenario as far as the adapter can see what happens in it.
  const Scenario& asked() const { return seen_ ? *seen_ : scenario_; }

  void start_worker() { worker_ = std::make_unique<WorkerProcess>(options_.worker); }

  Judgement once() {
    const bool alone = needs_own_worker(scenario_);
    if (!worker_ || (alone && !worker_->is_fresh())) start_worker();
    worker_->send(request_, scenario_.id);
    if (!expectation_) {
      expectation_ = expect_safely(asked(), worker_->description().make_dialect());
    }
    Judgement judgement = judge(asked(), *expectation_, worker_->receive());
    if (!worker_->alive()) {
      bury(judgement.verdict, worker_->obituary());
    } else if (alone) {
      bury(judgement.verdict, worker_->close());
    }
    return judgement;
  }

  // A worker that answered and died right after died of this scenario.
  void bury(Verdict& verdict, const std::string& trouble) {
    const bool answered = verdict.kind == VerdictKind::pass || verdict.kind == VerdictKind::fail;
    if (answered && !trouble.empty()) {
      verdict = {VerdictKind::crash, {}, fmt::format("after it had answered: {}", trouble)};
    }
    worker_.reset();
  }

  void compare_repeat(const Judgement& repeat, int run) {
    if (repeat.verdict.kind != result_.verdict.kind) {
      be_flaky(other_verdict(result_.verdict, repeat.verdict, run));
    } else if (repeat.outcome && result_.outcome) {
      const std::string first = fingerprint(asked(), *expectation_, *result_.outcome);
      const std::string later = fingerprint(asked(), *expectation_, *repeat.outcome);
      if (first != later) be_flaky(difference(first, later, run));
    }
  }

  void be_flaky(Finding finding) {
    result_.flaky = true;
    result_.verdict.kind = VerdictKind::fail;
    result_.verdict.findings.insert(result_.verdict.findings.begin(), std::move(finding));
  }

  const Scenario& scenario_;
  std::unique_ptr<WorkerProcess>& worker_;
  const RunOptions& options_;
  ScenarioResult result_;
  std::optional<Scenario> seen_;
  std::string request_;
  std::optional<Expectation> expectation_;
};

// ------------------------------------------------------------------------------------------------
// All of them

// Gives out scenarios to threads and passes results on in order.
class Schedule {
 public:
  Schedule(std::span<const PlannedScenario> scenarios, std::span<Reporter* const> reporters,
           const RunOptions& options)
      : scenarios_(scenarios),
        reporters_(reporters),
        stop_(options.stop),
        max_failures_(options.max_failures),
        results_(scenarios.size()) {}

  // Nothing when there is no more, the run was stopped, or enough was not as expected.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    if (stop_ && *stop_) summary_.interrupted = true;
    if (summary_.interrupted || next_ == scenarios_.size() || enough_failed()) return std::nullopt;
    for (Reporter* reporter : reporters_) {
      reporter->on_progress(scenarios_[next_].scenario->id, done_);
    }
    return next_++;
  }

  void finish(std::size_t index, ScenarioResult result) {
    const std::lock_guard lock(mutex_);
    ++done_;
    failed_ += !result.standing.as_expected;
    results_[index] = std::move(result);
    for (; told_ < results_.size() && results_[told_]; ++told_) tell(*results_[told_]);
  }

  void add_problem(RunProblem problem) {
    const std::lock_guard lock(mutex_);
    summary_.problems.push_back(std::move(problem));
  }

  // The run cannot go on; what it has so far is still told.
  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    summary_.interrupted = true;
    summary_.problems.push_back({"", reason});
  }

  RunSummary summary() { return std::move(summary_); }

 private:
  bool enough_failed() const { return max_failures_ > 0 && failed_ >= max_failures_; }

  void tell(ScenarioResult& result) {
    ++summary_.counts[result.verdict.kind];
    summary_.expected_failures += result.standing.expected_failure;
    summary_.unexpected_passes += result.standing.unexpected_pass;
    summary_.flaky += result.flaky;
    summary_.not_as_expected += !result.standing.as_expected;
    summary_.errors_not_as_expected +=
        !result.standing.as_expected && result.verdict.kind == VerdictKind::error;
    for (Reporter* reporter : reporters_) reporter->on_result(result);
    result.outcome.reset();  // outcomes of a large suite would fill the memory
  }

  std::mutex mutex_;
  std::span<const PlannedScenario> scenarios_;
  std::span<Reporter* const> reporters_;
  const std::atomic<bool>* stop_;
  const std::size_t max_failures_;
  std::vector<std::optional<ScenarioResult>> results_;
  std::size_t next_ = 0, done_ = 0, told_ = 0, failed_ = 0;
  RunSummary summary_;
};

// One thread's share of a run: a worker, and batches of scenarios on it.
class Lane {
 public:
  Lane(Schedule& schedule, std::span<const PlannedScenario> scenarios, const RunOptions& options,
       std::unique_ptr<WorkerProcess> worker)
      : schedule_(schedule), scenarios_(scenarios), options_(options), worker_(std::move(worker)) {}

  void run() {
    try {
      while (const auto index = schedule_.next()) run_one(*index);
      let_worker_go();
    } catch (const std::exception& problem) {
      schedule_.fail(problem.what());
    }
  }

 private:
  void run_one(std::size_t index) {
    if (needs_own_worker(*scenarios_[index].scenario)) let_worker_go();
    if (!worker_) worker_ = std::make_unique<WorkerProcess>(options_.worker);
    const pid_t before = worker_->process();
    ScenarioResult result = run_scenario(scenarios_[index], worker_, options_);
    if (worker_ && worker_->process() == before) {
      remember(index, result.verdict);
    } else {
      start_batch();  // a fresh worker has seen nothing yet
    }
    schedule_.finish(index, std::move(result));
    if (run_in_batch_ >= batch_size) end_batch();
  }

  void remember(std::size_t index, const Verdict& verdict) {
    ++run_in_batch_;
    const bool wanted = verdict.kind == VerdictKind::pass && to_repeat_.size() < repeats_of_a_batch;
    if (wanted) to_repeat_.push_back(index);
  }

  void start_batch() {
    run_in_batch_ = 0;
    to_repeat_.clear();
  }

  void let_worker_go() {
    end_batch();
    if (worker_ && !worker_->is_fresh()) end_worker();
  }

  void end_batch() {
    // A worker that just started and ran only these has nothing that could have gone bad.
    if (run_in_batch_ > to_repeat_.size()) {
      for (const std::size_t index : to_repeat_) repeat(scenarios_[index]);
    }
    start_batch();
  }

  void repeat(const PlannedScenario& planned) {
    RunOptions once = options_;
    once.repeat = 1;
    const ScenarioResult again = run_scenario(planned, worker_, once);
    if (again.verdict.kind == VerdictKind::pass) return;
    schedule_.add_problem(
        {planned.scenario->id,
         fmt::format("DET-1: passed at first, and after {} more scenarios on the same worker: {}{}",
                     run_in_batch_, to_text(again.verdict.kind), evidence(again.verdict))});
  }

  static std::string evidence(const Verdict& verdict) {
    if (verdict.findings.empty()) return "\n" + verdict.detail;
    const Finding& finding = verdict.findings.front();
    return fmt::format(" of {}: {}: expected {}, observed {}", finding.clause, finding.where,
                       finding.expected, finding.observed);
  }

  void end_worker() {
    const std::string trouble = worker_->close();
    worker_.reset();
    if (!trouble.empty()) schedule_.add_problem({"", "at the end of a worker: " + trouble});
  }

  Schedule& schedule_;
  std::span<const PlannedScenario> scenarios_;
  const RunOptions& options_;
  std::unique_ptr<WorkerProcess> worker_;
  std::vector<std::size_t> to_repeat_;
  std::size_t run_in_batch_ = 0;
};

// A report that cannot be written takes none of the others with it.
void finish_all(std::span<Reporter* const> reporters, const RunSummary& summary) {
  std::exception_ptr problem;
  for (Reporter* reporter : reporters) {
    try {
      reporter->on_finish(summary);
    } catch (...) {
      if (!problem) problem = std::current_exception();
    }
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace

bool needs_own_worker(const Scenario& scenario) {
  bool needs = false;
  for_each_step(scenario, [&](const Step& step) {
    needs |= std::holds_alternative<EngineStep>(step.action) ||
             std::holds_alternative<ForkStep>(step.action);
  });
  return needs;
}

ScenarioResult run_scenario(const PlannedScenario& planned, std::unique_ptr<WorkerProcess>& worker,
                            const RunOptions& options) {
  return ScenarioRun(planned, worker, options).run();
}

RunSummary run_scenarios(std::span<const PlannedScenario> scenarios, const RunHeader& header,
                         const RunOptions& options, std::unique_ptr<WorkerProcess> first,
                         std::span<Reporter* const> reporters) {
  const Clock::time_point start = Clock::now();
  for (Reporter* reporter : reporters) reporter->on_start(header);
  Schedule schedule(scenarios, reporters, options);
  {
    const std::size_t lanes = std::min<std::size_t>(std::max(options.jobs, 1),
                                                    std::max<std::size_t>(scenarios.size(), 1));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < lanes; ++i) {
      threads.emplace_back([&, worker = i == 0 ? std::move(first) : nullptr]() mutable {
        Lane(schedule, scenarios, options, std::move(worker)).run();
      });
    }
  }
  RunSummary summary = schedule.summary();
  summary.seconds = seconds_since(start);
  finish_all(reporters, summary);
  return summary;
}

}  // namespace gradcts
