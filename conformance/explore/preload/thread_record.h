// What the library knows of each thread of the process, whether control is on or not.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "conformance/explore/preload/clock.h"
#include "conformance/explore/preload/page_allocator.h"
#include "conformance/explore/preload/scheduler.h"

namespace gradcts::schedule {

// What a parked thread reads from its futex word.
enum Turn : std::uint32_t {
  parked,
  go,
  look_again  // its situation has changed: it may have a deadline now
};

// All fields but `turn` and `controlled` are guarded by the controller's lock.
struct ThreadRecord {
  std::atomic<std::uint32_t> turn{parked};
  std::atomic<bool> controlled{false};
  ThreadNumber number = nobody;  // in the schedule, if it takes part or took part in this one

  // What the thread is.
  std::uint64_t birth = 0;  // 0: the record is free
  pthread_t handle{};
  pid_t kernel_id = 0;  // 0: created and not started yet
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;
  bool detached = false;
  bool finished = false;
  int exit_rounds = 0;  // see Note [The end of a thread]

  // What it does outside control.
  const void* sleeps_on = nullptr;  // a condition, in the library's queue
  std::uint64_t ticket = 0;         // its place there
  std::optional<Deadline> deadline;
  Woken woken = Woken::released;
  const ThreadRecord* joins = nullptr;  // whose end it waits for
  bool elsewhere = false;               // did not go to sleep when it was waited for
  std::uint64_t seen_in = 0;  // the last schedule during which it made a call from outside

  bool is_alive() const { return birth != 0 && !finished; }
  // It does nothing until another thread of the process acts.
  bool is_asleep() const { return sleeps_on != nullptr || (joins != nullptr && !joins->finished); }
};

// The records of all threads. Guarded by the controller's lock.
class ThreadTable {
 public:
  ThreadRecord& add();
  void remove(ThreadRecord& record) { record.birth = 0; }

  // The thread that has this handle and was not joined; null if it is unknown.
  ThreadRecord* find(pthread_t handle);
  // The thread that has slept longest on this condition outside control.
  ThreadRecord* first_asleep_on(const void* condition);
  // All but `survivor` are gone.
  void after_fork(ThreadRecord* survivor);

  const PageVector<ThreadRecord*>& all() const { return records_; }

 private:
  PageVector<ThreadRecord*> records_;
  std::uint64_t births_ = 0;
};

}  // namespace gradcts::schedule
