// Outcomes of a scenario that has every kind of event: what was read is written and reads back as the
// same, and can be drawn, explained and judged.
#include "conformance/report/explain.h"
#include "conformance/report/timeline.h"
#include "conformance/report/trace.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/scenario_samples.h"
#include "conformance/spec/spec.h"
#include "fuzz/readers/reader_fuzzer.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradcts;
  static const Scenario scenario = everything();
  static const Expectation expectation = expect_safely(scenario, make_dialect("reference"));
  try {
    const Json json = parse_json(text_of(data, size));
    const Outcome outcome = read_outcome(json, scenario);
    const std::string written = write_outcome(outcome, scenario).dump();
    const Outcome again = read_outcome(parse_json(written), scenario);
    demand(write_outcome(again, scenario).dump() == written,
           "an outcome changes when it is written and read");
    trace_json(scenario, make_timeline(scenario, outcome));
    explain(scenario, outcome);
    fingerprint(scenario, expectation, outcome);
    judge(scenario, expectation, {WorkerAnswer::Kind::outcome, json, {}});
  } catch (const FormatError& refusal) {
    demand_one_line(refusal);
  }
  return 0;
}
