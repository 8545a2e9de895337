// A simulated accelerator: streams whose work runs late, as late as the recorded events allow.
//
// Enqueued work waits until somebody synchronises; then just enough of other streams runs for the
// asked-for stream to get on. So whoever forgets to wait for a stream reads old numbers, every
// time. Memory follows the rules of a stream-ordered allocator, and is used again at once: a freed
// block is handed out to the next request of its stream, without waiting for streams whose use
// nobody registered. There are two devices of type sim and one of type other.
//
// Late work gives a wrong number where a wait is missing, if the number is read. That a wait is
// missing is found out without that as well: access_order.h.
//
// Thread safety: all functions, from any thread.
//
// Note [The simulated device]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~
// Each stream is a list of operations in program order: work, "event reached", "wait for event".
// Nothing runs when it is enqueued. A synchronisation asks for one stream to become empty; where
// its next operation waits for an event that was not reached, the stream of that event is run just
// up to the event, and so on. Everything else stays undone. That is the latest order that the
// events allow, so a reader whose stream does not wait for the writer's sees what was there before,
// in every run.
//
// An event can only wait for what was recorded before it, so the chase cannot run in circles.
//
// Memory comes from malloc once and is never given back to it: work that a missing wait makes too
// late may still touch a block that was freed, and must then read a wrong number and not crash.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "reference_engine/device/access_order.h"
#include "reference_engine/device/basic_runtime.h"
#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// What the capture of a stream forbids.
class CaptureError : public Error {
 public:
  explicit CaptureError(const std::string& message)
      : Error(ErrorCategory::device_failure, message) {}
};

class SimulatedRuntime : public BasicRuntime {
 public:
  using BasicRuntime::BasicRuntime;
  ~SimulatedRuntime() override;

  Event record(Stream stream) override;
  void wait(Stream stream, const Event& event) override;
  void synchronize(Stream stream) override;
  void synchronize(Device device) override;
  void enqueue(Stream stream, Work work) override;
  void* allocate(Stream stream, std::size_t bytes) override;
  void free(void* block) override;
  void register_use(void* block, Stream stream) override;

  // Captures the stream, as graphs of CUDA are made: until the end it waits for nothing that was
  // recorded outside, other streams that wait for it belong to the capture as well, and nobody on
  // the host may wait for any of them. Whoever does all the same gets CaptureError in
  // words, which ends nothing. The work itself is put on the streams as always.
  void begin_capture(Stream stream);
  // Throws CaptureError where a stream of the capture has work that the first one does not
  // wait for; the capture is over in any case.
  void end_capture(Stream stream);

  // What was not ordered since the last restart. A restart runs all work that is left.
  std::vector<UnorderedAccess> unordered_accesses();
  void restart_access_checks();

 private:
  class Point;
  struct Operation {
    Work work;                       // runs, if it has something to run
    std::shared_ptr<Point> reached;  // is marked, if set
    std::shared_ptr<Point> awaited;  // is waited for, if set
  };
  struct Block {
    Stream owner;
    std::size_t bytes;
    std::vector<Stream> users;
  };
  struct Freed {
    void* memory;
    std::vector<std::shared_ptr<Point>>
        uses;  // by other streams, to be over before it is used again
  };
  struct Captured {
    int capture;
    std::uint64_t since;  // the work that there was before
  };

  // 0: of none that goes on.
  int capture_of(Stream stream) const GRADCTS_REQUIRES(mutex_);
  bool is_look(Stream stream) const GRADCTS_REQUIRES(mutex_);  // by who watches, at a stream of one
  void enter_or_refuse(Stream stream, const Point& point) GRADCTS_REQUIRES(mutex_);
  void refuse_host(Stream stream) const GRADCTS_REQUIRES(mutex_);
  std::deque<Operation>& operations(Stream stream) GRADCTS_REQUIRES(mutex_);
  std::shared_ptr<Point> record_locked(Stream stream) GRADCTS_REQUIRES(mutex_);
  // Runs the stream until the point is reached; until it is empty, where the point is null.
  void run_until(Stream stream, const Point* point) GRADCTS_REQUIRES(mutex_);
  void* allocated(void* memory, Stream stream, std::size_t bytes) GRADCTS_REQUIRES(mutex_);
  bool is_reusable(const Freed& freed) const GRADCTS_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<Stream, std::deque<Operation>> streams_ GRADCTS_GUARDED_BY(mutex_);
  std::map<void*, Block> blocks_ GRADCTS_GUARDED_BY(mutex_);
  std::map<std::pair<Stream, std::size_t>, std::vector<Freed>> free_ GRADCTS_GUARDED_BY(mutex_);
  std::vector<void*> memory_ GRADCTS_GUARDED_BY(mutex_);
  AccessOrder order_ GRADCTS_GUARDED_BY(mutex_);
  int captures_ GRADCTS_GUARDED_BY(mutex_) = 0;                     // so far
  std::map<Stream, Captured> captured_ GRADCTS_GUARDED_BY(mutex_);  // streams of those that go on
};

// The same of all types whose runtimes are simulated. A restart also forgets what work was for (work_purpose.h).
std::vector<UnorderedAccess> unordered_accesses();
void restart_access_checks();

// The same for a stream of such a type; throws CaptureError where its type is another one.
void begin_capture(Stream stream);
void end_capture(Stream stream);

// While it lives this thread may read numbers of captured streams, for those who watch a program
// and are no part of it: what must run for that runs, and nothing is ordered by it. A real device
// has no such thing.
class CaptureLook {
 public:
  CaptureLook();
  ~CaptureLook();
  CaptureLook(const CaptureLook&) = delete;
  CaptureLook& operator=(const CaptureLook&) = delete;
};

}  // namespace gradcts::reference
