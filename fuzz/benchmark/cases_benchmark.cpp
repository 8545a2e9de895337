// What a random case costs, and which part of it: for ci/bench and docs/fuzz.md.
//
// Each benchmark goes through the same cases again and again; an iteration is all of them. Times
// are the processor's, of all threads. `cases_a_second` of "cases/reference" is the harness figure;
// the parts add up to it. For libtorch, `harness` is everything but the time inside its adapter
// that is not JSON.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/checker/checker.h"
#include "conformance/runner/adapter_library.h"
#include "conformance/scenario/json.h"
#include "fuzz/generate.h"

namespace gradcts::fuzz {
namespace {

constexpr std::uint64_t case_count = 256;

struct Prepared {
  std::shared_ptr<const Scenario> scenario;
  Expectation expectation;
  Outcome outcome;
  std::string request, answer;
};

Dialect reference_dialect() {
  static const Dialect dialect = describe_reference().make_dialect();
  return dialect;
}

// Every case that the oracle judges, with what each part of the harness is given.
const std::vector<Prepared>& reference_cases() {
  static const std::vector<Prepared> cases = [] {
    std::vector<Prepared> all;
    for (std::uint64_t i = 0; i < case_count; ++i) {
      Prepared one;
      one.scenario = std::make_shared<const Scenario>(random_scenario(1, i));
      one.expectation = expect(*one.scenario, reference_dialect());
      if (!one.expectation.cannot_tell.empty()) continue;
      one.outcome = run_on_reference(one.scenario);
      all.push_back(std::move(one));
    }
    return all;
  }();
  return cases;
}

void count(benchmark::State& state, std::size_t cases) {
  using benchmark::Counter;
  state.counters["cases_a_second"] =
      Counter(static_cast<double>(cases), Counter::kIsIterationInvariantRate);
  state.counters["ns_a_case"] = Counter(static_cast<double>(cases) / 1e9,
                                        Counter::kIsIterationInvariantRate | Counter::kInvert);
}

template <typename Part>
void measure(benchmark::State& state, const std::vector<Prepared>& cases, Part part) {
  for (auto _ : state) {
    for (const Prepared& one : cases) part(one);
  }
  count(state, cases.size());
}

void whole(benchmark::State& state) {
  const Dialect dialect = reference_dialect();
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < case_count; ++i) {
      const auto scenario = std::make_shared<const Scenario>(random_scenario(1, i));
      const Expectation expectation = expect(*scenario, dialect);
      if (!expectation.cannot_tell.empty()) continue;
      benchmark::DoNotOptimize(check({*scenario, expectation, run_on_reference(scenario)}));
    }
  }
  count(state, case_count);
}
BENCHMARK(whole)->Name("cases/reference")->MeasureProcessCPUTime();

void decoding(benchmark::State& state) {
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < case_count; ++i) {
      benchmark::DoNotOptimize(random_scenario(1, i));
    }
  }
  count(state, case_count);
}
BENCHMARK(decoding)->Name("cases/decode")->MeasureProcessCPUTime();

void oracle(benchmark::State& state) {
  const Dialect dialect = reference_dialect();
  measure(state, reference_cases(),
          [&](const Prepared& one) { benchmark::DoNotOptimize(expect(*one.scenario, dialect)); });
}
BENCHMARK(oracle)->Name("cases/oracle")->MeasureProcessCPUTime();

void engine(benchmark::State& state) {
  measure(state, reference_cases(),
          [](const Prepared& one) { benchmark::DoNotOptimize(run_on_reference(one.scenario)); });
}
BENCHMARK(engine)->Name("cases/engine")->MeasureProcessCPUTime();

void judging(benchmark::State& state) {
  measure(state, reference_cases(), [](const Prepared& one) {
    benchmark::DoNotOptimize(check({*one.scenario, one.expectation, one.outcome}));
  });
}
BENCHMARK(judging)->Name("cases/judge")->MeasureProcessCPUTime();

#ifdef GRADCTS_LIBTORCH_ADAPTER

struct Libtorch {
  AdapterLibrary library{GRADCTS_LIBTORCH_ADAPTER};
  Description description = read_description(parse_json(library.describe().text));
  Dialect dialect = description.make_dialect();
  Claims claims{description.features};
  std::vector<Prepared> cases;
};

Libtorch& libtorch() {
  static Libtorch engine = [] {
    Libtorch made;
    for (std::uint64_t i = 0; i < case_count; ++i) {
      Prepared one;
      one.scenario = std::make_shared<const Scenario>(random_scenario(1, i, made.claims));
      one.expectation = expect(*one.scenario, made.dialect);
      one.request = write_scenario(*one.scenario).dump();
      if (!one.expectation.cannot_tell.empty()) continue;
      // A fault that is known can end the process: only what the oracle expects to succeed.
      bool fails = false;
      for (const ExpectedStep& step : one.expectation.steps) fails |= step.result.error.has_value();
      if (fails) continue;
      const AdapterLibrary::Reply reply = made.library.run(one.request);
      if (!reply.ok) continue;
      one.answer = reply.text;
      one.outcome = read_outcome(parse_json(one.answer), *one.scenario);
      made.cases.push_back(std::move(one));
    }
    return made;
  }();
  return engine;
}

void whole_on_libtorch(benchmark::State& state) {
  Libtorch& torch = libtorch();
  measure(state, torch.cases, [&](const Prepared& one) {
    const Expectation expectation = expect(*one.scenario, torch.dialect);
    const std::string answer = torch.library.run(write_scenario(*one.scenario).dump()).text;
    const Outcome outcome = read_outcome(parse_json(answer), *one.scenario);
    benchmark::DoNotOptimize(check({*one.scenario, expectation, outcome}));
  });
}
BENCHMARK(whole_on_libtorch)->Name("cases/libtorch")->MeasureProcessCPUTime();

// All of that without the engine: the adapter's JSON is what ours is, the other way round.
void harness_of_libtorch(benchmark::State& state) {
  Libtorch& torch = libtorch();
  measure(state, torch.cases, [&](const Prepared& one) {
    const Expectation expectation = expect(*one.scenario, torch.dialect);
    const std::string request = write_scenario(*one.scenario).dump();
    const Scenario given = read_scenario(parse_json(request));
    benchmark::DoNotOptimize(write_outcome(one.outcome, given).dump());
    const Outcome outcome = read_outcome(parse_json(one.answer), *one.scenario);
    benchmark::DoNotOptimize(check({*one.scenario, expectation, outcome}));
  });
}
BENCHMARK(harness_of_libtorch)->Name("cases/libtorch_harness")->MeasureProcessCPUTime();

#endif

}  // namespace
}  // namespace gradcts::fuzz

BENCHMARK_MAIN();
