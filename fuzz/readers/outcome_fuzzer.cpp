// Outcomes of a few scenarios with hooks, threads, streams and callbacks: what was read is written and
// reads back as the same, and can be drawn, explained, compared and judged.
#include "conformance/report/explain.h"
#include "conformance/report/timeline.h"
#include "conformance/report/trace.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/suite.h"
#include "conformance/spec/spec.h"
#include "fuzz/readers/reader_fuzzer.h"

namespace gradcts {
namespace {

void use(const Json& json, const Scenario& scenario) {
  const Outcome outcome = read_outcome(json, scenario);
  const std::string written = write_outcome(outcome, scenario).dump();
  const Outcome again = read_outcome(parse_json(written), scenario);
  demand(write_outcome(again, scenario).dump() == written,
         "an outcome changes when it is written and read");
  trace_json(scenario, make_timeline(scenario, outcome));
  explain(scenario, outcome);
  const Expectation expectation = expect_safely(scenario, make_dialect("reference"));
  fingerprint(scenario, expectation, outcome);
  judge(scenario, expectation, {WorkerAnswer::Kind::outcome, json, {}});
}

}  // namespace
}  // namespace gradcts

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradcts;
  static const std::vector<SuiteEntry> entries = load_suites(GRADCTS_FUZZED_SCENARIOS);
  for (const SuiteEntry& entry : entries) {
    try {
      use(parse_json(text_of(data, size)), entry.scenario);
    } catch (const FormatError& refusal) {
      demand_one_line(refusal);
    }
  }
  return 0;
}
