// The same stored seed gives the same bytes every time, on any number of shards: 20 stored cases,
// each 100 times, dealt out to 1, 2 and 7 processes. The cases are on the CPU and without threads
// of their own, where DET-1 promises all of it: gradients, events, errors.
//
// A program of its own: the processes are forked, and an engine that has threads by then refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/checker/checker.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/test_folder.h"
#include "fuzz/generate.h"

namespace gradcts::fuzz {
namespace {

constexpr int replays = 100;

struct StoredSeed {
  std::uint64_t seed = 0, number = 0;
};

std::vector<StoredSeed> stored_seeds() {
  std::ifstream file(GRADCTS_STORED_SEEDS);
  std::vector<StoredSeed> seeds;
  for (StoredSeed one; file >> one.seed >> one.number;) seeds.push_back(one);
  return seeds;
}

// All that there is to know about one run.
std::string bytes_of(const StoredSeed& stored, const Dialect& dialect) {
  const auto scenario =
      std::make_shared<const Scenario>(random_scenario(stored.seed, stored.number));
  Outcome outcome = run_on_reference(scenario);
  const Verdict verdict = check({*scenario, expect(*scenario, dialect), outcome});
  // Which idle thread of its pool an engine takes beyond the nesting limit is free.
  outcome.state.engine_threads.reset();
  for (StepResult& step : outcome.steps) step.thread = std::min<std::int16_t>(step.thread, 1);
  for (Event& event : outcome.events) event.thread = std::min<std::int16_t>(event.thread, 1);
  return fmt::format("{} {} {} {}", write_scenario(*scenario).dump(),
                     write_outcome(outcome, *scenario).dump(), to_text(verdict.kind),
                     verdict.detail);
}

// A shard writes one line for each of its replays: the seed's place, and the bytes.
[[noreturn]] void run_shard(const std::string& file, int shard, int shards) {
  std::ofstream out(file);
  const Dialect dialect = describe_reference().make_dialect();
  const std::vector<StoredSeed> seeds = stored_seeds();
  for (int replay = 0; replay < replays; ++replay) {
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const auto task = replay * static_cast<int>(seeds.size()) + static_cast<int>(i);
      if (task % shards == shard) out << i << " " << bytes_of(seeds[i], dialect) << "\n";
    }
  }
  out.close();
  _exit(out ? 0 : 1);
}

// The one text of each seed, and how often it came.
struct Replayed {
  std::string bytes;
  int times = 0;
};

std::vector<Replayed> run_shards(int shards, std::size_t seeds) {
  const TestFolder folder;
  std::vector<pid_t> children;
  const auto file = [&](int shard) { return (folder / fmt::format("{}", shard)).string(); };
  for (int shard = 0; shard < shards; ++shard) {
    const pid_t child = fork();
    if (child == 0) run_shard(file(shard), shard, shards);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::vector<Replayed> replayed(seeds);
  for (int shard = 0; shard < shards; ++shard) {
    std::ifstream in(file(shard));
    std::size_t seed = 0;
    for (std::string bytes; in >> seed && std::getline(in, bytes);) {
      Replayed& one = replayed.at(seed);
      if (one.times++ == 0) one.bytes = bytes;
      EXPECT_EQ(bytes, one.bytes) << "seed " << seed << " on " << shards << " shards";
    }
  }
  return replayed;
}

TEST(Replay, AStoredSeedGivesTheSameBytesOnAnyNumberOfShards) {
  const std::size_t seeds = stored_seeds().size();
  ASSERT_EQ(seeds, 20U);
  const std::vector<Replayed> first = run_shards(1, seeds);
  for (const int shards : {1, 2, 7}) {
    const std::vector<Replayed> all = shards == 1 ? first : run_shards(shards, seeds);
    for (std::size_t i = 0; i < seeds; ++i) {
      EXPECT_EQ(all[i].times, replays) << "seed " << i << " on " << shards << " shards";
      EXPECT_EQ(all[i].bytes, first[i].bytes) << "seed " << i << " on " << shards << " shards";
    }
  }
}

}  // namespace
}  // namespace gradcts::fuzz
