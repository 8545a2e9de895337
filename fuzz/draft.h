// A scenario while the decoder makes it, with what must be known to keep it valid, exact and
// finite.
//
// Note [Always valid]
// Leaves and nodes are items, numbered in the order in which they are made. A script of item i, its
// hooks included, uses only items below i, and starts passes only from them. So whatever it uses is
// made when it runs, and no pass can nest without end.
//
// Note [Always exact]
// All values are small integers, and every sum along the graph must stay below 2^53 (2^24 for
// float32), or the order of additions would show. `range` bounds the elements of a value, `spread`
// the sum over all paths below it of the products of their factors: a gradient is at most seed *
// spread. A node that would pass the limit becomes a harmless one.
//
// Note [Always finished]
// `cost` bounds how many nodes run when an item runs, nested passes included. A pass that would
// cost too much is left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/scenario/scenario.h"
#include "fuzz/choices.h"
#include "fuzz/claims.h"
#include "fuzz/index.h"

namespace gradcts::fuzz {

using ItemSet = std::uint64_t;  // bit i: item i
inline constexpr std::size_t most_items = 60;
inline constexpr double most_cost = 300;

// What the header lets into a case.
struct Plan {
  Plan(Choices& header, const Claims& claims);

  Shape shape;
  ScalarType type = ScalarType::float64;
  std::int32_t threads = 0;  // of the parallel step; 0: none
  bool sim = false, second_sim = false, other = false, streams = false;
  bool nested = false, callbacks = false, errors = false, undefined = false, scripts_throw = false;
  bool tensor_hooks = false, retain_grad = false, pre_hooks = false, post_hooks = false;
  bool post_accumulate = false, capture_hooks = false, multi_hooks = false, saved_hooks = false;
  bool hook_steps = false, create = false, in_place = false, changes = false, drops = false;
  bool requires_grad = false, set_grad = false, anomaly = false, modes = false, locks = false;
  bool observes = false, keeps = false, views = false, arithmetic = false, functions = false;
  bool conversions = false, pools = false, sparse = false, strides = false, materialise = false;
  bool undefined_seeds = false, stop = false, checkpoints = false, grads = false, inputs = false;
  bool nan = false;
  bool nesting_limit = true, device_set = true, strict = true, zeros_for_unused = true;

 private:
  void keep_to(const Claims& claims);
};

// What is known of a value.
struct Known {
  std::int32_t item = 0;
  Shape shape;
  ScalarType type = ScalarType::float64;
  Device device;
  double range = 1;
  double spread = 1;
  bool tracked = false;      // has history, or requires a gradient
  ItemSet reach = 0;         // items that a pass from here may run
  std::int32_t thread = -1;  // the thread that makes it; -1: the program
  std::int32_t storage = 0;  // which values share elements
  bool may_change = false;   // an in-place operation may change it
  bool row_major = true;     // surely: a `view` may then have any shape
  bool usable = true;        // false: a script makes it, so it comes and goes as the engine runs
  bool detached = false;     // its history is not that of the others who share its elements
  bool in_script = false;    // a script or a loose hook uses it: it is never dropped or changed
  bool dropped = false;
};

struct Draft {
  Draft(Choices& header, const Claims& what) : claims(what), plan(header, what) {}

  const Claims& claims;
  Plan plan;
  Scenario scenario;
  std::vector<Known> known;                // by ValueId
  std::vector<double> cost;                // by item
  std::vector<NodeId> node_items;          // by NodeId: its item
  std::vector<std::int32_t> node_threads;  // by NodeId: as Known::thread
  std::vector<StreamId> node_streams;      // by NodeId
  std::vector<bool> frozen;                // by storage: no in-place operation may change it
  std::vector<HookId> loose_hooks;         // added and removed by steps
  std::int32_t next_name = 0;

  ValueId add_value(std::string name, Value::Origin origin, std::int32_t producer,
                    std::int32_t index, Known facts);
  std::string fresh_name(const char* prefix);
  void expect_items(std::size_t count);  // for speed alone
  Known& of(ValueId value) { return known[at(value)]; }
  std::size_t items() const { return cost.size(); }
  double cost_of(ItemSet reach) const;
  double most_spread() const;
  // Whether factors and elements of this size stay exact.
  bool is_exact(double spread, double range) const;
};

// A value that `fits`, searched backwards from one that is chosen; no_id when there is none.
template <typename Fits>
ValueId pick(Draft& draft, Choices& choices, Fits fits) {
  const auto count = static_cast<std::int32_t>(draft.known.size());
  if (count == 0) return no_id;
  // The newest ones most: else graphs are flat.
  const std::int32_t newest = choices.one_in(3) ? count : std::min(count, 4);
  const std::int32_t start = count - 1 - static_cast<std::int32_t>(choices.below(at(newest)));
  for (std::int32_t i = 0; i < count; ++i) {
    const ValueId value = (start - i + count) % count;
    if (draft.known[at(value)].usable && fits(value)) return value;
  }
  return no_id;
}

// A tensor of small integers like that value; no two elements the same.
TensorValue small_integers(const Known& like, std::uint32_t first);
double elements(const Shape& shape);

// ---- The parts of the decoder, each for one record
void add_leaf(Draft& draft, Choices& choices);
void add_node(Draft& draft, Choices& choices);
void add_program(Draft& draft, const std::vector<Bytes>& records);

// Where a script stands.
struct Place {
  std::int32_t item = 0;  // uses what is below it
  std::int32_t slots = 0;
  std::int32_t thread = -1;  // as Known::thread; any_thread: of all
  bool knows_needed = false;
  bool in_script = true;
  bool in_node = false;  // of a custom node, not of a hook
};
inline constexpr std::int32_t any_thread = -2;
Steps script_steps(Draft& draft, Choices& choices, const Place& place);
Step observe_step(Draft& draft, Choices& choices, const Place& place);

// Hooks on a new value and its node; for a leaf the node is `stand_in(leaf)`.
void add_hooks(Draft& draft, Choices& choices, ValueId value, NodeId node);
HookId add_saved_hook(Draft& draft, Choices& choices);

// An accumulator's NodeId is not known before all nodes are: until then it is this.
inline NodeId stand_in(std::int32_t leaf) {
  return -2 - leaf;
}

// A pass from values below the place's item. Nothing when there are none, or when it would cost too
// much; else `cost` is what it costs.
std::optional<PassStep> make_pass(Draft& draft, Choices& choices, const Place& place, double& cost);

template <typename Action>
Step step_of(Action action) {
  Step step;
  step.action = std::move(action);
  return step;
}

}  // namespace gradcts::fuzz
