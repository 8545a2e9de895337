// The hooks of one node, of every kind that hangs on nodes, and what else few nodes have.
#pragma once

#include <memory>
#include <vector>

#include "reference_engine/graph/anomaly.h"
#include "reference_engine/graph/gradient_cell.h"
#include "reference_engine/graph/hooks.h"

namespace gradcts::reference {

// Hooks of the tensor that a slot belongs to.
struct SlotHooks {
  HookList<TensorHook> tensor;
  std::vector<GradientCellPointer> retained;  // usually one: where the tensor's gradient is kept
};

struct NodeHooks {
  explicit NodeHooks(std::size_t slot_count) : slots(slot_count) {}

  HookList<NodePreHook> pre;
  HookList<NodePostHook> post;
  HookList<PostAccumulateHook> post_accumulate;  // of leaf accumulators

  // Null where the slot has none.
  std::shared_ptr<SlotHooks> slot(std::uint32_t number) const {
    LockGuard lock(mutex);
    return number < slots.size() ? slots[number] : nullptr;
  }

  std::shared_ptr<SlotHooks> make_slot(std::uint32_t number) {
    LockGuard lock(mutex);
    if (number >= slots.size()) slots.resize(number + 1);
    if (!slots[number]) slots[number] = std::make_shared<SlotHooks>();
    return slots[number];
  }

  // Cells change rarely, by the thread that owns the tensor, and are read by passes.
  void retain(std::uint32_t number, const GradientCellPointer& cell) {
    auto hooks = make_slot(number);
    LockGuard lock(mutex);
    hooks->retained.push_back(cell);
  }
  void stop_retaining(std::uint32_t number, const GradientCellPointer& cell) {
    auto hooks = make_slot(number);
    LockGuard lock(mutex);
    std::erase(hooks->retained, cell);
  }
  std::vector<GradientCellPointer> retained(const SlotHooks& hooks) const {
    LockGuard lock(mutex);
    return hooks.retained;
  }

  NodeOriginPointer origin;  // in anomaly mode; set before the node is used

  mutable Mutex mutex;
  std::vector<std::shared_ptr<SlotHooks>> slots GRADCTS_GUARDED_BY(mutex);
};

}  // namespace gradcts::reference
