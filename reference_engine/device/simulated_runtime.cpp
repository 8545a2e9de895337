#include "reference_engine/device/simulated_runtime.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string>

#include "reference_engine/device/work_purpose.h"
#include "reference_engine/error.h"

namespace gradcts::reference {
namespace {

thread_local int looks = 0;

std::string in_words(Stream stream) {
  return stream.id == 0 ? "the default stream of " + to_string(stream.device) : to_string(stream);
}

}  // namespace

// Events of one type may be waited for by the streams of all devices of that type.
class SimulatedRuntime::Point : public EventState {
 public:
  Point(Stream where, AccessOrder::Clock before, int in)
      : EventState(where), over(std::move(before)), capture(in) {}
  const AccessOrder::Clock over;
  const int capture;
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
  auto point = std::make_shared<Point>(stream, order_.now(stream), capture_of(stream));
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
  enter_or_refuse(stream, *point);
  order_.wait(stream, point->over);
  if (!point->reached) operations(stream).push_back({{}, nullptr, std::move(point)});
}

void SimulatedRuntime::enqueue(Stream stream, Work work) {
  LockGuard lock(mutex_);
  order_.work(stream, work, is_look(stream));
  operations(stream).push_back({std::move(work), nullptr, nullptr});
}

void SimulatedRuntime::synchronize(Stream stream) {
  LockGuard lock(mutex_);
  if (is_look(stream)) return run_until(stream, nullptr);
  refuse_host(stream);
  run_until(stream, nullptr);
  order_.host_waits(stream);
}

void SimulatedRuntime::synchronize(Device device) {
  check_exists(device);
  const std::uint32_t count = stream_count(device);
  LockGuard lock(mutex_);
  for (std::uint32_t id = 0; id < count; ++id) refuse_host({device, id});
  for (std::uint32_t id = 0; id < count; ++id) {
    run_until({device, id}, nullptr);
    order_.host_waits({device, id});
  }
}

int SimulatedRuntime::capture_of(Stream stream) const {
  const auto found = captured_.find(stream);
  return found == captured_.end() ? 0 : found->second.capture;
}

bool SimulatedRuntime::is_look(Stream stream) const {
  return looks != 0 && capture_of(stream) != 0;
}

void SimulatedRuntime::enter_or_refuse(Stream stream, const Point& point) {
  const int capture = capture_of(stream);
  if (capture != 0 && capture != point.capture) {
    throw CaptureError(in_words(stream) + " is being captured and must not wait for an event of " +
                       in_words(point.stream) + " that was recorded outside of the capture");
  }
  if (point.capture != 0 && capture_of(point.stream) == point.capture) {
    captured_.emplace(stream, Captured{point.capture, order_.count()});
  }
}

void SimulatedRuntime::refuse_host(Stream stream) const {
  if (capture_of(stream) == 0) return;
  throw CaptureError(in_words(stream) + " is being captured: the host must not wait for it");
}

void SimulatedRuntime::begin_capture(Stream stream) {
  check_exists(stream.device);
  LockGuard lock(mutex_);
  if (!captured_.emplace(stream, Captured{captures_ + 1, order_.count()}).second) {
    throw CaptureError(in_words(stream) + " is being captured already");
  }
  ++captures_;
}

void SimulatedRuntime::end_capture(Stream stream) {
  LockGuard lock(mutex_);
  const int capture = capture_of(stream);
  if (capture == 0) {
    throw CaptureError(in_words(stream) + " is not being captured");
  }
  std::string loose;
  for (const auto& [joined, its] : captured_) {
    if (its.capture == capture && !order_.covers(stream, joined, its.since))
      loose = in_words(joined);
  }
  std::erase_if(captured_, [&](const auto& entry) { return entry.second.capture == capture; });
  if (loose.empty()) return;
  throw CaptureError("the capture of " + in_words(stream) + " ends without a wait for " + loose +
                     ", which has joined it");
}

std::vector<UnorderedAccess> SimulatedRuntime::unordered_accesses() {
  LockGuard lock(mutex_);
  return order_.found();
}

void SimulatedRuntime::restart_access_checks() {
  LockGuard lock(mutex_);
  for (const auto& [stream, list] : streams_) run_until(stream, nullptr);
  streams_.clear();
  order_.restart();
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
    return allocated(memory, stream, bytes);
  }
  void* memory = std::calloc(1, bytes);
  if (!memory) throw std::bad_alloc();
  memory_.push_back(memory);
  return allocated(memory, stream, bytes);
}

void* SimulatedRuntime::allocated(void* memory, Stream stream, std::size_t bytes) {
  blocks_[memory] = {stream, bytes, {}};
  order_.allocated(memory);
  return memory;
}

void SimulatedRuntime::free(void* memory) {
  LockGuard lock(mutex_);
  const auto found = blocks_.find(memory);
  const Block block = std::move(found->second);
  blocks_.erase(found);
  order_.freed(memory, block.owner, block.users);
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

CaptureLook::CaptureLook() {
  ++looks;
}
CaptureLook::~CaptureLook() {
  --looks;
}

namespace {

template <typename Function>
void for_each_simulated(Function&& function) {
  for (const DeviceType type : {DeviceType::sim, DeviceType::other}) {
    if (auto* simulated = dynamic_cast<SimulatedRuntime*>(&runtime(type))) function(*simulated);
  }
}

SimulatedRuntime& simulated_runtime_of(Stream stream) {
  auto* simulated = dynamic_cast<SimulatedRuntime*>(&runtime(stream.device.type));
  if (simulated) return *simulated;
  throw CaptureError(to_string(stream) + " is no simulated one, and cannot be captured");
}

}  // namespace

void begin_capture(Stream stream) {
  simulated_runtime_of(stream).begin_capture(stream);
}
void end_capture(Stream stream) {
  simulated_runtime_of(stream).end_capture(stream);
}

std::vector<UnorderedAccess> unordered_accesses() {
  std::vector<UnorderedAccess> all;
  for_each_simulated([&](SimulatedRuntime& simulated) {
    for (UnorderedAccess& found : simulated.unordered_accesses()) all.push_back(std::move(found));
  });
  return all;
}

void restart_access_checks() {
  forget_work_purposes();
  for_each_simulated([](SimulatedRuntime& simulated) { simulated.restart_access_checks(); });
}

}  // namespace gradcts::reference
