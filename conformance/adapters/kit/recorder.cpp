#include "conformance/adapters/kit/recorder.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace gradcts::kit {

namespace {

std::uint64_t next_run() {
  static std::atomic<std::uint64_t> runs{0};
  return ++runs;
}

// The number of this thread in the run that it was last seen in.
struct ThreadNumber {
  std::uint64_t run = 0;
  std::int16_t number = 0;
  bool is_program = false;  // main, or adopted
  bool is_over = false;     // adopted, and left
};
thread_local ThreadNumber thread_number;

constexpr std::size_t kinds = static_cast<std::size_t>(EventKind::destroyed) + 1;

// Events whose subject is no node are about hooks, callbacks or steps.
std::size_t most_subjects(const Scenario& scenario) {
  return std::max({scenario.hooks.size(), scenario.callbacks.size(),
                   static_cast<std::size_t>(std::max(scenario.step_count, 0))});
}

}  // namespace

Recorder::Recorder(const Scenario& scenario)
    : run_(next_run()),
      step_counts_(static_cast<std::size_t>(std::max(scenario.step_count, 0))),
      event_counts_(kinds * most_subjects(scenario)),
      subjects_(most_subjects(scenario)) {
  thread_number = {run_, 0, true, false};
  outcome_.steps.reserve(step_counts_.size());
  outcome_.events.reserve(2 * (scenario.nodes.size() + scenario.leaves.size()) + 4);
}

std::int16_t Recorder::thread() {
  if (thread_number.run != run_) thread_number = {run_, reserve_thread(), false, false};
  return thread_number.number;
}

std::int16_t Recorder::reserve_thread() {
  std::lock_guard lock(mutex_);
  return threads_++;
}

void Recorder::adopt_thread(std::int16_t number) {
  thread_number = {run_, number, true, false};
}

void Recorder::leave_thread() {
  thread_number.is_over = true;
}

std::int64_t Recorder::place() const {
  if (thread_number.run != run_ || !thread_number.is_program) return 1;
  return thread_number.is_over ? 2 : 0;
}

void Recorder::step(StepId step, std::optional<ErrorReport> error, Values values) {
  const std::int16_t on = thread();
  std::lock_guard lock(mutex_);
  if (closed_) return;
  const std::int32_t occurrence = step_counts_[static_cast<std::size_t>(step)]++;
  outcome_.steps.push_back({step, occurrence, on, std::move(error), std::move(values)});
}

void Recorder::node(EventKind kind, NodeId node, std::int32_t instance, Values values) {
  const std::int16_t on = thread();
  std::lock_guard lock(mutex_);
  if (closed_) return;
  outcome_.events.push_back({kind, node, instance, on, 0, std::move(values)});
}

void Recorder::event(EventKind kind, std::int32_t subject, Values values, std::int64_t number) {
  const std::int16_t on = thread();
  std::lock_guard lock(mutex_);
  if (closed_) return;
  const std::int32_t instance = occurrences(kind, subject)++;
  outcome_.events.push_back({kind, subject, instance, on, number, std::move(values)});
}

std::int32_t& Recorder::occurrences(EventKind kind, std::int32_t subject) {
  return event_counts_[static_cast<std::size_t>(kind) * subjects_ +
                       static_cast<std::size_t>(subject)];
}

void Recorder::state_change(std::string line) {
  std::lock_guard lock(mutex_);
  if (!closed_) outcome_.state.state_changes.push_back(std::move(line));
}

Outcome Recorder::take() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  return std::exchange(outcome_, {});
}

void Recorder::reopen() {
  std::lock_guard lock(mutex_);
  closed_ = false;
}

}  // namespace gradcts::kit
