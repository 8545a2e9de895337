#include "fuzz/campaign.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>

#include "conformance/scenario/test_folder.h"
#include "fuzz/generate.h"
#include "fuzz/outside.h"
#include "fuzz/trial.h"

namespace gradcts::fuzz {
namespace {

// What changes as a scenario becomes smaller is left out, and the fault is still told.
TEST(KindOfFailure, LeavesOutNamesNumbersTypesAndShapes) {
  const auto kind = [](const char* expected, const char* observed) {
    return kind_of({"TOPO-1", "program[4] (read), value 0", expected, observed});
  };
  EXPECT_EQ(kind("float64 () [-88]", "float64 () [-130] (-130 instead of -88)"),
            kind("float32 (2,2) [1 2 3 4]", "float32 (2,2) [1 2 3 5] (5 instead of 4)"));
  EXPECT_EQ(kind("no error", "error other: a node without history: 'n12'"),
            kind("no error", "error other: a node without history: 'accumulate:x'"));
  EXPECT_NE(kind("no error", "error other: a node without history: 'n12'"),
            kind("undefined", "float64 () [3] (a tensor instead of undefined)"));
  EXPECT_EQ(clause_of(kind("2 runs", "1 run")), "TOPO-1");
  EXPECT_EQ(clause_of("crash"), "crash");
}

std::string liar(const std::string& lie) {
  return GRADCTS_LYING_ADAPTERS "/libgradcts-lying-" + lie + ".so";
}

void run_into(Store& store, CampaignOptions options, const TestFolder& folder) {
  options.folder = folder.path().string();
  run_campaign(options, store, [](const Progress&) {});
}

CampaignOptions random_cases() {
  CampaignOptions options;
  options.scenario_of = [](std::uint64_t number) { return random_scenario(1, number); };
  return options;
}

// What one campaign found, as text.
std::string contents(Store& store) {
  const Totals totals = store.totals();
  std::string text =
      fmt::format("{} {} {} {}\n", totals.chunks, totals.passed, totals.failed, totals.not_judged);
  for (const Group& group : store.groups()) {
    text += fmt::format("{} {} {}\n", group.clause, group.cases, group.smallest.number);
  }
  return text;
}

// Cases without threads and devices fail, or not, always: an engine that drops an edge gives
// enough.
CampaignOptions canary() {
  CampaignOptions options = random_cases();
  options.engine = liar("drops-an-edge");
  options.cases = 5 * chunk_size;
  return options;
}

TEST(Canary, FailsAtItsKnownRate) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = canary();
  options.cases = chunk_size;
  run_into(store, options, folder);
  const Totals totals = store.totals();
  EXPECT_EQ(totals.cases(), chunk_size);
  // Nearly every case has a gradient in some leaf.
  EXPECT_GE(totals.failed, chunk_size * 8 / 10);
}

TEST(Campaign, FindsTheSameOnAnyNumberOfShards) {
  const TestFolder folder;
  Store whole((folder / "whole.sqlite").string());
  run_into(whole, canary(), folder);
  for (const std::uint64_t shards : {2U, 7U}) {
    Store merged((folder / fmt::format("merged{}", shards)).string());
    for (std::uint64_t shard = 1; shard <= shards; ++shard) {
      const std::string file = (folder / fmt::format("{}.{}", shards, shard)).string();
      Store part(file);
      part.claim({{"seed", "1"}});
      CampaignOptions options = canary();
      options.shard = shard;
      options.shards = shards;
      run_into(part, options, folder);
      merged.merge(file);
    }
    EXPECT_EQ(contents(merged), contents(whole));
  }
}

TEST(Campaign, GoesOnWhereItWasStopped) {
  const TestFolder folder;
  const std::string file = (folder / "a.sqlite").string();
  std::atomic<bool> stop{true};  // at once: the first chunk is not begun
  CampaignOptions options = canary();
  options.cases = 2 * chunk_size;
  options.stop = &stop;
  {
    Store store(file);
    run_into(store, options, folder);
    EXPECT_EQ(store.totals().cases(), 0U);
  }
  stop = false;
  Store store(file);
  options.cases = chunk_size;
  run_into(store, options, folder);
  options.cases = 2 * chunk_size;
  options.folder = folder.path().string();
  const Progress rest = run_campaign(options, store, [](const Progress&) {});
  EXPECT_EQ(rest.cases, chunk_size);  // the first chunk is there already
  EXPECT_EQ(store.totals().cases(), 2 * chunk_size);
}

TEST(Campaign, EndsAfterItsTimeThoughThereAreMoreCases) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = random_cases();
  options.cases = std::uint64_t{1} << 40;
  options.time = std::chrono::seconds(1);
  run_into(store, options, folder);
  EXPECT_GT(store.totals().cases(), 0U);
}

TEST(Campaign, SurvivesAnEngineThatDies) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = random_cases();
  options.engine = liar("dies");
  options.cases = 4;
  run_into(store, options, folder);
  const std::vector<Group> groups = store.groups();
  ASSERT_EQ(groups.size(), 1U) << groups.back().clause << groups.back().smallest.detail;
  EXPECT_EQ(groups[0].clause, "crash");
  EXPECT_EQ(groups[0].cases + store.totals().not_judged, 4U);
}

std::vector<pid_t> child_processes() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", gettid()));
  return {std::istream_iterator<pid_t>(file), {}};
}

// As when a thread of the engine outlives its case, and dies later.
TEST(Campaign, SurvivesAnEngineThatDiesBetweenCases) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = random_cases();
  options.cases = 2 * chunk_size;
  options.folder = folder.path().string();
  bool killed = false;
  run_campaign(options, store, [&](const Progress& progress) {
    if (progress.chunks != 1 || killed) return;
    for (const pid_t child : child_processes()) killed = kill(child, SIGSEGV) == 0;
  });
  EXPECT_TRUE(killed);
  EXPECT_EQ(store.totals().chunks, 2U);
  const std::vector<Group> groups = store.groups();
  const auto crash = std::find_if(groups.begin(), groups.end(),
                                  [](const Group& group) { return group.clause == "crash"; });
  ASSERT_NE(crash, groups.end());
  EXPECT_EQ(crash->smallest.number, chunk_size - 1);
}

TEST(Campaign, EndsAnEngineThatHangs) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = random_cases();
  options.engine = liar("hangs");
  options.cases = 2;
  options.timeout = std::chrono::milliseconds(200);
  run_into(store, options, folder);
  ASSERT_EQ(store.groups().size(), 1U);
  EXPECT_EQ(store.groups()[0].clause, "hang");
}

TEST(Campaign, TellsTwoEnginesApart) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  CampaignOptions options = random_cases();
  options.engine = liar("counts-twice");
  options.against = "reference";
  options.cases = chunk_size;
  run_into(store, options, folder);
  ASSERT_FALSE(store.groups().empty());
  EXPECT_NE(store.groups()[0].clause.find("against pass"), std::string::npos)
      << store.groups()[0].clause;
}

TEST(Store, BelongsToOneCampaign) {
  const TestFolder folder;
  Store store((folder / "a.sqlite").string());
  store.claim({{"seed", "1"}});
  store.claim({{"seed", "1"}});
  EXPECT_THROW(store.claim({{"seed", "2"}}), std::runtime_error);
}

}  // namespace
}  // namespace gradcts::fuzz
