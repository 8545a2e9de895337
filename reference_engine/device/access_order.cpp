#include "reference_engine/device/access_order.h"

#include <algorithm>

#include "reference_engine/device/work_purpose.h"

namespace gradcts::reference {
namespace {

constexpr std::size_t most_found = 100;  // of one run; enough to see what is wrong

std::uint64_t entry(const AccessOrder::Clock& clock, Stream stream) {
  const auto found = clock.find(stream);
  return found == clock.end() ? 0 : found->second;
}

void take_over(AccessOrder::Clock& clock, const AccessOrder::Clock& other) {
  for (const auto& [stream, number] : other) {
    std::uint64_t& own = clock[stream];
    own = std::max(own, number);
  }
}

}  // namespace

bool AccessOrder::is_over(Stream other, std::uint64_t number, Stream stream) const {
  if (number <= all_over_ || other == stream || entry(host_, other) >= number) return true;
  const auto clock = streams_.find(stream);
  return clock != streams_.end() && entry(clock->second, other) >= number;
}

bool AccessOrder::is_ordered(const Use& earlier, Stream stream) const {
  return is_over(earlier.access.stream, earlier.number, stream);
}

bool AccessOrder::covers(Stream stream, Stream other, std::uint64_t since) const {
  const std::uint64_t last = entry(last_, other);
  return last <= since || is_over(other, last, stream);
}

void AccessOrder::check(const Use& earlier, const DeviceAccess& access) {
  if (is_ordered(earlier, access.stream)) return;
  if (found_.size() < most_found) found_.push_back({access, earlier.access, earlier.freed});
  take_over(streams_[access.stream], {{earlier.access.stream, earlier.number}});
}

void AccessOrder::work(Stream stream, const Work& work, bool is_look) {
  using Kind = DeviceAccess::Kind;
  ++count_;
  if (!is_look) last_[stream] = count_;
  for (const MemoryAccess& part : work.accesses) {
    const auto found = blocks_.find(part.block);
    if (found == blocks_.end()) continue;
    Block& block = found->second;
    const DeviceAccess access{part.writes ? Kind::write : Kind::read, stream, work.name,
                              work_purpose()};
    check(block.last_write, access);
    if (!part.writes) {
      if (!is_look) block.reads[stream] = {access, count_};
      continue;
    }
    for (const auto& [reader, read] : block.reads) check(read, access);
    block.reads.clear();
    block.last_write = {access, count_};
  }
}

AccessOrder::Clock AccessOrder::now(Stream stream) const {
  const auto found = streams_.find(stream);
  Clock clock = found == streams_.end() ? Clock() : found->second;
  clock[stream] = count_;
  return clock;
}

void AccessOrder::wait(Stream stream, const Clock& event) {
  take_over(streams_[stream], event);
}

void AccessOrder::host_waits(Stream stream) {
  take_over(host_, now(stream));
}

void AccessOrder::allocated(void* memory) {
  blocks_[memory].is_in_use = true;
}

void AccessOrder::freed(void* memory, Stream owner, std::span<const Stream> users) {
  Block& block = blocks_[memory];
  block.is_in_use = false;
  const DeviceAccess access{DeviceAccess::Kind::free, owner, "", work_purpose()};
  const auto leave = [&](Use& use) {
    const bool is_held_back =
        std::any_of(users.begin(), users.end(), [&](Stream user) { return is_ordered(use, user); });
    if (!is_held_back) check(use, access);
    use.freed = true;
  };
  leave(block.last_write);
  for (auto& [reader, read] : block.reads) leave(read);
}

void AccessOrder::restart() {
  all_over_ = count_;
  host_.clear();
  streams_.clear();
  last_.clear();
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    if (it->second.is_in_use) {
      it->second = {true, {}, {}};
      ++it;
    } else {
      it = blocks_.erase(it);
    }
  }
  found_.clear();
}

}  // namespace gradcts::reference
