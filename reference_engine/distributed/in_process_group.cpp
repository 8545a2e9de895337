#include "reference_engine/distributed/in_process_group.h"

#include <map>
#include <utility>

#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

// One collective: what each rank has brought so far.
struct Meeting {
  struct Contribution {
    Tensor tensor;
    std::string what;
    Event written;
  };
  std::vector<Contribution> contributions;  // by rank; undefined: not there yet
  std::size_t missing;
  bool done = false;
  Event reduced;       // to be waited for by who reads
  std::string failed;  // not empty: why it never will be
  std::int64_t round;
};

std::string of_rank(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

class InProcessHub {
 public:
  InProcessHub(int size, std::chrono::milliseconds limit)
      : size_(size), limit_(limit), seats_(static_cast<std::size_t>(size)) {}

  int size() const { return size_; }

  // The rank's next collective.
  std::shared_ptr<Meeting> contribute(std::size_t rank, const Tensor& tensor,
                                      const std::string& what) {
    LockGuard lock(mutex_);
    Seat& seat = seats_[rank];
    const auto key = std::pair(seat.round, seat.next++);
    auto& place = open_[key];
    if (!place) {
      place = std::make_shared<Meeting>();
      place->contributions.resize(seats_.size());
      place->missing = seats_.size();
      place->round = seat.round;
    }
    const std::shared_ptr<Meeting> meeting = place;
    meeting->contributions[rank] = {tensor, what, record_event(current_stream(tensor.device()))};
    compare(*meeting, rank);
    if (--meeting->missing == 0) {
      open_.erase(key);
      if (meeting->failed.empty()) reduce(*meeting);
      meeting->done = meeting->failed.empty();
    }
    changed_.notify_all();
    return meeting;
  }

  void wait(const Meeting& meeting, const std::string& what) {
    const auto deadline = std::chrono::steady_clock::now() + limit_;
    LockGuard lock(mutex_);
    bool in_time = true;
    while (!meeting.done) {
      if (!meeting.failed.empty()) fail(what + " cannot be reduced: " + meeting.failed);
      for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
        if (meeting.contributions[rank].tensor.defined()) continue;
        if (seats_[rank].round > meeting.round || seats_[rank].is_gone) {
          fail(what + " cannot be reduced: " + of_rank(rank) + " " + seats_[rank].reason);
        }
        if (!in_time) {
          fail(what + " was not reduced: " + of_rank(rank) + " did not come within " +
               std::to_string(limit_.count()) + " ms");
        }
      }
      in_time = changed_.wait_until(mutex_, deadline);
    }
  }

  void give_up(std::size_t rank, const std::string& reason) {
    LockGuard lock(mutex_);
    Seat& seat = seats_[rank];
    ++seat.round;
    seat.next = 0;
    seat.reason = "gave up: " + reason;
    forget_old_rounds();
    changed_.notify_all();
  }

  void leave(std::size_t rank) {
    LockGuard lock(mutex_);
    seats_[rank].is_gone = true;
    seats_[rank].reason = "has left the group";
    changed_.notify_all();
  }

 private:
  struct Seat {
    std::int64_t round = 0;
    std::int64_t next = 0;  // number of its next collective in the round
    std::string reason;     // why it gave up, or is gone
    bool is_gone = false;
  };

  [[noreturn]] static void fail(const std::string& message) {
    throw Error(ErrorCategory::rank_failure, message);
  }

  // Does what a rank brought fit what the others did?
  static void compare(Meeting& meeting, std::size_t rank) {
    const Meeting::Contribution& mine = meeting.contributions[rank];
    for (std::size_t other = 0; other < meeting.contributions.size(); ++other) {
      const Meeting::Contribution& theirs = meeting.contributions[other];
      if (!theirs.tensor.defined()) continue;
      if (theirs.what == mine.what && theirs.tensor.shape() == mine.tensor.shape() &&
          theirs.tensor.type() == mine.tensor.type()) {
        continue;
      }
      meeting.failed = of_rank(rank) + " reduces " + mine.what + ", " + describe(mine.tensor) +
                       ", where " + of_rank(other) + " reduces " + theirs.what + ", " +
                       describe(theirs.tensor);
      return;
    }
  }

  // On the stream of its own that the hub has for the device of rank 0's tensor.
  void reduce(Meeting& meeting) GRADCTS_REQUIRES(mutex_) {
    const Device device = meeting.contributions[0].tensor.device();
    const StreamGuard on(stream_of(device));
    const Stream stream = current_stream(device);
    for (const auto& [tensor, what, written] : meeting.contributions) {
      wait_event(stream, written);
      register_use(tensor, stream);
    }
    const Tensor sum = kernels::clone(meeting.contributions[0].tensor);
    for (std::size_t rank = 1; rank < meeting.contributions.size(); ++rank) {
      kernels::add_(sum, kernels::to_device(meeting.contributions[rank].tensor, device));
    }
    for (const auto& contribution : meeting.contributions) {
      kernels::copy_(contribution.tensor, sum);
    }
    meeting.reduced = record_event(stream);
  }

  Stream stream_of(Device device) GRADCTS_REQUIRES(mutex_) {
    if (device == cpu) return current_stream(cpu);
    const auto [place, is_new] = streams_.try_emplace(device);
    if (is_new) place->second = make_stream(device);
    return place->second;
  }

  // What all ranks have given up, nobody can come to any more.
  void forget_old_rounds() GRADCTS_REQUIRES(mutex_) {
    std::int64_t oldest = seats_[0].round;
    for (const Seat& seat : seats_) oldest = std::min(oldest, seat.round);
    std::erase_if(open_, [&](const auto& entry) { return entry.first.first < oldest; });
  }

  const int size_;
  const std::chrono::milliseconds limit_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Seat> seats_ GRADCTS_GUARDED_BY(mutex_);
  std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<Meeting>> open_
      GRADCTS_GUARDED_BY(mutex_);  // by round and number
  std::map<Device, Stream> streams_ GRADCTS_GUARDED_BY(mutex_);
};

namespace {

class InProcessWork : public CollectiveWork {
 public:
  InProcessWork(std::shared_ptr<InProcessHub> hub, std::shared_ptr<Meeting> meeting, Device device,
                std::string what)
      : hub_(std::move(hub)),
        meeting_(std::move(meeting)),
        device_(device),
        what_(std::move(what)) {}

  void wait() override {
    hub_->wait(*meeting_, what_);
    if (meeting_->reduced) wait_event(current_stream(device_), meeting_->reduced);
  }

 private:
  const std::shared_ptr<InProcessHub> hub_;
  const std::shared_ptr<Meeting> meeting_;
  const Device device_;
  const std::string what_;
};

class InProcessSeat : public ProcessGroup {
 public:
  InProcessSeat(std::shared_ptr<InProcessHub> hub, std::size_t rank)
      : hub_(std::move(hub)), rank_(rank) {}
  ~InProcessSeat() override { hub_->leave(rank_); }

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return hub_->size(); }

  CollectiveWorkPointer all_reduce(const Tensor& tensor, const std::string& what) override {
    return std::make_shared<InProcessWork>(hub_, hub_->contribute(rank_, tensor, what),
                                           tensor.device(), what);
  }

  void give_up(const std::string& reason) override { hub_->give_up(rank_, reason); }

 private:
  const std::shared_ptr<InProcessHub> hub_;
  const std::size_t rank_;
};

}  // namespace

std::vector<ProcessGroupPointer> make_in_process_group(int size, std::chrono::milliseconds limit) {
  if (size < 1) {
    throw Error(ErrorCategory::reducer, "a group of " + std::to_string(size) + " ranks");
  }
  const auto hub = std::make_shared<InProcessHub>(size, limit);
  std::vector<ProcessGroupPointer> seats;
  for (int rank = 0; rank < size; ++rank) {
    seats.push_back(std::make_shared<InProcessSeat>(hub, static_cast<std::size_t>(rank)));
  }
  return seats;
}

}  // namespace gradcts::reference
