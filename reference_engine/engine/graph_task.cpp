#include "reference_engine/engine/graph_task.h"

#include "reference_engine/engine/block_cache.h"
#include "reference_engine/memory/live_count.h"

namespace gradcts::reference {
namespace {

// Threads take numbers in blocks, so that callers on separate graphs share nothing for each pass.
std::uint64_t next_pass_id() {
  constexpr std::uint64_t block = 1024;
  static CountAtomic<std::uint64_t> next_block{0};
  thread_local std::uint64_t next = 0;
  if (next % block == 0) next = next_block.fetch_add(1, std::memory_order_relaxed) * block;
  ++next;
  // The lower half is what nodes are claimed with, and must not be 0.
  return static_cast<std::uint32_t>(next) == 0 ? next_pass_id() : next;
}

// As many as nest on a thread by default, and those that its nodes call after one another.
using Tasks = BlockCache<sizeof(GraphTask), 64>;

}  // namespace

GraphTask::GraphTask(const PassOptions& pass_options, int pass_depth, GraphTask* outer,
                     std::shared_ptr<ReadyQueue> ready_queue)
    : options(pass_options),
      id(next_pass_id()),
      depth(pass_depth),
      parent(pass_options.exit_on_error ? nullptr : outer),
      queue(std::move(ready_queue)),
      user_value(thread_local_value()),
      anomaly(anomaly_mode()),
      is_checkpoint_valid(!outer || outer->is_checkpoint_valid),
      states(static_cast<std::uint32_t>(id)) {
  count_live(LiveKind::pass, 1);
}

GraphTask::~GraphTask() {
  count_live(LiveKind::pass, -1);
}

void* GraphTask::operator new(std::size_t) {
  return Tasks::take();
}

void GraphTask::operator delete(void* memory) {
  Tasks::give_back(memory);
}

ReadyQueue& GraphTask::queue_of(const Node& node) const {
  const Device device = node.stream().device;
  for (const auto& [candidate, device_queue] : device_queues) {
    if (candidate == device) return *device_queue;
  }
  return *queue;
}

bool GraphTask::is_needed(const Node& node) const {
  if (!is_pruned) return true;
  if (compiled) return compiled->takes_part(node);
  const auto look = [&] {
    const NodeState* state = states.find(node);
    return state && state->takes_part();
  };
  if (is_local) return look();
  LockGuard lock(mutex);
  return look();
}

bool GraphTask::runs(const Node& node) const {
  if (compiled) return compiled->runs(node);
  const auto look = [&] {
    const NodeState* state = states.find_address(&node);
    return state && state->needed;
  };
  if (is_local) return look();
  LockGuard lock(mutex);
  return look();
}

bool GraphTask::visits(const Node* address) const {
  if (compiled) return compiled->visits(address);
  const auto look = [&] {
    const NodeState* state = states.find_address(address);
    return state && state->takes_part();
  };
  if (is_local) return look();
  LockGuard lock(mutex);
  return look();
}

bool GraphTask::reaches(const Node& target) const {
  return compiled ? compiled->takes_part(target) : states.find(target) != nullptr;
}

std::shared_ptr<void> GraphTask::pass_local(const void* key,
                                            const std::function<std::shared_ptr<void>()>& make) {
  LockGuard lock(mutex);
  auto& local = locals[key];
  if (!local) local = make();
  return local;
}

void GraphTask::check_complete() const {
  if (states.forgotten() == planned) return;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const NodeState& state = states[i];
    if (!state.takes_part() || state.missing == 0) continue;
    throw Error(ErrorCategory::incomplete_pass, "the pass ended before node " + state.node->name() +
                                                    " was ready: " + std::to_string(state.missing) +
                                                    " deliveries are missing");
  }
}

void GraphTask::set_error(std::exception_ptr error) {
  LockGuard lock(error_mutex_);
  if (error_) return;
  error_ = std::move(error);
  has_error_.store(true, std::memory_order_release);
}

std::exception_ptr GraphTask::error() const {
  LockGuard lock(error_mutex_);
  return error_;
}

void GraphTask::cancel_announced() {
  for (const auto& gradient : announced) gradient->cancel();
}

// After the subtraction the pass may be gone, unless this thread was the one to end it.
void GraphTask::finish_shared(std::int64_t count) {
  const std::shared_ptr<ReadyQueue> owner_queue = queue;
  const bool owner_may_leave = has_error() && (options.exit_on_error || !announced.empty());
  const std::int64_t left = outstanding_.fetch_sub(count, std::memory_order_acq_rel) - count;
  if (left == 0) {
    delete this;
  } else if (left == 1 || owner_may_leave) {
    owner_queue->wake();
  }
}

void GraphTask::leave() {
  if (has_error()) cancel_announced();
  if (outstanding_.load(std::memory_order_acquire) == 1) {
    delete this;
    return;
  }
  is_given_up_.store(true, std::memory_order_relaxed);
  const auto removed = static_cast<std::int64_t>(queue->remove(*this));
  finish_shared(removed + 1);
}

}  // namespace gradcts::reference
