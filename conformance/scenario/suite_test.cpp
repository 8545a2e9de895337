#include "conformance/scenario/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "conformance/scenario/suite_expression.h"
#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

using ::testing::ElementsAre;

std::string value_of(std::string_view expression) {
  const Bindings bindings{{"n", std::int64_t{7}}, {"half", 0.5}, {"mode", "keep"}, {"on", true}};
  try {
    return to_text(evaluate(expression, bindings));
  } catch (const ExpressionError& error) {
    return error.what();
  }
}

TEST(SuiteExpression, Arithmetic) {
  EXPECT_EQ(value_of("n*(n+1)/2"), "28");
  EXPECT_EQ(value_of("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(value_of("10 - 3 - 2"), "5");
  EXPECT_EQ(value_of("2 ** 3 ** 2"), "512");
  EXPECT_EQ(value_of("-2 ** 2"), "-4");
  EXPECT_EQ(value_of("2 ** -1"), "a negative power of an integer; write a decimal");
  EXPECT_EQ(value_of("(-1) ** 1000000001"), "-1");
  EXPECT_EQ(value_of("-7 % 3"), "2");
  EXPECT_EQ(value_of("n * half"), "3.5");
  EXPECT_EQ(value_of("7 / 2"), "7 / 2 is no integer; write a decimal");
  EXPECT_EQ(value_of("7 / 2.0"), "3.5");
  EXPECT_EQ(value_of("1 / 0"), "division by zero");
  EXPECT_EQ(value_of("2 ** 63"), "the result does not fit an integer of 64 bits");
  EXPECT_EQ(value_of("min(n, 3) + max(n, 3)"), "10");
}

TEST(SuiteExpression, Logic) {
  EXPECT_EQ(value_of("n > 3 && n != 8"), "true");
  EXPECT_EQ(value_of("!on || n <= 6"), "false");
  EXPECT_EQ(value_of("mode == 'keep' ? n : 0"), "7");
  EXPECT_EQ(value_of("n == 7.0"), "true");
  EXPECT_EQ(value_of("n != 0 && 14 / n == 2"), "true");
  EXPECT_EQ(value_of("false && 1 / 0 == 1"), "false");
  EXPECT_EQ(value_of("on ? 1 : 1 / 0"), "1");
}

TEST(SuiteExpression, Errors) {
  EXPECT_EQ(value_of("m + 1"), "there is no parameter 'm'");
  EXPECT_EQ(value_of("haf"), "there is no parameter 'haf'; did you mean 'half'?");
  EXPECT_EQ(value_of("abs(1)"), "there is no function 'abs'; expected min or max");
  EXPECT_EQ(value_of("1 +"), "the expression ends where an operand was expected");
  EXPECT_EQ(value_of("(1"), "expected ')', found the end");
  EXPECT_EQ(value_of("1 2"), "unexpected '2'");
  EXPECT_EQ(value_of("mode + 1"), "'+' takes numbers, found keep and 1");
  EXPECT_EQ(value_of("mode == 1"), "cannot compare keep with 1");
  EXPECT_EQ(value_of("n ? 1 : 2"), "expected true or false, found 7");
  EXPECT_EQ(value_of("'keep"), "a quoted string has no end");
  EXPECT_EQ(value_of(std::string(200, '(')), "the expression is nested too deep");
}

// ------------------------------------------------------------------------------------------------

Json suite_of(std::string_view scenario) {
  Json suite = parse_json(R"({"schema": "gradcts.suite/1", "area": "acc", "scenarios": []})");
  suite["scenarios"].push_back(parse_json(scenario));
  return suite;
}

std::string suite_refusal(const Json& suite) {
  try {
    expand_suite(suite);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

constexpr std::string_view fan_in = R"json({
  "id": "fan-in/{n}{suffix}",
  "for": {"n": [1, 3], "suffix": ["", "-kept"]},
  "title": "{n} uses {{of}} x",
  "clauses": ["ACC-1"],
  "leaves": [{"name": "x", "value": 3}],
  "nodes": [{"each": "i", "from": 1, "to": "=n",
             "give": {"name": "f{i}", "op": "scale", "inputs": ["x"], "factor": "=i"}}],
  "program": [
    {"do": "forward"},
    {"do": "backward", "keep": "=suffix == '-kept'",
     "roots": [{"each": "i", "from": 1, "to": "=n", "give": {"value": "f{i}", "seed": 2}}]},
    {"when": "=suffix == '-kept'",
     "give": [{"do": "read", "values": ["x"]}, {"do": "read", "grads": ["x"]}],
     "otherwise": {"do": "set_grad", "leaf": "x", "grad": "=n*(n+1)"}}
  ]
})json";

TEST(Suite, MakesEveryCombination) {
  std::vector<std::string> ids;
  for (const Scenario& scenario : expand_suite(suite_of(fan_in))) ids.push_back(scenario.id);
  EXPECT_THAT(
      ids, ElementsAre("acc/fan-in/1", "acc/fan-in/1-kept", "acc/fan-in/3", "acc/fan-in/3-kept"));
}

TEST(Suite, ExpandsTemplates) {
  const std::vector<Scenario> scenarios = expand_suite(suite_of(fan_in));
  EXPECT_EQ(scenarios[2].title, "3 uses {of} x");
  const Json plain = write_scenario(scenarios[2]);
  EXPECT_EQ(plain["nodes"].size(), 3U);
  EXPECT_EQ(plain["nodes"][2].dump(), R"({"name":"f3","op":"scale","inputs":["x"],"factor":3})");
  EXPECT_EQ(plain["program"][2].dump(), R"({"do":"set_grad","leaf":"x","grad":12})");
  const Json kept = write_scenario(scenarios[3]);
  EXPECT_TRUE(kept["program"][1]["keep"].get<bool>());
  EXPECT_EQ(kept["program"].size(), 4U);
}

TEST(Suite, EachGoesOverAList) {
  const auto scenarios = expand_suite(suite_of(R"({
    "id": "a", "title": "t", "clauses": ["ACC-1"],
    "leaves": [{"each": "v", "in": [2, "=3*3", {"each": "k", "from": 5, "to": 4, "give": "=k"}],
                "give": [{"name": "a{v}", "value": "=v"}, {"name": "b{v}", "value": ["=v", 1]}]}],
    "program": []})"));
  EXPECT_EQ(write_scenario(scenarios[0])["leaves"].dump(),
            R"([{"name":"a2","value":2},{"name":"b2","value":[2,1]},)"
            R"({"name":"a9","value":9},{"name":"b9","value":[9,1]}])");
}

TEST(Suite, ErrorsNameTheScenarioAndThePlace) {
  const auto with = [](std::string_view pointer, std::string_view text) {
    Json suite = suite_of(fan_in);
    suite["scenarios"][0][Json::json_pointer(std::string(pointer))] = parse_json(text);
    return suite_refusal(suite);
  };
  EXPECT_EQ(with("/nodes/0/give/inputs/0", "\"w\""),
            "scenarios[0] (acc/fan-in/1): nodes[0].inputs[0]: there is no value 'w'");
  EXPECT_EQ(with("/nodes/0/to", "\"=m\""),
            "scenarios[0].nodes[0].to: in the expression 'm': there is no parameter 'm'");
  EXPECT_EQ(with("/nodes/0/until", "3"), "scenarios[0].nodes[0]: unknown field 'until'");
  EXPECT_EQ(with("/nodes/0/in", "[1]"), "scenarios[0].nodes[0]: expected 'in' or 'from' and 'to'");
  EXPECT_EQ(with("/title", "\"{n\""),
            "scenarios[0].title: '{' without '}'; write '{{' for a brace");
  EXPECT_EQ(with("/title", "\"n}\""),
            "scenarios[0].title: '}' without '{'; write '}}' for a brace");
  EXPECT_EQ(with("/program/2/when", "\"=n\""),
            "scenarios[0].program[2].when: expected true or false, found the number 1");
  EXPECT_EQ(with("/for/n", "[]"), "scenarios[0].for.n: expected at least one value");
  EXPECT_EQ(with("/for/n", "[null]"),
            "scenarios[0].for.n[0]: expected a number, a string or a boolean, found null");
  EXPECT_EQ(with("/schema", "\"gradcts.scenario/1\""),
            "scenarios[0].schema: the suite's schema is not repeated");
}

TEST(Suite, ErrorsOfTheFileItself) {
  Json suite = suite_of(fan_in);
  suite["schema"] = "gradcts.suite/2";
  EXPECT_EQ(suite_refusal(suite), "schema: expected 'gradcts.suite/1', found 'gradcts.suite/2'");
  suite = suite_of(fan_in);
  suite["scenario"] = 1;
  EXPECT_EQ(suite_refusal(suite), "unknown field 'scenario'; did you mean 'scenarios'?");
}

// ------------------------------------------------------------------------------------------------
// Files

class SuiteFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  static std::string suite_refusal(const std::string& path) {
    try {
      load_suites(path);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "accepted";
  }

  TestFolder folder_;
};

constexpr std::string_view single = R"({"schema": "gradcts.scenario/1", "id": "a/b", "title": "t",
  "clauses": ["TOPO-1"], "program": []})";

TEST_F(SuiteFiles, AreReadInOrderOfTheirPaths) {
  write("z.json", single);
  write("inner/a.json", suite_of(fan_in).dump());
  write("notes.txt", "no scenario");
  write("expectations/engine.json", "{}");
  const auto entries = load_suites(folder_.path().string());
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries[0].scenario.id, "acc/fan-in/1");
  EXPECT_EQ(entries[4].scenario.id, "a/b");
  EXPECT_EQ(entries[4].file, (folder_ / "z.json").string());
}

TEST_F(SuiteFiles, ErrorsNameTheFile) {
  const std::string broken = write("a.json", "{\"schema\": }");
  EXPECT_EQ(suite_refusal(broken),
            broken +
                ": line 1, column 12: syntax error while parsing value - unexpected '}'; "
                "expected '[', '{', or a literal");
  const std::string list = write("b.json", "[]");
  EXPECT_EQ(suite_refusal(list), list + ": expected an object, found a list");
  const std::string missing = (folder_ / "none.json").string();
  EXPECT_EQ(suite_refusal(missing), missing + ": there is no such file or folder");
}

TEST_F(SuiteFiles, AnIdStandsOnce) {
  const std::string first = write("a.json", single);
  const std::string second = write("b.json", single);
  EXPECT_EQ(suite_refusal(folder_.path().string()),
            second + ": the id 'a/b' is taken by a scenario in " + first);
}

}  // namespace
}  // namespace gradcts
