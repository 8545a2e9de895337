// The records of a report for programs, `gradcts.report/1`: one JSON object for each thing that a
// run tells. The JSON lines hold them (json_lines.h), and the page is made of them (page.h), so
// that a page can be made later, and of several runs.
//
// A "scenario" record holds the plain scenario as the engine was asked it, and for every verdict
// but pass and unsupported also the outcome: enough to draw, judge and replay the case without the
// suite that it came from. What is larger than `largest_part` bytes is left out and named in
// `left_out`.
#pragma once

#include <cstddef>
#include <string>

#include "conformance/runner/result.h"
#include "conformance/scenario/json.h"

namespace gradcts {

inline constexpr std::size_t largest_part = 512 * 1024;

Json header_record(const RunHeader& header);
Json scenario_record(const ScenarioResult& result, const RunHeader& header);
Json problem_record(const RunProblem& problem);
Json summary_record(const RunSummary& summary);

// JSON text on one line, whatever bytes an engine put into it.
std::string json_line(const Json& json);

}  // namespace gradcts
