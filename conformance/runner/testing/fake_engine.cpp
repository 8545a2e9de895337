// An engine for the runner's own tests: it does what the oracle says, unless the scenario's id asks
// it to misbehave ("fake/crash/null"). See the table at the end.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "conformance/adapters/adapter.h"
#include "conformance/adapters/description.h"
#include "conformance/checker/perfect_outcome.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

int runs = 0;
bool spoiled = false;

Outcome right_outcome(const Scenario& scenario) {
  return perfect_outcome(scenario, expect(scenario, make_dialect("reference")));
}

// A gradient that no scenario of the tests has.
Outcome wrong_outcome(const Scenario& scenario) {
  Outcome outcome = right_outcome(scenario);
  for (auto& grad : outcome.leaf_grads) grad = TensorValue::scalar(-12345);
  return outcome;
}

std::string as_text(const Outcome& outcome, const Scenario& scenario) {
  return write_outcome(outcome, scenario).dump();
}

// ------------------------------------------------------------------------------------------------
// Ways to misbehave. Those that return give the text of the answer.

using Behaviour = std::function<std::string(const Scenario&)>;

std::string crash_at_null(const Scenario&) {
  *static_cast<volatile int*>(nullptr) = 1;
  return {};
}

std::string crash_on_a_thread(const Scenario& scenario) {
  std::thread([&] {
    pthread_setname_np(pthread_self(), "fake-thread");
    crash_at_null(scenario);
  }).join();
  return {};
}

volatile bool deeper = true;

// The sum keeps each frame alive, so that no compiler makes a loop of it.
int overflow(int depth) {
  volatile char room[1024];
  room[depth % 1024] = 1;
  return deeper ? overflow(depth + 1) + room[depth % 1024] : 0;
}

std::string wait_for_ever(const Scenario&) {
  static std::mutex mutex;
  static std::condition_variable never;
  std::thread([] {
    pthread_setname_np(pthread_self(), "fake-thread");
    std::unique_lock lock(mutex);
    never.wait(lock, [] { return false; });
  }).join();
  return {};
}

std::string spin(const Scenario&) {
  for (volatile bool on = true; on;) {
  }
  return {};
}

// As on a machine where others have the processors most of the time: longer than the limit, with
// little of it spent.
std::string compute_little_by_little(const Scenario& scenario) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(800);
  while (Clock::now() < end) {
    for (const auto part = Clock::now() + std::chrono::milliseconds(2); Clock::now() < part;) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  return as_text(right_outcome(scenario), scenario);
}

std::string print_much(const Scenario& scenario) {
  for (int i = 0; i < 3000; ++i) std::printf("{\"answer\":%d} from the engine\n", i);
  std::fflush(stdout);
  std::fputs("the last words of the engine\n", stderr);
  return as_text(right_outcome(scenario), scenario);
}

std::string print_and_abort(const Scenario& scenario) {
  print_much(scenario);
  std::abort();
}

std::string litter_and_die(const Scenario&) {
  const auto folder = std::filesystem::temp_directory_path() / "left behind";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "file") << "litter";
  std::raise(SIGKILL);
  return {};
}

std::string alternate(const Scenario& scenario) {
  return as_text(runs % 2 == 0 ? right_outcome(scenario) : wrong_outcome(scenario), scenario);
}

std::string spoil(const Scenario& scenario) {
  std::string text = as_text(right_outcome(scenario), scenario);
  spoiled = true;
  return text;
}

std::string lack(const Scenario& scenario) {
  Outcome outcome;
  outcome.unsupported = "a feature that was claimed";
  return as_text(outcome, scenario);
}

std::string die_at_exit(const Scenario& scenario) {
  std::atexit([] { std::abort(); });
  return as_text(right_outcome(scenario), scenario);
}

const std::map<std::string, Behaviour, std::less<>> behaviours = {
    {"fake/crash/null", crash_at_null},
    {"fake/crash/thread", crash_on_a_thread},
    {"fake/crash/overflow", [](const Scenario&) { return std::to_string(overflow(0)); }},
    {"fake/crash/abort", print_and_abort},
    {"fake/crash/litter", litter_and_die},
    {"fake/crash/exit", [](const Scenario&) -> std::string { std::exit(0); }},
    {"fake/crash/killed", [](const Scenario&) { return std::to_string(kill(getpid(), SIGKILL)); }},
    {"fake/hang/wait", wait_for_ever},
    {"fake/hang/spin", spin},
    {"fake/slow", compute_little_by_little},
    {"fake/garbage/text", [](const Scenario&) { return std::string("not JSON at all"); }},
    {"fake/garbage/number", [](const Scenario&) { return std::string("{}, \"answer\": 1"); }},
    {"fake/garbage/outcome", [](const Scenario&) { return std::string("{\"surprise\": 1}"); }},
    {"fake/print", print_much},
    {"fake/flaky", alternate},
    {"fake/spoil", spoil},
    {"fake/lack", lack},
    {"fake/exit-badly", die_at_exit},
};

std::string answer(const Scenario& scenario) {
  const auto behaviour = behaviours.find(scenario.id);
  if (behaviour != behaviours.end()) return behaviour->second(scenario);
  return as_text(spoiled ? wrong_outcome(scenario) : right_outcome(scenario), scenario);
}

int describe(gradcts_reply reply, void* context) {
  Description description;
  description.name = "fake";
  description.version = "1.0";
  description.dialect = "reference";
  description.features = {"operation.*", "type.*"};
  for (const FeatureSpec& feature : all_features()) {
    if (!feature.name.starts_with("device")) description.features.emplace_back(feature.name);
  }
  const std::string text = write_description(description).dump();
  reply(context, text.data(), text.size());
  return 0;
}

int run(const char* text, size_t size, gradcts_reply reply, void* context) {
  ++runs;
  const Scenario scenario = read_scenario(parse_json({text, size}));
  if (scenario.id == "fake/refuse") {
    constexpr std::string_view reason = "the adapter does not feel like it";
    reply(context, reason.data(), reason.size());
    return 1;
  }
  if (scenario.id == "fake/silent") return 0;
  const std::string outcome = answer(scenario);
  reply(context, outcome.data(), outcome.size());
  if (scenario.id == "fake/twice") reply(context, outcome.data(), outcome.size());
  return 0;
}

constexpr gradcts_adapter_functions functions = {GRADCTS_INTERFACE_VERSION, describe, run};

}  // namespace
}  // namespace gradcts

extern "C" __attribute__((visibility("default"))) const gradcts_adapter_functions*
gradcts_adapter() {
  return &gradcts::functions;
}
