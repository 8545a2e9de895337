#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "conformance/report/console.h"
#include "conformance/report/explain.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/graph.h"
#include "conformance/report/json_lines.h"
#include "conformance/report/junit.h"
#include "conformance/report/words.h"
#include "conformance/runner/judge.h"
#include "conformance/runner/testing/scenarios.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::square;

Scenario two_roots() {
  return read_scenario(parse_json(R"({
    "schema": "gradcts.scenario/1", "id": "root/two", "title": "Two roots", "clauses": ["ROOT-2"],
    "leaves": [{"name": "x", "value": 2}],
    "nodes": [{"name": "y", "op": "mul", "inputs": ["x", "x"]},
              {"name": "z", "op": "power", "inputs": ["y"], "exponent": 3}],
    "hooks": [{"name": "h", "kind": "tensor", "on": "y", "returns": [10]}],
    "program": [{"do": "forward"},
                {"do": "backward", "roots": [{"value": "y", "seed": 5}, {"value": "z", "seed": 3}]},
                {"do": "read", "grads": ["x"]}]})"));
}

std::string chain_json(int length) {
  std::string nodes;
  for (int i = 1; i <= length; ++i) {
    nodes += fmt::format(R"({}{{"name": "f{}", "op": "neg", "inputs": ["{}"]}})", i > 1 ? "," : "",
                         i, i > 1 ? fmt::format("f{}", i - 1) : "x");
  }
  return fmt::format(R"({{"schema": "gradcts.scenario/1", "id": "topo/chain", "title": "chain",
      "clauses": ["TOPO-1"], "leaves": [{{"name": "x", "value": 2}}], "nodes": [{}],
      "program": [{{"do": "forward"}}]}})",
                     nodes);
}

// Many nodes on one leaf, and one that takes them all.
std::string fan_json(int width) {
  std::string nodes, names;
  for (int i = 1; i <= width; ++i) {
    nodes += fmt::format(R"({{"name": "f{}", "op": "neg", "inputs": ["x"]}},)", i);
    names += fmt::format(R"({}"f{}")", i > 1 ? "," : "", i);
  }
  return fmt::format(R"({{"schema": "gradcts.scenario/1", "id": "topo/fan", "title": "fan",
      "clauses": ["TOPO-1", "ROOT-2"], "leaves": [{{"name": "x", "value": 2}}],
      "nodes": [{} {{"name": "top", "op": "custom", "inputs": [{}]}}], "program": [{{"do": "forward"}}]}})",
                     nodes, names);
}

TEST(GraphText, DrawsFromRootsToLeaves) {
  EXPECT_EQ(graph_text(two_roots()),
            "z = power(y) exponent=3  <- root of step 1 (backward)\n"
            "└─ y = mul(x, x)  [tensor hook h]  <- root of step 1 (backward)\n"
            "   ├─ x leaf float64 () [2]\n"
            "   └─ x (above)\n");
}

TEST(GraphText, CountsALongChainInsteadOfDrawingIt) {
  const std::string text = graph_text(read_scenario(parse_json(chain_json(1000))));
  EXPECT_THAT(text, AllOf(HasSubstr("f1000 = neg(f999)"), HasSubstr("999 nodes from f999 to f1"),
                          HasSubstr("x leaf")));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 6);
}

TEST(GraphText, StopsAtTheLimit) {
  EXPECT_EQ(graph_text(two_roots(), 2),
            "z = power(y) exponent=3  <- root of step 1 (backward)\n"
            "└─ y = mul(x, x)  [tensor hook h]  <- root of step 1 (backward)\n"
            "... and 2 lines not drawn\n");
}

TEST(GraphDot, NamesEveryPart) {
  EXPECT_THAT(
      graph_dot(two_roots()),
      AllOf(HasSubstr("digraph \"root/two\""), HasSubstr("node1 -> node0"),
            HasSubstr("label=\"0: x\""), HasSubstr("hook0 -> node0"), HasSubstr("step1 -> node1")));
}

TEST(Explain, SaysWhatIsRight) {
  const Scenario scenario = two_roots();
  const std::string text = explain(scenario, expect_safely(scenario, make_dialect("reference")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Two roots"), HasSubstr("ROOT-2"), HasSubstr("x = float64 () [2]"),
                    HasSubstr("1. backward from y (seed 5) and z (seed 3)"),
                    HasSubstr("tensor hook on y, returns 10*slot 0"), HasSubstr("x.grad = ")));
}

TEST(Words, Counts) {
  EXPECT_EQ(counted(1, "scenario"), "1 scenario");
  EXPECT_EQ(counted(0, "scenario"), "0 scenarios");
}

TEST(Wrapped, KeepsTheWidth) {
  EXPECT_EQ(wrapped("one two three", "  ", 9), "  one two\n  three\n");
  EXPECT_EQ(wrapped("", "  ", 9), "  \n");
}

TEST(ReplayCommand, IsReadyForAShell) {
  RunHeader header;
  header.engine_argument = "my engine.so";
  header.timeout = std::chrono::seconds(10);
  EXPECT_EQ(replay_command(header, "root/two"), "gradcts replay root/two --engine 'my engine.so'");
  header.engine_argument = "reference";
  header.suites = "/tmp/it's";
  header.suites_given = true;
  header.dialect = "pytorch-1.13";
  header.timeout = std::chrono::milliseconds(2500);
  EXPECT_EQ(replay_command(header, "root/two"),
            "gradcts replay root/two --engine reference --suites '/tmp/it'\\''s' --dialect pytorch-1.13 "
            "--timeout 2.5");
}

TEST(Xml, HoldsWhateverAnEngineWrote) {
  EXPECT_EQ(xml_escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
  EXPECT_EQ(xml_escaped("\x01\x1b[31m"), "??[31m");
  EXPECT_EQ(xml_escaped("\xff\xc3\xa9\xc3"), "?\xc3\xa9?");
  EXPECT_EQ(xml_escaped("\xed\xa0\x80"), "???") << "a surrogate";
}

// ------------------------------------------------------------------------------------------------
// Reports of one small run

class Reports : public ::testing::Test {
 protected:
  ScenarioResult result(const Scenario& scenario, VerdictKind kind) {
    ScenarioResult result;
    result.planned = {&scenario, "0123456789abcdef", "file.json"};
    result.verdict.kind = kind;
    result.standing.as_expected = kind == VerdictKind::pass || kind == VerdictKind::unsupported;
    if (kind == VerdictKind::fail)
      result.verdict.findings.push_back({"ROOT-2", "node y", "1 run", "2 runs"});
    if (kind == VerdictKind::crash) result.verdict.detail = "killed by signal 11\n  thread 1 \xff";
    if (kind == VerdictKind::unsupported) result.missing_features = {"device.sim"};
    return result;
  }

  void report_to(Reporter& reporter) {
    RunHeader header;
    header.engine = {"fake", "1.0", "reference", {}, {}};
    header.engine_argument = "fake";
    header.scenario_count = header.suite_size = 4;
    header.timeout = std::chrono::seconds(10);
    reporter.on_start(header);
    RunSummary summary;
    for (const VerdictKind kind :
         {VerdictKind::pass, VerdictKind::fail, VerdictKind::crash, VerdictKind::unsupported}) {
      const ScenarioResult one = result(scenario_, kind);
      ++summary.counts[kind];
      summary.not_as_expected += !one.standing.as_expected;
      reporter.on_result(one);
    }
    reporter.on_finish(summary);
  }

  std::string file(const char* name) const { return (folder_ / name).string(); }

  TestFolder folder_;
  Scenario scenario_ = two_roots();
};

TEST_F(Reports, ConsoleShowsFailuresInFullAndATable) {
  std::FILE* out = std::fopen(file("out").c_str(), "w");
  ConsoleReporter console(out, {});
  report_to(console);
  std::fclose(out);
  const std::string text = read_file(file("out"));
  EXPECT_THAT(text, AllOf(HasSubstr("FAIL root/two"), HasSubstr("expected  1 run"),
                          HasSubstr("observed  2 runs"), HasSubstr("└─ y = mul(x, x)"),
                          HasSubstr("gradcts replay root/two --engine fake"),
                          HasSubstr("CRASH root/two"), HasSubstr("killed by signal 11")));
  EXPECT_THAT(text, AllOf(HasSubstr("unsupported"), HasSubstr("not checked: 1 scenario"),
                          HasSubstr("1  device.sim"), HasSubstr("2 not as expected")));
  EXPECT_THAT(text, Not(HasSubstr("\033"))) << "no colours unless asked for";
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(Reports, ABriefFailureFitsOnAScreen) {
  const Scenario chain = read_scenario(parse_json(fan_json(60)));
  ScenarioResult failed = result(chain, VerdictKind::fail);
  for (int i = 0; i < 19; ++i) failed.verdict.findings.push_back(failed.verdict.findings.front());
  const std::string brief = failure_text(failed, RunHeader{}, Paint(false), Length::brief);
  EXPECT_LE(count_lines(brief), 24u) << brief;
  EXPECT_THAT(brief, AllOf(HasSubstr("... and 18 more findings"), HasSubstr("lines not drawn"),
                           HasSubstr("gradcts replay")));
  EXPECT_GT(count_lines(failure_text(failed, RunHeader{}, Paint(false))), 100u)
      << "the replay shows all";

  ScenarioResult crash = result(chain, VerdictKind::crash);
  crash.verdict.detail = "killed by signal 11\n";
  for (int i = 0; i < 50; ++i) crash.verdict.detail += "  frame\n";
  const std::string stack = failure_text(crash, RunHeader{}, Paint(false), Length::brief);
  EXPECT_LE(count_lines(stack), 24u) << stack;
  EXPECT_THAT(stack, AllOf(HasSubstr("killed by signal 11"), HasSubstr("... and 42 more lines")));
}

TEST_F(Reports, QuietIsSilentUnlessSomethingIsWrong) {
  std::FILE* out = std::fopen(file("out").c_str(), "w");
  ConsoleReporter good(out, {.quiet = true});
  RunSummary fine;
  fine.counts[VerdictKind::pass] = 1;
  good.on_start({});
  good.on_result(result(scenario_, VerdictKind::pass));
  good.on_finish(fine);
  std::fflush(out);
  EXPECT_EQ(read_file(file("out")), "");
  ConsoleReporter bad(out, {.quiet = true});
  report_to(bad);
  std::fclose(out);
  EXPECT_THAT(read_file(file("out")),
              AllOf(HasSubstr("FAIL root/two"), HasSubstr("2 not as expected"),
                    Not(HasSubstr("unsupported")), Not(HasSubstr("area"))));
}

TEST(TimeLeft, IsSaidOnLongWork) {
  using std::chrono::seconds;
  EXPECT_EQ(time_left(10, 100, seconds(4)), "") << "too early";
  EXPECT_EQ(time_left(0, 100, seconds(10)), "");
  EXPECT_EQ(time_left(100, 100, seconds(10)), "");
  EXPECT_EQ(time_left(50, 100, seconds(10)), "10 s");
  EXPECT_EQ(time_left(1, 31, seconds(10)), "5 min");
  EXPECT_EQ(time_left(1, 901, seconds(10)), "2 h 30 min");
}

TEST_F(Reports, ConsoleColoursWhenAsked) {
  std::FILE* out = std::fopen(file("out").c_str(), "w");
  ConsoleReporter console(out, {.terminal = true, .colours = true});
  report_to(console);
  std::fclose(out);
  EXPECT_THAT(read_file(file("out")), HasSubstr("\033[31;1mFAIL\033[0m"));
}

TEST_F(Reports, JsonLinesAreOneObjectALine) {
  {
    JsonLinesReporter reporter(file("report.jsonl"));
    report_to(reporter);
  }
  std::istringstream lines(read_file(file("report.jsonl")));
  std::vector<std::string> records;
  for (std::string line; std::getline(lines, line);) records.push_back(parse_json(line)["record"]);
  EXPECT_THAT(records, ::testing::ElementsAre("header", "scenario", "scenario", "scenario",
                                              "scenario", "summary"));
}

TEST_F(Reports, JUnitIsWrittenWholeAtTheEnd) {
  JUnitReporter reporter(file("report.xml"));
  EXPECT_FALSE(std::filesystem::exists(file("report.xml")));
  report_to(reporter);
  EXPECT_THAT(
      read_file(file("report.xml")),
      AllOf(HasSubstr("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""),
            HasSubstr("<failure type=\"fail\" message=\"ROOT-2: node y: expected 1 run, observed 2 "
                      "runs\">"),
            HasSubstr("<error type=\"crash\""), HasSubstr("<skipped type=\"unsupported\"")));
}

TEST_F(Reports, AnUnwritablePathIsRefusedAtOnce) {
  EXPECT_THROW(JUnitReporter(file("none/report.xml")), std::runtime_error);
  EXPECT_THROW(JsonLinesReporter(file("none/report.jsonl")), std::runtime_error);
  EXPECT_THROW(JUnitReporter(folder_.path().string()), std::runtime_error);
}

}  // namespace
}  // namespace gradcts
