// Engines that are programs, for real: what a program does wrong on the pipe is a verdict, and the
// run goes on. The program is testing/lying_program.py; the main function is that of
// worker_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "conformance/runner/adapter_library.h"
#include "conformance/runner/testing/trial.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Plan;
using testing::Trial;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

RunOptions program_options(const std::string& program, std::chrono::milliseconds timeout = 60s) {
  RunOptions options;
  options.worker.engine_path = program;
  options.worker.timeout = timeout;
  return options;
}

Trial run_between_lies(const std::string& id, std::chrono::milliseconds timeout = 60s) {
  return Trial(Plan{"lie/before", id, "lie/after"},
               program_options(GRADCTS_LYING_PROGRAM, timeout));
}

// A program of these lines.
class Script {
 public:
  explicit Script(const std::string& text) {
    std::ofstream(path()) << text;
    chmod(path().c_str(), 0755);
  }
  std::string path() const { return (folder_ / "engine").string(); }
  std::string trouble() const {
    try {
      WorkerProcess worker(program_options(path()).worker);
    } catch (const UnusableEngine& problem) {
      return problem.what();
    }
    return "no trouble";
  }

 private:
  TestFolder folder_;
};

TEST(Program, ARightOnePasses) {
  const Trial run(Plan{"lie/a", "lie/b"}, program_options(GRADCTS_LYING_PROGRAM));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "pass"));
  EXPECT_THAT(run.summary.problems, IsEmpty());
  EXPECT_EQ(run.summary.exit_status(), 0);
}

TEST(Program, AWrongAnswerFails) {
  const Trial run = run_between_lies("lie/wrong");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "fail", "pass"));
  EXPECT_EQ(run.summary.exit_status(), 1);
}

TEST(Program, ACrashShowsWhatItPrinted) {
  const Trial run = run_between_lies("lie/exit");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run.verdict(1).detail,
              AllOf(HasSubstr("ended its process with status 3 while it ran lie/exit"),
                    HasSubstr("the request before was lie/before"), HasSubstr("| last words")));
  EXPECT_THAT(run_between_lies("lie/signal").verdict(1).detail, HasSubstr("SIGSEGV"));
}

TEST(Program, AHangShowsItsStacks) {
  const Trial run = run_between_lies("lie/hang", 300ms);
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "hang", "pass"));
  EXPECT_THAT(run.verdict(1).detail,
              AllOf(HasSubstr("no answer within 0.3 s while it ran lie/hang"),
                    HasSubstr("in wait_for_ever")));
}

TEST(Program, OneThatDoesNotListenIsEnded) {
  EXPECT_THAT(run_between_lies("lie/deaf", 300ms).verdicts(), ElementsAre("pass", "hang", "pass"));
}

TEST(Program, GarbageIsNoAnswer) {
  const Trial run = run_between_lies("lie/garbage");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "error", "pass"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("the answer is not JSON"));
  EXPECT_EQ(run.summary.exit_status(), 3);
  EXPECT_THAT(run_between_lies("lie/bytes").verdict(1).detail, HasSubstr("the answer is not JSON"));
  EXPECT_THAT(run_between_lies("lie/list").verdict(1).detail,
              HasSubstr("the answer has no number"));
  EXPECT_THAT(run_between_lies("lie/empty").verdict(1).detail,
              HasSubstr("neither 'outcome' nor 'failure'"));
}

TEST(Program, APartOfALineIsNoAnswer) {
  EXPECT_THAT(run_between_lies("lie/partial-and-exit").verdicts(),
              ElementsAre("pass", "crash", "pass"));
  EXPECT_THAT(run_between_lies("lie/partial-and-hang", 300ms).verdicts(),
              ElementsAre("pass", "hang", "pass"));
}

TEST(Program, AnAnswerInPiecesIsOne) {
  EXPECT_THAT(run_between_lies("lie/pieces").verdicts(), ElementsAre("pass", "pass", "pass"));
}

TEST(Program, AnotherNumberIsNoAnswer) {
  const Trial run = run_between_lies("lie/number");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "error", "pass"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("answers the wrong request"));
}

TEST(Program, ASecondAnswerIsNoAnswerToTheNextRequest) {
  const Trial run = run_between_lies("lie/twice");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "pass", "error"));
  EXPECT_THAT(run.verdict(2).detail, HasSubstr("answers the wrong request"));
}

TEST(Program, AnotherScenariosOutcomeIsNoAnswer) {
  EXPECT_THAT(run_between_lies("lie/other").verdict(1).detail, HasSubstr("the answer is for"));
}

TEST(Program, ARefusalIsAnErrorWithItsReason) {
  const Trial run = run_between_lies("lie/refuse");
  EXPECT_THAT(run.verdicts(), ElementsAre("pass", "error", "pass"));
  EXPECT_THAT(run.verdict(1).detail, HasSubstr("not today"));
}

TEST(Program, OneThatStaysAfterTheEndIsAProblem) {
  const Trial run(Plan{"lie/exit-badly"}, program_options(GRADCTS_LYING_PROGRAM));
  EXPECT_THAT(run.verdicts(), ElementsAre("pass"));
  ASSERT_EQ(run.summary.problems.size(), 1u);
  EXPECT_THAT(run.summary.problems[0].text, HasSubstr("status 7"));
}

// An adapter that sees scripted nodes alone is asked, and judged, by these.
TEST(Program, IsNotAskedForWhatItCannotSee) {
  const Trial run(Plan{"lie/unseen"}, program_options(GRADCTS_LYING_PROGRAM));
  EXPECT_THAT(run.verdicts(), ElementsAre("fail"));
  setenv("LYING_TRACE", "scripted", 1);
  const Trial blind(Plan{"lie/unseen"}, program_options(GRADCTS_LYING_PROGRAM));
  unsetenv("LYING_TRACE");
  EXPECT_THAT(blind.verdicts(), ElementsAre("pass"));
}

TEST(Program, OneThatCannotStartSaysWhy) {
  EXPECT_THAT(Script("#!/no/such/interpreter\n").trouble(),
              AllOf(HasSubstr("does not start"), HasSubstr("No such file"), HasSubstr("#!")));
  EXPECT_THAT(Script("no first line\n").trouble(), HasSubstr("Exec format error"));
  EXPECT_THAT(
      Script("#!/bin/sh\necho trouble >&2; exit 5\n").trouble(),
      AllOf(HasSubstr("ended its process with status 5 while it loaded"), HasSubstr("| trouble")));
  EXPECT_THAT(Script("#!/bin/sh\nread line; echo '{}'\n").trouble(), HasSubstr("has no number"));
}

// A shell can speak the protocol: the number comes back, whatever it is.
TEST(Program, AnotherProtocolIsRefused) {
  const Script old(
      "#!/bin/sh\nread line; number=${line#*:}; number=${number%%,*}\n"
      "echo \"{\\\"answer\\\": $number, \\\"hello\\\": \\\"gradcts.worker/0\\\", "
      "\\\"description\\\": {}}\"\n");
  EXPECT_THAT(old.trouble(), HasSubstr("the worker speaks 'gradcts.worker/0'"));
}

}  // namespace
}  // namespace gradcts
