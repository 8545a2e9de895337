// The kinds of hook, and lists of them.
//
// Order at a node (HOOK-1): tensor hooks in order of registration, retain-grad, capture and capture
// hooks, node pre-hooks, the node, node post hooks. At a leaf: tensor hooks, accumulation,
// post-accumulate hooks, node post hooks.
//
// A hook that returns std::nullopt keeps the value; one that returns something replaces it, for the
// next hook as well (HOOK-3). From hooks on one gradient an undefined tensor is nothing, too; in the
// list that a node's hook returns it takes a gradient away. What is returned is validated like a node's output, and a mismatch is
// Error(hook_result) that names the hook. Whatever a hook throws is the pass's error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference_engine/graph/gradients.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// On a tensor: sees the whole gradient of the tensor, which is undefined if it is "none" (HOOK-4).
using TensorHook = std::function<std::optional<Tensor>(const Tensor& gradient)>;

// On a node, before it runs.
using NodePreHook = std::function<std::optional<Gradients>(const Gradients& inputs)>;

// On a node, after it ran; `inputs` are what it was given.
using NodePostHook =
    std::function<std::optional<Gradients>(const Gradients& outputs, const Gradients& inputs)>;

// On a leaf, after its `.grad` was added to.
using PostAccumulateHook = std::function<void(const Tensor& leaf)>;

// On one capture of a grad() call: changes what is captured and not what flows on (HOOK-7).
using CaptureHook = std::function<std::optional<Tensor>(const Tensor& gradient)>;

// Takes a hook out of its list; harmless if it is out already or the list is gone. A copy stands
// for the same hook. Safe from any thread and from inside any hook, itself included (HOOK-5): a
// hook that was removed does not start any more.
class HookHandle {
 public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove)
      : remove_(std::make_shared<std::function<void()>>(std::move(remove))) {}
  void remove() const {
    if (remove_) (*remove_)();
  }

 private:
  std::shared_ptr<std::function<void()>> remove_;
};

// An ordered list of hooks of one kind. Safe from any thread; no lock is held while a hook runs or
// is destroyed. Hooks that are added while the list runs, run in the same round (HOOK-5).
template <typename Hook>
class HookList {
 public:
  HookList() : entries_(std::make_shared<Entries>()) {}

  HookHandle add(Hook hook) {
    auto entry = std::make_shared<Entry>(std::move(hook));
    {
      LockGuard lock(entries_->mutex);
      entry->number = entries_->next_number++;
      entries_->list.push_back(entry);
    }
    return HookHandle(
        [entries = std::weak_ptr<Entries>(entries_), entry = std::weak_ptr<Entry>(entry)] {
          auto list = entries.lock();
          if (list) list->remove(entry.lock());
        });
  }

  bool empty() const {
    LockGuard lock(entries_->mutex);
    return entries_->list.empty();
  }

  // Calls visit(hook, number) for each hook; the number counts registrations from 0 and names the
  // hook in messages.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    std::int64_t last = -1;
    while (std::shared_ptr<Entry> entry = entries_->after(last)) {
      last = entry->number;
      visit(entry->hook, last);
    }
  }

 private:
  struct Entry {
    explicit Entry(Hook h) : hook(std::move(h)) {}
    Hook hook;
    std::int64_t number = 0;
  };

  struct Entries {
    Mutex mutex;
    std::int64_t next_number GRADCTS_GUARDED_BY(mutex) = 0;
    std::vector<std::shared_ptr<Entry>> list GRADCTS_GUARDED_BY(mutex);  // by number

    std::shared_ptr<Entry> after(std::int64_t number) {
      LockGuard lock(mutex);
      for (const auto& entry : list) {
        if (entry->number > number) return entry;
      }
      return nullptr;
    }

    // `entry` is let go after the lock, by the caller's argument.
    void remove(const std::shared_ptr<Entry>& entry) {
      LockGuard lock(mutex);
      std::erase(list, entry);
    }
  };

  std::shared_ptr<Entries> entries_;
};

}  // namespace gradcts::reference
