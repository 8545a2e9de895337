// Explores the schedules of a scenario, in processes of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "conformance/explore/search/explore_request.h"

namespace gradcts {

// How the engine comes under control.
struct EngineToExplore {
  std::string path;     // of its library
  std::string preload;  // of libgradcts-schedule.so; empty: the engine was rebuilt
};

// By name or path: one that was rebuilt (../lib/gradcts/rebuilt) goes before one as it is. Throws
// UnknownEngine (engine_locator.h) with one clear line.
EngineToExplore find_engine_to_explore(const std::string& name_or_path);

struct Exploration {
  ExploreAnswer answer;  // ended, failed or unusable
  // The process ended without an answer: what it said and how it ended; `taking` is what led there.
  std::string crash;
  std::string taking;

  bool failed() const { return answer.kind == ExploreAnswer::Kind::failed || !crash.empty(); }
};

using OnProgress = std::function<void(const ExploreCounts&)>;

// Returns when the worker has ended, or was silent for as long as `patience`: then it is ended.
// When `stop` becomes true the schedule that is being taken is the last one.
Exploration explore(const EngineToExplore& engine, const ExploreRequest& request,
                    const OnProgress& on_progress, std::chrono::milliseconds patience,
                    const std::atomic<bool>* stop = nullptr);

// The same failure with fewer switches, each try in a process of its own. `fails_the_same` tells it
// from others.
Exploration shrink_exploration(const EngineToExplore& engine, const ExploreRequest& request,
                               const Exploration& failure,
                               const std::function<bool(const Exploration&)>& fails_the_same);

}  // namespace gradcts
