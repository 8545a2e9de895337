// A run of one scenario for the viewers of profilers (Perfetto, chrome://tracing, Speedscope): the
// trace event format, as JSON.
#pragma once

#include "conformance/report/timeline.h"
#include "conformance/scenario/json.h"

namespace gradcts {

// Threads are threads of the process "engine", streams those of the process "streams"; each arrow
// is a flow. One microsecond is one step of the logical clock: lengths say what happened in
// between, and nothing of speed.
Json trace_json(const Scenario& scenario, const Timeline& timeline);

}  // namespace gradcts
