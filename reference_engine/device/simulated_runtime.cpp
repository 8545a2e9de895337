#include "reference_engine/device/simulated_runtime.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace gradcts::reference {

// Events of one type may be waited for by the streams of all devices of that type.
class SimulatedRuntime::Point : public EventState {
 public:
  using EventState::EventState;
  bool reached = false;  // guarded by the runtime's mutex
};

SimulatedRuntime::~SimulatedRuntime() {
  LockGuard lock(mutex_);
  for (void* memory : memory_) std::free(memory);
}

std::deque<SimulatedRuntime::Operation>& SimulatedRuntime::operations(Stream stream) {
  return streams_[stream];
}

std::shared_ptr<SimulatedRuntime::Point> SimulatedRuntime::record_locked(Stream stream) {
  auto point = std::make_shared<Point>(stream);
  auto& list = operations(stream);
  point->reached = list.empty();
  if (!point->reached) list.push_back({{}, point, nullptr});
  return point;
}

Event SimulatedRuntime::record(Stream stream) {
  count_event();
  LockGuard lock(mutex_);
  return record_locked(stream);
}

void SimulatedRuntime::wait(Stream stream, const Event& event) {
  count_wait();
  auto point = std::static_pointer_cast<Point>(event);
  LockGuard lock(mutex_);
  if (!point->reached) operations(stream).push_back({{}, nullptr, std::move(point)});
}

void SimulatedRuntime::enqueue(Stream stream, Work work) {
  LockGuard lock(mutex_);
  operations(stream).push_back({std::move(work), nullptr, nullptr});
}

void SimulatedRuntime::synchronize(Stream stream) {
  LockGuard lock(mutex_);
  run_until(stream, nullptr);
}

void SimulatedRuntime::synchronize(Device device) {
  check_exists(device);
  const std::uint32_t count = stream_count(device);
  LockGuard lock(mutex_);
  for (std::uint32_t id = 0; id < count; ++id) run_until({device, id}, nullptr);
}

void SimulatedRuntime::run_until(Stream goal, const Point* goal_point) {
  struct Goal {
    Stream stream;
    const Point* point;
  };
  std::vector<Goal> goals{{goal, goal_point}};
  while (!goals.empty()) {
    auto& list = operations(goals.back().stream);
    const Point* point = goals.back().point;
    if (point ? point->reached : list.empty()) {
      goals.pop_back();
      continue;
    }
    const Point* awaited = list.front().awaited.get();
    if (awaited && !awaited->reached) {
      goals.push_back({awaited->stream, awaited});
      continue;
    }
    Operation operation = std::move(list.front());
    list.pop_front();
    if (operation.work.run) operation.work.run();
    if (operation.reached) operation.reached->reached = true;
  }
}

bool SimulatedRuntime::is_reusable(const Freed& freed) const {
  return std::all_of(freed.uses.begin(), freed.uses.end(),
                     [](const auto& use) { return use->reached; });
}

void* SimulatedRuntime::allocate(Stream stream, std::size_t bytes) {
  bytes = std::bit_ceil(std::max<std::size_t>(bytes, 16));
  LockGuard lock(mutex_);
  auto& candidates = free_[{stream, bytes}];
  // The block that was freed last comes first: reuse is as immediate as it may be.
  for (std::size_t i = candidates.size(); i-- > 0;) {
    if (!is_reusable(candidates[i])) continue;
    void* memory = candidates[i].memory;
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(i));
    blocks_[memory] = {stream, bytes, {}};
    return memory;
  }
  void* memory = std::calloc(1, bytes);
  if (!memory) throw std::bad_alloc();
  memory_.push_back(memory);
  blocks_[memory] = {stream, bytes, {}};
  return memory;
}

void SimulatedRuntime::free(void* memory) {
  LockGuard lock(mutex_);
  const auto found = blocks_.find(memory);
  const Block block = std::move(found->second);
  blocks_.erase(found);
  Freed freed{memory, {}};
  for (Stream user : block.users) freed.uses.push_back(record_locked(user));
  free_[{block.owner, block.bytes}].push_back(std::move(freed));
}

void SimulatedRuntime::register_use(void* memory, Stream stream) {
  LockGuard lock(mutex_);
  Block& block = blocks_.at(memory);
  if (block.owner == stream) return;
  if (std::find(block.users.begin(), block.users.end(), stream) == block.users.end()) {
    block.users.push_back(stream);
  }
}

}  // namespace gradcts::reference
