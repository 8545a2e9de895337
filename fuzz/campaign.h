// Campaigns: many cases on an engine, random or not, in processes of their own.
//
// Cases are numbered; a chunk is `chunk_size` of them in a row. A worker process runs a chunk and
// answers with all of it; the parent writes it down. A worker that dies or stops answering has cost
// one case, which is a failure ("crash", "hang"); the chunk is run again without it. Which cases
// fail depends on the cases alone: chunks can be run in any order, by any number of workers, on any
// shard.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fuzz/known.h"
#include "fuzz/store.h"

namespace gradcts::fuzz {

inline constexpr std::uint64_t chunk_size = 64;

// What groups of known findings have for a clause begins so.
inline constexpr std::string_view known_prefix = "known: ";

struct CampaignOptions {
  std::string engine = "reference";
  std::string against;  // another engine: only what the two are judged differently for is a failure
  // The scenario of a case: a function of its number alone. Workers call it, and the parent.
  std::function<Scenario(std::uint64_t number)> scenario_of;
  KnownFindings known;  // their cases are grouped as "known: NAME"
  std::optional<std::uint64_t> cases;        // ends after these, of all shards together
  std::optional<std::chrono::seconds> time;  // or after this time
  int jobs = 1;
  std::uint64_t shard = 1, shards = 1;  // takes the chunks that are `shard` - 1 modulo `shards`
  std::chrono::milliseconds timeout{10000};  // for one case
  std::string folder;                        // for the engines' output
  const std::atomic<bool>* stop = nullptr;   // set by a signal handler
};

struct Progress {
  std::uint64_t chunks = 0, cases = 0, failures = 0;  // of this run
  double seconds = 0;
};

// Runs what the store has not yet. Throws std::runtime_error when no worker can work: the engine
// does not load.
Progress run_campaign(const CampaignOptions& options, Store& store,
                      const std::function<void(const Progress&)>& on_progress);

}  // namespace gradcts::fuzz
