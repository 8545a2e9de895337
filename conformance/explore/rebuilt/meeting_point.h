// Where the threads of a rebuilt engine meet: each of its mutexes, conditions and atomics has one.
//
// An engine that does all its synchronisation through types of its own is rebuilt over those of
// synchronisation.h, and every operation becomes a step of the schedule. docs/schedules.md tells the
// whole.
#pragma once

#include <cstdint>
#include <functional>

#include "conformance/explore/preload/trace.h"

namespace gradcts::schedule {

enum class Access { read, write };

// Note [Names of objects]
// ~~~~~~~~~~~~~~~~~~~~~~~
// A search compares schedules, so an object must be known by a name that is the same in each of them,
// wherever its memory is. Its name is made of the thread that made it and of how many that thread had
// made before. What commutes does not change what a thread does itself, so equivalent schedules give
// equal names. Objects with one name (made before control began, and under it) would only be taken
// for one: that makes a search larger, and never wrong.
class MeetingPoint {
 public:
  MeetingPoint();
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;

  std::uint64_t name() const { return name_; }

 private:
  friend class Meetings;
  const std::uint64_t name_;
  // Of the schedule `schedule_`: what was done with the object so far. See meetings.h.
  std::uint64_t schedule_ = 0;
  std::uint64_t last_write_ = 0;
  std::uint64_t reads_ = 0;
  ThreadNumber user_ = nobody;
  bool shared_ = false;
};

// ---- Operations of the calling thread -------------------------------------------------------------
//
// They do nothing where it is not under control; then the caller uses the real thing.

bool is_controlled();

// Before an atomic access, or anything else that other threads see.
void access(MeetingPoint& object, Access kind);

void lock(MeetingPoint& mutex);  // afterwards the thread has it
bool try_lock(MeetingPoint& mutex);
void unlock(MeetingPoint& mutex);

// Gives up the mutex, waits, and has it again. False: a timed wait has timed out.
bool wait(MeetingPoint& condition, MeetingPoint& mutex, bool timed);
void notify(MeetingPoint& condition, bool all);

// Says that the thread waits for others without naming them: it goes on when they have had a chance.
void yield();

// Starts a thread that is under control if the caller is. Nobody joins one of number `nobody`.
ThreadNumber start_thread(std::function<void()> body);
void join_thread(ThreadNumber thread);

// What follows is no part of what is explored: no switch that is not forced, until control ends.
void settle();

}  // namespace gradcts::schedule
