// The schedule of a rebuilt engine: passes the token between real threads, of which one runs at a
// time, and keeps what they did with each object. One for the process.
//
// Whoever has the token may use everything here, and nobody else does: handing it over is the only
// synchronisation that is needed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/explore/preload/chosen_strategy.h"
#include "conformance/explore/preload/report.h"
#include "conformance/explore/preload/scheduler.h"
#include "conformance/explore/rebuilt/decision_log.h"
#include "conformance/explore/rebuilt/meeting_point.h"

namespace gradcts::schedule {

// A thread under control. Lives until the next schedule begins.
struct Participant {
  static constexpr std::uint32_t parked = 0, go = 1, show_stack = 2;
  static constexpr int most_frames = 48;

  std::atomic<std::uint32_t> turn{parked};
  ThreadNumber number = nobody;
  std::uint64_t name = 0;   // equal in equivalent schedules
  std::uint64_t named = 0;  // objects and threads that it has made
  std::uint64_t last = 0;   // its last operation; see DoneSoFar
  MeetingPoint end;         // where it is joined
  std::function<void()> body;

  void* frames[most_frames];  // when it was asked for its stack
  int frame_count = 0;
  std::atomic<std::uint32_t> stack_is_there{0};
};

class Meetings {
 public:
  Meetings();

  int begin(const gradcts_schedule_options& options);
  int end(gradcts_schedule_result& result);

  // As the functions of meeting_point.h.
  void access(MeetingPoint& object, Operation operation, Access kind);
  void lock(MeetingPoint& mutex);
  bool try_lock(MeetingPoint& mutex);
  void unlock(MeetingPoint& mutex);
  bool wait(MeetingPoint& condition, MeetingPoint& mutex, bool timed);
  void notify(MeetingPoint& condition, bool all);
  void yield();
  ThreadNumber start_thread(std::function<void()> body);
  void join_thread(ThreadNumber thread);
  void settle();

  // The life of a thread, on itself.
  void thread_starts(Participant& self);
  void thread_ends(Participant& self);

 private:
  void follow(Verdict verdict);
  void check(Verdict verdict);
  void hand_over_to(ThreadNumber next);
  void park(Participant& self);
  void note(MeetingPoint& object, Operation operation, Access kind);
  void use(MeetingPoint& object);
  bool anybody_left() const;
  gradcts_schedule_result result(gradcts_schedule_outcome outcome);
  [[noreturn]] void fail(gradcts_schedule_outcome outcome);
  std::vector<std::string> stack_of(Participant& thread);

  Scheduler scheduler_;
  ChosenStrategy strategy_;
  DoneSoFar done_;
  DecisionLog log_;
  std::vector<std::unique_ptr<Participant>> threads_;
  std::vector<std::uint64_t> shared_;
  MeetingPoint thread_table_;
  std::string settled_schedule_;  // the text up to settle()
  std::uint64_t settled_meaning_ = 0;
  std::uint64_t schedules_ = 0;
  bool on_ = false;
};

Meetings& meetings();

}  // namespace gradcts::schedule
