// The nodes that are ready to run on one thread, best first (ORDER-1).
//
// Note [Ready queues]
// ~~~~~~~~~~~~~~~~~~~
// A queue has an *owner*: the one thread that serves it now. For the CPU that is the thread that
// called backward(), for a device its worker; when a nested pass moves to a pool thread, the pool
// thread owns the queue until the pass is over, and its former owner sleeps (REENT-3). So there is
// never more than one.
//
// What the owner makes ready itself goes into a heap that only the owner touches: no lock, no
// atomic. Other threads put what they have into an inbox under a lock, and set a flag. The owner
// looks at the flag before it takes the next entry, and sleeps on the inbox when it has nothing to
// do. A wake-up is just the flag: nothing is queued for it, so there is nothing that could be
// mistaken for a node or be left behind (ORDER-2, DEV-6).
//
// A thread that waits for a nested pass takes nodes of that depth or deeper only. Nodes of the
// passes around it may wait for a lock that the waiting node holds, so running them could block the
// thread for ever (B002). Nodes of other passes at least as deep are taken, and have to be: a
// device's thread may be the only one that can run what another waiting thread waits for. Nothing
// can block in a ring like that, since the deepest pass that is being waited for is served by every
// thread that waits (REENT-7).
#pragma once

#include <cstdint>
#include <vector>

#include "reference_engine/engine/ready_entries.h"
#include "reference_engine/sync/atomic.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

class ReadyQueue {
 public:
  enum class Next { entry, woken, shutdown };

  // ---- For the owner ----

  void push_own(const ReadyEntry& entry) { entries_.push(entry); }

  // The next entry of at least this depth; waits for one. May return `woken` at any time, for the
  // owner to look whether what it waits for is there. `shutdown` comes before everything, once.
  Next pop(int least_depth, ReadyEntry& entry) {
    const bool had_mail = has_mail_.load(std::memory_order_acquire);
    if (had_mail) empty_inbox();
    if (!shutdown_seen_ && !entries_.empty() && entries_.best_depth() >= least_depth) {
      entry = entries_.take_best();
      return Next::entry;
    }
    return pop_no_entry(had_mail);
  }

  // Takes out what was queued for a pass that is given up; returns the number of entries.
  std::size_t remove(const GraphTask& task);

  // ---- For any thread ----

  // False, and nothing is queued, if the pass was given up meanwhile.
  bool push(const ReadyEntry& entry) GRADCTS_EXCLUDES(mutex_);
  void wake() GRADCTS_EXCLUDES(mutex_);
  void push_shutdown() GRADCTS_EXCLUDES(mutex_);

 private:
  void empty_inbox() GRADCTS_EXCLUDES(mutex_);
  Next pop_no_entry(bool had_mail) GRADCTS_EXCLUDES(mutex_);
  void wait() GRADCTS_EXCLUDES(mutex_);

  ReadyEntries entries_;  // the owner's

  Atomic<bool> has_mail_{false};  // something below is new
  Mutex mutex_;
  ConditionVariable mail_;
  std::vector<ReadyEntry> inbox_ GRADCTS_GUARDED_BY(mutex_);
  bool shutdown_ GRADCTS_GUARDED_BY(mutex_) = false;
  bool shutdown_seen_ = false;  // the owner's
};

}  // namespace gradcts::reference
