// Keeps docs/scenario.md true: its complete examples are read, and its tables name what exists.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "conformance/scenario/operations.h"
#include "conformance/scenario/suite.h"
#include "conformance/scenario/words.h"

namespace gradcts {
namespace {

std::string page() {
  std::ifstream file(GRADCTS_SOURCE_DIR "/docs/scenario.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> json_blocks() {
  constexpr std::string_view fence = "```json\n";
  const std::string text = page();
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
    at += fence.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(Documentation, TheFirstExampleIsAScenario) {
  const Scenario scenario = read_scenario(parse_json(json_blocks().at(0)));
  EXPECT_EQ(scenario.id, "root/two-roots/chained");
  EXPECT_EQ(scenario.nodes.size(), 2U);
}

TEST(Documentation, EveryExampleOfATensorIsRead) {
  int tensors = 0;
  std::istringstream lines(json_blocks().at(1));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    ++tensors;
    EXPECT_NO_THROW(read_tensor(parse_json(line), "tensor")) << line;
  }
  EXPECT_GE(tensors, 6);
}

TEST(Documentation, TheSuiteExampleExpands) {
  const std::string last = json_blocks().back();
  const std::vector<Scenario> scenarios = expand_suite(parse_json(last));
  ASSERT_EQ(scenarios.size(), 5U);
  EXPECT_EQ(scenarios[4].id, "acc/fan-in/70");
  EXPECT_EQ(scenarios[4].nodes.size(), 70U);
}

TEST(Documentation, TheTableOfOperationsIsTheirs) {
  std::istringstream lines(page());
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line) && rows < operation_count;) {
    const OperationSpec& spec = all_operations()[rows];
    const bool names_it =
        line.rfind(fmt::format("| `{}` | {}", spec.name, spec.least_inputs), 0) == 0;
    if (!names_it) continue;
    EXPECT_NE(line.find(fmt::format(" | {} |", spec.meaning)), std::string::npos) << line;
    for (const AttributeSpec& attribute : spec.attributes) {
      const auto text = fmt::format("`{}`{}", attribute.name, attribute.required ? "" : "?");
      EXPECT_NE(line.find(text), std::string::npos) << line;
    }
    ++rows;
  }
  ASSERT_EQ(rows, operation_count) << "no row for " << all_operations()[rows].name;
}

TEST(Documentation, NamesEveryWordOfTheLanguage) {
  const std::string text = page();
  const auto named = [&](std::string_view word) {
    std::string code(1, '`');
    code.append(word).push_back('`');
    return text.find(code) != std::string::npos;
  };
  for (const auto word : hook_kind_words) EXPECT_TRUE(named(word)) << word;
  for (const auto word : through_words) EXPECT_TRUE(named(word)) << word;
  for (const auto word : change_words) EXPECT_TRUE(named(word)) << word;
  for (const auto word : observe_words) EXPECT_TRUE(named(word)) << word;
  for (const auto word : cause_words) EXPECT_TRUE(named(word)) << word;
  for (const auto word : question_words) EXPECT_TRUE(named(word)) << word;
  for (const auto* verb : {"forward",       "backward",       "grad",        "set_grad",
                           "read",          "change",         "keep",        "drop",
                           "requires_grad", "with",           "try",         "parallel",
                           "repeat",        "barrier",        "lock",        "unlock",
                           "throw",         "queue_callback", "add_hook",    "remove_hook",
                           "observe",       "start",          "stop",        "fork",
                           "wait_stream",   "synchronise",    "deliver",     "wait",
                           "when_done",     "redirect",       "close_hooks", "forget_programs",
                           "make_reducer",  "drop_reducer",   "prepare",     "reset_reducer",
                           "ask_reducer"}) {
    EXPECT_TRUE(named(verb)) << verb;
  }
}

}  // namespace
}  // namespace gradcts
