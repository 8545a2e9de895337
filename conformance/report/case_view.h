// What the page shows of one case, as plain data: the drawing of its graph and program, and for a
// case that did not pass the evidence of what happened.
#pragma once

#include "conformance/checker/verdict.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/json.h"

namespace gradcts {

// {"nodes": [{"name", "text", "kind": "node"|"leaf"|"value", "device"?, "flags"?: [...], "hooks"?:
// [...]}],
//  "edges": [[from, to, label], ...],      in the direction of the backward, by index
//  "program": [[indent, step or -1, text, expectation], ...], "text": the graph as text}
// Flags: "root"; "captured": a pass asks for its gradient; "still": no pass may run it, since it is
// pruned or no root reaches it; "no_grad": a leaf that requires none. Graphs beyond `most_vertices`
// are given as text alone.
Json case_drawing(const Scenario& scenario, const Expectation& expectation);
inline constexpr std::size_t most_vertices = 2000;

// {"nodes": {index: {"runs", "least", "most", "bad"?}}, "steps": [ids of those that a finding
// names],
//  "results": [[where, expected, observed, bad], ...], "missing": [events that had to happen, ...],
//  "lanes": [[kind, name], ...], "bars": [[lane, begin, end, depth, kind, name, detail, bad], ...],
//  "arrows": [[from lane, time, to lane, time, reason], ...], "shown", "events", "state": [...]}
Json case_evidence(const Scenario& scenario, const Expectation& expectation, const Outcome& outcome,
                   const std::vector<Finding>& findings);
inline constexpr std::size_t most_events = 500;

}  // namespace gradcts
