// The errors that the engine itself raises. What user code throws (in a node, hook or callback) is
// never wrapped: it reaches the caller as it is (ERR-1).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace gradcts::reference {

// What went wrong, for programs. The message says the same for people: it names the node, the
// index, and what was expected and found.
enum class ErrorCategory {
  gradient_count,         // a node returned another number of gradients than it has edges (VAL-1)
  gradient_shape,         // a gradient's shape cannot be summed to the recorded one (VAL-2)
  gradient_type,          // a complex gradient for a real input (VAL-3)
  gradient_device,        // a gradient on another device than recorded (VAL-4)
  unused_input,           // grad() was asked for an input that the roots do not reach (PRUNE-4)
  graph_released,         // a second pass through what the first one released (KEEP-1)
  saved_tensor_modified,  // a saved tensor was changed in place since (KEEP-3)
  not_differentiable,     // asked for a gradient of, or through, what has none (GRAPH2-3)
  outside_pass,           // something that only means something inside a pass (CB-3, PRUNE-8)
  in_place,          // a change in place of what must not be changed: a leaf, an expanded tensor
  invalid_argument,  // a call that can never be right: empty inputs=, shapes that do not match
  hook_result,       // a hook returned a wrong count, shape, type or device (HOOK-3)
  nan_gradient,      // anomaly mode found a NaN (ANOM-1)
  incomplete_pass,   // nodes were left unserved, or were served too often (ERR-7)
  forked,            // a child forked after worker threads started (FORK-1)
  stopped,           // a pass after stop() (SHUT-4)
  device_failure,    // a device refused to be used (DEV-5)
  reducer,                // a reducer was used as it must not be (RED-1, RED-6)
  rank_failure,           // another rank left, gave up, came too late, did something else (RED-11)
};

std::string_view to_string(ErrorCategory category);

class Error : public std::runtime_error {
 public:
  Error(ErrorCategory category, const std::string& message)
      : std::runtime_error(message), category_(category) {}

  ErrorCategory category() const { return category_; }

 private:
  ErrorCategory category_;
};

}  // namespace gradcts::reference
