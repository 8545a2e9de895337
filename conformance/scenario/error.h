// The fixed list of error categories: what a clause can demand of an error, whatever words an
// engine uses for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gradcts {

enum class ErrorCategory : std::uint8_t {
  user,                // the scenario's own `throw` step
  gradient_count,      // VAL-1: wrong number of gradients
  gradient_shape,      // VAL-2
  gradient_type,       // VAL-3
  gradient_device,     // VAL-4
  hook_result,         // HOOK-3: wrong count or kind of result from a hook
  unused_input,        // PRUNE-4: a requested input that is never reached
  invalid_argument,    // a call that can never work: no inputs, a root without history, ...
  graph_released,      // KEEP-1: a second pass through what was released
  saved_modified,      // KEEP-3: a saved tensor changed in place since
  not_differentiable,  // GRAPH2-3
  outside_pass,        // CB-3, HOOK ("will this run?") outside a pass
  nan_gradient,        // ANOM-1
  incomplete,          // ERR-7: nodes left unserved, or an unknown dependency
  forked,              // FORK-1
  stopped,             // SHUT-4
  in_place,        // an in-place change that autograd must refuse (on a leaf that requires grad)
  device_failure,  // DEV-5
  stream_capture,  // STREAM-5, STREAM-6: what the capture of a stream forbids
  reducer,         // RED
  other,           // an error that the adapter could not classify
};

std::string_view to_text(ErrorCategory category);
std::optional<ErrorCategory> error_category_from_text(std::string_view text);

}  // namespace gradcts
