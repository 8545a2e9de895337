// The published schemas, checked with a real validator: what is written is valid, and what the
// reader refuses for its form is invalid. Needs python3-jsonschema; fails without it, since a
// schema that nobody checked is worth nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "conformance/scenario/fields.h"
#include "conformance/scenario/scenario_samples.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

struct Document {
  std::string schema;
  Json json;
};

// One verdict for each document, in order.
std::vector<std::string> verdicts(const std::vector<Document>& documents) {
  const TestFolder folder;
  const std::string file = folder / "documents.jsonl";
  std::ofstream lines(file);
  for (const Document& document : documents) {
    lines << Json({{"schema", document.schema}, {"document", document.json}}).dump() << '\n';
  }
  lines.close();
  const std::string command =
      std::string(GRADCTS_PYTHON) + " " GRADCTS_SCHEMA_DIR "/check.py < '" + file + "' 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  pclose(pipe);
  std::vector<std::string> answers;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) answers.push_back(line);
  return answers;
}

Outcome outcome_of(const Scenario& scenario) {
  Outcome outcome;
  outcome.steps.push_back(
      {3, 1, 2, ErrorReport{ErrorCategory::user, "boom", true, "it broke"}, {}});
  outcome.steps.push_back({4, 0, 0, std::nullopt, {TensorValue::scalar(3), std::nullopt}});
  outcome.events.push_back({EventKind::node_enter, accumulator_of(scenario, 1), 1, 2, 0, {}});
  outcome.events.push_back({EventKind::tensor_hook, 0, 0, 0, 0, {TensorValue::vector({1, 2})}});
  outcome.events.push_back({EventKind::observe, 4, 0, 0, -1, {}});
  outcome.leaf_grads.resize(scenario.leaves.size());
  outcome.state = {2,
                   {"depth was 0 and is 1"},
                   {{{DeviceAccess::Kind::free, "s1", "", ""},
                     {DeviceAccess::Kind::read, "s2", "mul", "node y"},
                     true}},
                   3};
  return outcome;
}

Json description() {
  return parse_json(R"({"schema": "gradcts.description/1", "name": "x", "version": "1",
    "dialect": "reference", "choices": {"ACC-5": "arrival"}, "features": ["operation.*", "drop"]})");
}

TEST(Schema, AcceptsWhatIsWritten) {
  const Scenario scenario = everything();
  ScenarioBuilder small("a/b");
  Outcome unsupported;
  unsupported.unsupported = "no streams";
  const std::vector<Document> documents{
      {"scenario", write_scenario(scenario)},
      {"scenario", write_scenario(small.build())},
      {"outcome", write_outcome(outcome_of(scenario), scenario)},
      {"outcome", write_outcome(Outcome{}, small.build())},
      {"outcome", write_outcome(unsupported, scenario)},
      {"description", description()},
  };
  const std::vector<std::string> answers = verdicts(documents);
  ASSERT_EQ(answers.size(), documents.size()) << (answers.empty() ? "" : answers.back());
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], "valid") << i;
}

// A right document with the value at a JSON pointer replaced.
Json edited(Json json, const std::string& pointer, std::string_view text) {
  json[Json::json_pointer(pointer)] = parse_json(text);
  return json;
}

TEST(Schema, RefusesWhatTheReaderRefuses) {
  const Scenario scenario = everything();
  const Json right = write_scenario(scenario);
  const std::vector<std::pair<const char*, const char*>> edits{
      {"/schema", "\"gradcts.scenario/2\""},
      {"/comment", "1"},
      {"/id", "\"Upper\""},
      {"/clauses", "[]"},
      {"/trace", "\"none\""},
      {"/leaves/0/value", "null"},
      {"/leaves/0/value", "{\"shape\": [1]}"},
      {"/leaves/0/value", "{\"shape\": [-1], \"fill\": 1}"},
      {"/leaves/0/value", "{\"fill\": 1, \"values\": [1]}"},
      {"/leaves/0/value", "{\"fill\": 1, \"device\": \"gpu:0\"}"},
      {"/leaves/0/name", "\"2x\""},
      {"/leaves/0/colour", "\"red\""},
      {"/nodes/0/op", "\"mull\""},
      {"/nodes/0/inputs", "[\"x\"]"},
      {"/nodes/0/exponent", "3"},
      {"/nodes/0/backward", "{}"},
      {"/hooks/0/kind", "\"tensors\""},
      {"/hooks/0/pack", "{}"},
      {"/hooks/0/returns", "[[]]"},
      {"/hooks/0/returns", "[{\"pass\": 0, \"tensor\": 1}]"},
      {"/barriers/0/parties", "1"},
      {"/program/0", "{\"do\": \"foward\"}"},
      {"/program/0", "{\"do\": \"stop\", \"now\": true}"},
      {"/program/0", "{\"do\": \"change\", \"value\": \"x\", \"add\": 1, \"fill\": 2}"},
      {"/program/0", "{\"do\": \"observe\", \"what\": \"will_run\"}"},
      {"/program/0", "{\"do\": \"repeat\", \"times\": 0}"},
      {"/program/0", "{\"do\": \"forward\", \"nodes\": []}"},
      {"/program/0", "{\"do\": \"backward\", \"roots\": [{\"value\": \"x\"}]}"},
      {"/program/0", "{\"do\": \"start\", \"expect\": {}}"},
  };
  std::vector<Document> documents;
  for (const auto& [pointer, text] : edits) {
    const Json broken = edited(right, pointer, text);
    EXPECT_THROW(read_scenario(broken), FormatError) << pointer << " " << text;
    documents.push_back({"scenario", broken});
  }
  const std::vector<std::string> answers = verdicts(documents);
  ASSERT_EQ(answers.size(), documents.size()) << (answers.empty() ? "" : answers.back());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].substr(0, 8), "invalid:") << edits[i].first << " " << edits[i].second;
  }
}

TEST(Schema, RefusesOutcomesAndDescriptionsThatAreBroken) {
  const Scenario scenario = everything();
  const Json outcome = write_outcome(outcome_of(scenario), scenario);
  std::vector<Document> documents{
      {"outcome", edited(outcome, "/events/0/kind", "\"entered\"")},
      {"outcome", edited(outcome, "/events/2/subject", "\"y\"")},
      {"outcome", edited(outcome, "/steps/0/error/category", "\"bad\"")},
      {"outcome", edited(outcome, "/unsupported", "\"both\"")},
      {"outcome", edited(outcome, "/steps/0/step", "-1")},
  };
  for (const Document& document : documents) {
    EXPECT_THROW(read_outcome(document.json, scenario), FormatError) << document.json.dump();
  }
  documents.push_back({"description", edited(description(), "/features", "\"all\"")});
  documents.push_back({"description", edited(description(), "/engine", "1")});
  const std::vector<std::string> answers = verdicts(documents);
  ASSERT_EQ(answers.size(), documents.size()) << (answers.empty() ? "" : answers.back());
  for (const std::string& answer : answers) EXPECT_EQ(answer.substr(0, 8), "invalid:");
}

}  // namespace
}  // namespace gradcts
