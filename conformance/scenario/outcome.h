// Outcome: what an engine did with a scenario, as plain data. Written as `gradcts.outcome/1`.
//
// Ids are those of the scenario. An Outcome is only meaningful together with its scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/scenario/error.h"
#include "conformance/scenario/scenario.h"
#include "conformance/scenario/tensor_value.h"

namespace gradcts {

struct ErrorReport {
  ErrorCategory category = ErrorCategory::other;
  std::string token;     // user errors: the token of the `throw` step
  bool foreign = false;  // user errors: arrived as the foreign type
  std::string text;      // the engine's own words
};

// What one execution of one step gave. A step that runs several times (in a loop, or in a script
// that runs again) has several results, told apart by `occurrence` (0, 1, ... in the order of their
// ends).
struct StepResult {
  StepId step = no_id;
  std::int32_t occurrence = 0;
  std::int16_t thread = 0;
  std::optional<ErrorReport> error;
  // read: the values, then the grads. grad: the returned gradients. An unset entry is undefined.
  std::vector<std::optional<TensorValue>> values;
};

enum class EventKind : std::uint8_t {
  node_enter,            // subject: NodeId; values: the gradients that flow in (scripted nodes)
  node_exit,             // subject: NodeId; values: the gradients produced (scripted nodes)
  tensor_hook,           // subject: HookId; values: what the hook was given, as for all hooks below
  node_pre_hook,         // subject: HookId
  node_post_hook,        // subject: HookId
  post_accumulate_hook,  // subject: HookId
  capture_hook,          // subject: HookId
  multi_hook,            // subject: HookId
  pack,                  // subject: HookId of a saved hook
  unpack,                // subject: HookId
  callback,              // subject: CallbackId
  pass_begin,            // subject: StepId of the backward or grad step
  pass_end,              // subject: StepId; also when the pass ended with an error
  observe,               // subject: StepId of the observe step; number: what was seen
  destroyed,  // subject: CallbackId; number: 0 on a thread of the program, 1 on one of the engine,
              // 2 on one of the program whose steps are over
};

// Something that happened. The position in Outcome::events is the logical clock: an event that
// happened before another (on one thread, or ordered by a lock, queue, barrier, start or join)
// stands before it. Events of different threads that nothing orders stand in either order.
struct Event {
  EventKind kind = EventKind::node_enter;
  std::int32_t subject = no_id;
  // Nodes: which making of the node, 0 for the first forward. Others: occurrence of (kind,
  // subject).
  std::int32_t instance = 0;
  std::int16_t thread = 0;  // 0 is the main thread; others are numbered as they first appear
  std::int64_t number = 0;
  std::vector<std::optional<TensorValue>> values;
};

// One use of the memory of a device, by work that was put on a stream.
struct DeviceAccess {
  enum class Kind : std::uint8_t { read, write, free };
  Kind kind = Kind::read;
  std::string stream;  // a stream of the scenario, or "sim:0": that device's default stream. free:
                       // the one that the memory belongs to
  std::string work;    // the engine's name for it: "mul"; free: empty
  std::string of;      // what it was done for: "node y"; empty: nobody knows
};

// Two uses of one piece of memory that no wait and no registration orders, whatever the numbers
// came out as (STREAM-2, STREAM-3).
struct UnorderedAccess {
  DeviceAccess access;
  DeviceAccess earlier;  // a read or a write
  bool freed_between = false;
};

// What the engine's state was when everything was over and the adapter had let go of all handles.
struct FinalState {
  // Scripted nodes, hooks and callbacks that are still alive: 0 when nothing leaks (LIFE-1).
  std::int64_t live_objects = 0;
  // Whether the main thread's recording mode, user state, device, stream, depth and "inside a pass"
  // were the same after each pass as before it (ERR-4). A line of text for each difference.
  std::vector<std::string> state_changes;
  // What a simulated device found, in the order in which it was asked for.
  std::vector<UnorderedAccess> unordered_accesses;
  // Threads that the engine keeps for itself; unset when the adapter cannot tell.
  std::optional<std::int32_t> engine_threads;
};

struct Outcome {
  std::vector<StepResult> steps;  // in order of their ends
  std::vector<Event> events;
  // The `.grad` of each leaf after the program, in order of the leaves; unset when undefined or
  // when the program dropped the leaf.
  std::vector<std::optional<TensorValue>> leaf_grads;
  FinalState state;
  // Set when the engine could not run the scenario for lack of a feature; nothing else counts then.
  std::string unsupported;
};

std::string_view to_text(EventKind kind);
std::string_view to_text(DeviceAccess::Kind kind);

}  // namespace gradcts
