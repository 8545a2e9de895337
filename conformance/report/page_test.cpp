// What the page is made of. How it looks and works is tested in a browser: testing/page_test.py.
#include "conformance/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/report/case_view.h"
#include "conformance/report/records.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Scenario fork_of_three() {
  return read_scenario(parse_json(R"({
    "schema": "gradcts.scenario/1", "id": "prune/three", "title": "Three", "clauses": ["PRUNE-1"], "reports": ["B026"],
    "leaves": [{"name": "x", "value": 2}, {"name": "w", "value": 3}],
    "nodes": [{"name": "y", "op": "mul", "inputs": ["x", "x"]},
              {"name": "z", "op": "mul", "inputs": ["w", "w"]},
              {"name": "top", "op": "add", "inputs": ["y", "z"]}],
    "program": [{"do": "forward"},
                {"do": "grad", "roots": [{"value": "top", "seed": 5}], "inputs": ["x"], "results": ["gx"]},
                {"do": "read", "values": ["gx"]}]})"));
}

class PageData : public ::testing::Test {
 protected:
  Scenario scenario_ = fork_of_three();
  Expectation expectation_ = expect_safely(scenario_, make_dialect("reference"));
  TestFolder folder_;

  std::string file(const char* name) const { return (folder_ / name).string(); }

  ScenarioResult result(VerdictKind kind) const {
    ScenarioResult result;
    result.planned = {&scenario_, "0123456789abcdef", "file.json"};
    result.verdict.kind = kind;
    result.standing.as_expected = kind == VerdictKind::pass;
    if (kind == VerdictKind::fail) {
      result.verdict.findings.push_back({"PRUNE-1", "node y", "1 run", "0 runs"});
      result.outcome.emplace();
      result.outcome->leaf_grads.resize(2);
    }
    return result;
  }

  RunHeader header() const {
    RunHeader header;
    header.engine = {"fake", "1.0", "reference", {}, {}};
    header.engine_argument = "fake";
    header.scenario_count = header.suite_size = 1;
    return header;
  }
};

TEST_F(PageData, TheDrawingMarksWhatIsCapturedAndWhatMustNotRun) {
  const Json drawing = case_drawing(scenario_, expectation_);
  std::map<std::string, Json> flags;
  for (const Json& node : drawing["nodes"])
    flags[node["name"]] = node.value("flags", Json::array());
  EXPECT_EQ(flags["x"], Json::array({"captured"}))
      << "asked for, and captured instead of accumulated";
  EXPECT_EQ(flags["top"], Json::array({"root"}));
  EXPECT_EQ(flags["z"], Json::array({"still"}));
  EXPECT_EQ(flags["w"], Json::array({"still"}));
  EXPECT_EQ(flags["y"], Json::array());
  EXPECT_EQ(drawing["edges"].size(), 6u) << "both inputs of a product are edges of their own";
}

TEST_F(PageData, TheEvidenceMarksWhatFindingsAreAbout) {
  const ScenarioResult failed = result(VerdictKind::fail);
  const Json evidence =
      case_evidence(scenario_, expectation_, *failed.outcome, failed.verdict.findings);
  EXPECT_EQ(evidence["nodes"]["0"], Json({{"runs", 0}, {"least", 1}, {"most", 1}, {"bad", true}}));
  EXPECT_FALSE(evidence["nodes"]["2"].contains("bad"));
  EXPECT_THAT(evidence["missing"].dump(),
              AllOf(HasSubstr("node_enter y"), Not(HasSubstr("node_enter z"))));
}

TEST_F(PageData, RecordsKeepTheOutcomeOfWhatDidNotPass) {
  EXPECT_FALSE(scenario_record(result(VerdictKind::pass), header()).contains("outcome"));
  const Json failed = scenario_record(result(VerdictKind::fail), header());
  EXPECT_EQ(read_outcome(failed["outcome"], read_scenario(failed["scenario"])).leaf_grads.size(),
            2u);
  EXPECT_EQ(failed["replay"], "gradcts replay prune/three --engine fake --timeout 0");
}

TEST_F(PageData, NothingThatAnEngineWritesEndsTheData) {
  Page page;
  page.begin_run(header_record(header()), "");
  ScenarioResult failed = result(VerdictKind::fail);
  failed.verdict.detail = "</script><script>alert(1)</script>";
  page.add(scenario_record(failed, header()));
  page.end_run(true);
  EXPECT_THAT(page.html(), AllOf(HasSubstr("\\u003c/script>\\u003cscript>alert(1)"),
                                 Not(HasSubstr("<script>alert"))));
}

TEST_F(PageData, AReportIsReadBackLineByLine) {
  const std::string head = json_line(header_record(header())) + "\n";
  const std::string one = json_line(scenario_record(result(VerdictKind::pass), header())) + "\n";
  const auto read = [&](const std::string& text) {
    write_file(file("run.jsonl"), text);
    std::vector<std::string> kinds;
    const bool complete = read_records(
        file("run.jsonl"), [&](const Json& record) { kinds.push_back(record["record"]); });
    return std::pair(kinds, complete);
  };
  const std::vector<std::string> both = {"header", "scenario"};
  EXPECT_EQ(read(head + one), std::pair(both, false));
  EXPECT_EQ(read(head + one + one.substr(0, 40)), std::pair(both, false))
      << "cut in the middle of a line";
  EXPECT_EQ(read(head + one + "{\"record\": \"summary\"}").second, true);
}

TEST_F(PageData, WhatIsNoReportIsRefusedWithOneClearLine) {
  const auto complaint = [&](const std::string& text) -> std::string {
    write_file(file("run.jsonl"), text);
    try {
      read_records(file("run.jsonl"), [](const Json& record) { record.at("id"); });
    } catch (const std::runtime_error& problem) {
      const std::string what = problem.what();
      EXPECT_TRUE(what.starts_with(file("run.jsonl") + ": ")) << what;
      EXPECT_THAT(what, Not(HasSubstr("\n")));
      return what.substr(file("run.jsonl").size() + 2);
    }
    return "";
  };
  const std::string head = json_line(header_record(header())) + "\n";
  EXPECT_EQ(complaint(""), "empty: no report");
  EXPECT_THAT(complaint(std::string("\x7f"
                                    "ELF\x01\x00\xff",
                                    7)),
              HasSubstr("line 1: "));
  EXPECT_THAT(complaint("{}\n"), HasSubstr("line 1: no record of a report"));
  EXPECT_THAT(complaint("{\"record\": \"scenario\"}\n"),
              HasSubstr("line 1: a report begins with its header"));
  EXPECT_THAT(complaint("{\"record\": \"header\", \"schema\": \"gradcts.report/9\"}\n"),
              HasSubstr("gradcts.report/9"));
  EXPECT_THAT(complaint(head), HasSubstr("line 1: a field is missing"));
  EXPECT_THROW(read_records(file("none.jsonl"), [](const Json&) {}), std::runtime_error);
  EXPECT_THROW(read_records(folder_.path().string(), [](const Json&) {}), std::runtime_error);
}

}  // namespace
}  // namespace gradcts
