// The end of the outermost pass, for what takes part in a whole pass without being a node of it.
#pragma once

#include <functional>

namespace gradcts::reference {

// Calls `end` once, when the outermost pass around the running one is over: with true as one of its
// final callbacks (CB-1), with false when the pass failed before it came to that. Later calls with
// the same key in the same outermost pass change nothing. `end(false)` may come on any thread, and
// what it throws is dropped. Returns whether this call was the first. Outside of a pass:
// Error(outside_pass).
//
// A pass that may return at its first error (exit_on_error) counts as outermost: the passes around
// it may be gone while its nodes still run.
bool at_end_of_outermost_pass(const void* key, std::function<void(bool completed)> end);

}  // namespace gradcts::reference
