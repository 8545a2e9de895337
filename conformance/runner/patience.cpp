#include "conformance/runner/patience.h"

#include <ctime>

#include <algorithm>
#include <cstdint>

namespace gradcts {

namespace {

constexpr int most_extensions = 10;
constexpr int least_share = 50;  // a process that gets on uses at least this part of the time

// Of all threads of the process; 0 when it is gone.
std::chrono::nanoseconds processor_time(pid_t process) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

int left_ms(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

void Patience::start(pid_t process, std::chrono::milliseconds limit) {
  process_ = process;
  limit_ = limit;
  started_ = Clock::now();
  deadline_ = started_ + limit;
  used_at_start_ = used_ = processor_time(process);
}

int Patience::left_ms() {
  if (Clock::now() >= deadline_ && gets_on()) deadline_ += limit_;
  return gradcts::left_ms(deadline_);
}

bool Patience::gets_on() {
  if (deadline_ >= started_ + most_extensions * limit_) return false;
  const std::chrono::nanoseconds before = used_;
  used_ = processor_time(process_);
  return used_ - before >= limit_ / least_share && used_ - used_at_start_ < limit_;
}

}  // namespace gradcts
