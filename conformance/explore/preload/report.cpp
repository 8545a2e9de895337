#include "conformance/explore/preload/report.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace gradcts::schedule {
namespace {

__attribute__((format(printf, 1, 2))) std::string text_of(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

const char* name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::nothing:
      return "nothing";
    case WaitKind::mutex:
      return "mutex";
    case WaitKind::rwlock:
      return "rwlock";
    case WaitKind::condition:
      return "condition";
    case WaitKind::semaphore:
      return "semaphore";
    case WaitKind::join:
      return "the end of a thread";
    case WaitKind::once:
      return "the initialisation (once)";
    case WaitKind::guard:
      return "the initialisation of the static object";
    case WaitKind::futex:
      return "a change of the word";
    case WaitKind::announced:
      return "an announcement of";
    case WaitKind::sleep:
      return "time to pass";
  }
  return "?";
}

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::start:
      return "start";
    case Operation::lock:
      return "lock";
    case Operation::try_lock:
      return "try to lock";
    case Operation::load:
      return "read";
    case Operation::unlock:
      return "go on after releasing";
    case Operation::wait:
      return "wait on";
    case Operation::signal:
      return "signal";
    case Operation::post:
      return "post";
    case Operation::create:
      return "go on after creating a thread";
    case Operation::join:
      return "join";
    case Operation::once:
      return "initialise";
    case Operation::finish:
      return "finish";
    case Operation::yield:
      return "go on after yielding";
    case Operation::point:
      return "pass the point";
    case Operation::end:
      return "end control";
  }
  return "?";
}

std::string holders(const Scheduler& scheduler, const Wait& wait) {
  std::string text;
  for (const Scheduler::Hold& hold : scheduler.all_holds()) {
    if (hold.kind != wait.kind || hold.object != wait.object) continue;
    text += text_of("; %s thread %d since step %" PRIu64, hold.shared ? "read by" : "held by",
                    hold.thread, hold.since);
  }
  const bool is_lock = wait.kind == WaitKind::mutex || wait.kind == WaitKind::rwlock;
  if (text.empty() && is_lock) text = "; held by no thread under control";
  return text;
}

std::string last_signal(const Scheduler& scheduler, const void* condition) {
  const Scheduler::Signal* signal = scheduler.last_signal(condition);
  if (signal == nullptr) return "; never signalled in this schedule";
  const std::string by =
      signal->thread == nobody ? "a thread outside control" : text_of("thread %d", signal->thread);
  return text_of("; last signalled at step %" PRIu64 " by %s%s", signal->step, by.c_str(),
                 signal->heard ? "" : ", when nobody waited for it");
}

std::string describe_waiting(const Scheduler& scheduler, const Scheduler::Thread& thread,
                             ObjectName name) {
  const Wait& wait = thread.wait;
  std::string text = "waits for ";
  if (wait.kind == WaitKind::join) {
    text += text_of("the end of thread %d", wait.joined);
  } else {
    text += name_of(wait.kind);
    if (wait.object != nullptr) text.append(" ").append(name(wait.object));
  }
  text += text_of(" since step %" PRIu64, thread.since);
  if (wait.kind == WaitKind::condition) return text + last_signal(scheduler, wait.object);
  return text + holders(scheduler, wait);
}

const char* headline(gradcts_schedule_outcome outcome) {
  switch (outcome) {
    case GRADCTS_SCHEDULE_COMPLETED:
      return "completed";
    case GRADCTS_SCHEDULE_DEADLOCK:
      return "deadlock";
    case GRADCTS_SCHEDULE_STEP_BOUND:
      return "step bound reached (a livelock, or too small a bound)";
    case GRADCTS_SCHEDULE_STALL:
      return "stall: no step, in a wait that is not seen or a long computation";
  }
  return "?";
}

std::string describe_thread(const Scheduler& scheduler, const ThreadReport& thread,
                            ObjectName name) {
  std::string text =
      thread.number == nobody ? "\n  outside control" : text_of("\n  thread %d", thread.number);
  text.append(" (").append(thread.name).append(")");
  if (thread.number != nobody)
    text.append(" ").append(describe_wait(scheduler, thread.number, name));
  text += "\n";
  for (std::size_t i = 0; i < thread.stack.size(); ++i) {
    text += text_of("    #%-2zu ", i) + thread.stack[i] + "\n";
  }
  return text;
}

}  // namespace

std::string describe_wait(const Scheduler& scheduler, ThreadNumber number, ObjectName name) {
  const Scheduler::Thread& thread = scheduler.thread(number);
  switch (thread.state) {
    case Scheduler::State::waiting:
      return describe_waiting(scheduler, thread, name);
    case Scheduler::State::away:
      return text_of("has left control at step %" PRIu64, thread.since);
    case Scheduler::State::finished:
      return "has finished";
    case Scheduler::State::standing_back:
    case Scheduler::State::runnable:
      break;
  }
  std::string text =
      number == scheduler.running() ? "runs; was last about to " : "can run; is about to ";
  text += name_of(thread.operation);
  if (thread.object != nullptr) text.append(" ").append(name(thread.object));
  return text + text_of(" (step %" PRIu64 ")", thread.since);
}

std::string describe(gradcts_schedule_outcome outcome, const std::string& how, Scheduler& scheduler,
                     const std::vector<ThreadReport>& threads, ObjectName name,
                     const std::string& not_seen) {
  std::string text = text_of("gradcts-schedule: %s\n", headline(outcome));
  text += "chosen by: " + how + "\n";
  text += text_of("steps: %" PRIu64 ", switches: %" PRIu64 ", hash: %016" PRIx64 "\n",
                  scheduler.steps(), scheduler.switches(), scheduler.hash());
  for (const ThreadReport& thread : threads) text += describe_thread(scheduler, thread, name);
  text.append("\n").append(not_seen).append("schedule: ");
  return text + scheduler.trace().text() + "\n";
}

void write_report(const std::string& text) {
  const char* name = std::getenv("GRADCTS_SCHEDULE_FD");
  const int file = name != nullptr ? std::atoi(name) : STDERR_FILENO;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = write(file, text.data() + written, text.size() - written);
    if (size < 0 && errno != EINTR) return;
    written += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
  }
}

}  // namespace gradcts::schedule
