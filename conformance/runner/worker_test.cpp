// Workers and runs, for real, with an engine that misbehaves on demand (testing/fake_engine.cpp).
// The test program is its own worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "conformance/runner/adapter_library.h"
#include "conformance/runner/run.h"
#include "conformance/runner/testing/scenarios.h"
#include "conformance/runner/testing/trial.h"
#include "conformance/runner/worker_main.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Plan;
using testing::square;
using testing::Trial;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

#if defined(__SANITIZE_THREAD__)
constexpr bool under_thread_sanitizer = true;
#elif defined(__has_feature)
constexpr bool under_thread_sanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool under_thread_sanitizer = false;
#endif

RunOptions options_for(const std::string& engine, std::chrono::milliseconds timeout = 60s) {
  RunOptions options;
  options.worker.engine_path = std::string(GRADCTS_TEST_ENGINES "/libgradcts-") + engine + ".so";
  options.worker.timeout = timeout;
  return options;
}

// A misbehaving scenario between two good ones: the run must go on.
Trial run_between(const std::string& id, std::chrono::milliseconds timeout = 60s) {
  return Trial(Plan{"fake/before", id, "fake/after"}, options_for("fake", timeout));
}

std::string trouble_with(const std::string& engine) {
  try {
    WorkerProcess worker(options_for(engine).worker);
  } catch (const UnusableEngine& problem) {
    return problem.what();
  }
  return "no trouble";
}

TEST(Worker, RefusesWhatIsNoEngine) {
  EXPECT_THAT(trouble_with("old"),
              HasSubstr("speaks interface version 999; this gradcts speaks 1"));
  EXPECT_THAT(trouble_with("no"), HasSubstr("exports no 'gradcts_adapter'"));
  EXPECT_THAT(trouble_with("missing"), HasSubstr("does not load"));
  EXPECT_EQ(trouble_with("fake"), "no trouble");
}

TEST(Run, ARightEnginePasses) {
  const Trial run(Plan{"fake/a", "fake/b"}, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "pass"));
  EXPECT_EQ(run.summary.exit_status(), 0);
  EXPECT_EQ(run.listener.finished, 1);
}

TEST(Run, ACrashIsAVerdictWithSignalAndStack) {
  const Trial run = run_between("fake/crash/null");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail,
              AllOf(HasSubstr("signal 11 (SIGSEGV) at address 0x0 while it ran fake/crash/null"),
                    HasSubstr("the request before was fake/before"), HasSubstr("crashed"),
                    HasSubstr("libgradcts-fake.so")));
  EXPECT_EQ(run.summary.exit_status(), 1);
}

TEST(Run, ACrashOnAThreadShowsTheMainThreadToo) {
  const Trial run = run_between("fake/crash/thread");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail,
              AllOf(HasSubstr("\"fake-thread\" crashed"), HasSubstr("thread::join")));
}

TEST(Run, AStackOverflowHasAStack) {
  const Trial run = run_between("fake/crash/overflow");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail, AllOf(HasSubstr("SIGSEGV"), HasSubstr("libgradcts-fake.so")));
}

TEST(Run, AnAbortShowsTheEndOfTheOutput) {
  const Trial run = run_between("fake/crash/abort");
  EXPECT_THAT(run.verdict(1).detail,
              AllOf(HasSubstr("SIGABRT"), HasSubstr("    | the last words of the engine"),
                    Not(HasSubstr("{\"answer\":0}"))));
}

TEST(Run, AnEngineThatExitsIsNoEmptyAnswer) {
  const Trial run = run_between("fake/crash/exit");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("ended its process with status 0"));
}

TEST(Run, AKilledWorkerIsNoEmptyAnswer) {
  const Trial run = run_between("fake/crash/killed");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("SIGKILL"));
}

TEST(Run, AHangShowsTheStacksOfAllThreads) {
  const Trial run(Plan{"fake/before", "fake/hang/wait"}, options_for("fake", 300ms));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "hang"));
  EXPECT_THAT(
      run.verdict(1).detail,
      AllOf(HasSubstr("no answer within 0.3 s while it ran fake/hang/wait"),
            HasSubstr("\"fake-thread\""), HasSubstr("wait_for_ever"), HasSubstr("thread::join")));
}

TEST(Run, AnEngineThatGetsOnDoesNotHang) {
  const Trial run(Plan{"fake/slow"}, options_for("fake", 300ms));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass"));
}

TEST(Run, AHangThatSpinsIsSeenAsWell) {
  const Trial run(Plan{"fake/hang/spin"}, options_for("fake", 300ms));
  EXPECT_THAT(run.verdicts(), ElementsAre("hang"));
  EXPECT_THAT(run.verdict(0).detail, HasSubstr("\"gradcts worker\""));
  // ThreadSanitizer holds signals back until a thread blocks: then only its name is known.
  if (!under_thread_sanitizer) {
    EXPECT_THAT(run.verdict(0).detail, HasSubstr("libgradcts-fake.so"));
  }
}

TEST(Run, WhatAKilledWorkerLeavesInItsTemporaryFolderGoes) {
  const TestFolder folder;
  const char* before = getenv("TMPDIR");
  const std::string previous = before ? before : "/tmp";
  setenv("TMPDIR", folder.path().c_str(), 1);
  EXPECT_THAT(run_between("fake/crash/litter").verdicts(), ElementsAre("pass", "crash", "pass"));
  setenv("TMPDIR", previous.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Run, GarbageIsAnErrorOfTheHarness) {
  const Trial run(
      Plan{"fake/garbage/text", "fake/garbage/number", "fake/garbage/outcome", "fake/after"},
      options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("error", "error", "error", "pass"));
  EXPECT_THAT(run.verdict(0).detail, HasSubstr("not JSON"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("not JSON"));
  EXPECT_THAT(run.verdict(2).detail, HasSubstr("malformed"));
  EXPECT_EQ(run.summary.exit_status(), 3);
}

TEST(Run, AnAdapterThatGivesUpIsAnError) {
  const Trial run(Plan{"fake/refuse", "fake/silent", "fake/twice", "fake/lack"},
                  options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("error", "error", "error", "error"));
  EXPECT_THAT(run.verdict(0).detail, HasSubstr("does not feel like it"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("without a reply"));
  EXPECT_THAT(run.verdict(2).detail, HasSubstr("replied 2 times"));
  EXPECT_THAT(run.verdict(3).detail, HasSubstr("claims every feature"));
}

TEST(Run, WhatAnEnginePrintsDoesNoHarm) {
  EXPECT_THAT(run_between("fake/print").verdicts(), ElementsAre("pass", "pass", "pass"));
}

TEST(Run, MissingFeaturesMakeUnsupportedAndNothingRuns) {
  Plan plan{"fake/a"};
  Scenario scenario = square("fake/crash/null");
  scenario.leaves[0].initial.device = {DeviceType::sim, 0};
  plan.add(scenario);
  const Trial run(plan, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "unsupported"));
  EXPECT_THAT(run.listener.results[1].missing_features, ElementsAre("device.sim"));
  EXPECT_EQ(run.summary.executed(), 1u);
}

TEST(Run, ARunThatExecutedNothingFails) {
  EXPECT_EQ(Trial(Plan{}, options_for("fake")).summary.exit_status(), 1);
}

TEST(Run, RepeatsThatDifferAreFlaky) {
  RunOptions options = options_for("fake");
  options.repeat = 3;
  const Trial run(Plan{"fake/steady", "fake/flaky"}, options);
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "fail"));
  EXPECT_TRUE(run.listener.results[1].flaky);
  EXPECT_EQ(run.verdict(1).findings.front().clause, "DET-1");
  EXPECT_EQ(run.summary.flaky, 1u);
}

TEST(Run, AnEngineThatGoesBadHalfWayIsSeen) {
  const Trial run(Plan{"fake/a", "fake/b", "fake/c", "fake/spoil"}, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "pass", "pass", "pass"));
  ASSERT_EQ(run.summary.problems.size(), 3u);
  EXPECT_EQ(run.summary.problems[0].id, "fake/a");
  EXPECT_THAT(run.summary.problems[0].text, AllOf(HasSubstr("DET-1"), HasSubstr("fail")));
  EXPECT_EQ(run.summary.exit_status(), 1);
}

TEST(Run, AWorkerThatEndsBadlyIsAProblem) {
  const Trial run(Plan{"fake/exit-badly"}, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass"));
  ASSERT_EQ(run.summary.problems.size(), 1u);
  EXPECT_THAT(run.summary.problems[0].text, HasSubstr("SIGABRT"));
}

Scenario stopping(const std::string& id) {
  Scenario scenario = square(id);
  scenario.program.emplace_back().action = EngineStep{};
  number_steps(scenario);
  return scenario;
}

TEST(Run, AScenarioThatStopsTheEngineHasAWorkerOfItsOwn) {
  Plan plan{"fake/a"};
  plan.add(stopping("fake/spoil"));
  plan.add(square("fake/b"));
  const Trial run(plan, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "pass", "pass"));
  EXPECT_THAT(run.summary.problems, IsEmpty());
}

TEST(Run, AScenarioWithAWorkerOfItsOwnAnswersForTheEndOfIt) {
  Plan plan{};
  plan.add(stopping("fake/exit-badly"));
  const Trial run(plan, options_for("fake"));
  EXPECT_THAT(run.verdicts(), ElementsAre("crash"));
  EXPECT_THAT(run.verdict(0).detail,
              AllOf(HasSubstr("after it had answered"), HasSubstr("SIGABRT")));
}

TEST(Run, ResultsKeepTheOrderWithSeveralWorkers) {
  Plan plan{};
  for (int i = 0; i < 20; ++i)
    plan.add(square(
        fmt::format("fake/{}{}", i == 3 ? "crash/" : "n", i == 3 ? "null" : std::to_string(i))));
  RunOptions options = options_for("fake");
  options.jobs = 3;
  const Trial run(plan, options);
  ASSERT_EQ(run.listener.results.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(run.listener.results[i].planned.scenario, plan.planned()[i].scenario);
  }
  EXPECT_EQ(run.summary.count(VerdictKind::crash), 1u);
  EXPECT_EQ(run.summary.count(VerdictKind::pass), 19u);
}

TEST(Run, AStopEndsItEarly) {
  const std::atomic<bool> stop{true};
  RunOptions options = options_for("fake");
  options.stop = &stop;
  const Trial run(Plan{"fake/a", "fake/b"}, options);
  EXPECT_THAT(run.verdicts(), IsEmpty());
  EXPECT_TRUE(run.summary.interrupted);
  EXPECT_EQ(run.summary.exit_status(), 3);
}

TEST(Run, EnoughFailuresEndItEarly) {
  RunOptions options = options_for("fake");
  options.max_failures = 1;
  const Trial run(Plan{"fake/before", "fake/crash/null", "fake/after"}, options);
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash"));
  EXPECT_FALSE(run.summary.interrupted);
  EXPECT_EQ(run.summary.exit_status(), 1);
}

TEST(Run, ExpectationsApply) {
  RunOptions options = options_for("fake");
  options.expectations = read_expectations(parse_json(
      R"({"schema": "gradcts.expectations/1", "expectations": [
          {"id": "fake/crash/null", "verdict": "crash", "clause": "ACC-1", "reason": "known"},
          {"id": "fake/a", "verdict": "fail", "clause": "ACC-1", "reason": "was known"}]})"));
  const Trial run(Plan{"fake/a", "fake/crash/null"}, options);
  EXPECT_TRUE(run.listener.results[0].standing.unexpected_pass);
  EXPECT_TRUE(run.listener.results[1].standing.expected_failure);
  EXPECT_EQ(run.summary.not_as_expected, 1u);
}

}  // namespace
}  // namespace gradcts

int main(int argc, char** argv) {
  if (gradcts::is_worker_call(argc, argv)) return gradcts::worker_main(argc, argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
