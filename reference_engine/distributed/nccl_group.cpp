#include "reference_engine/distributed/nccl_group.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <thread>
#include <utility>

#include "reference_engine/device/cuda_devices.h"
#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCategory::rank_failure, message);
}

void check(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return;
  throw Error(ErrorCategory::device_failure,
              std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

// How NCCL sees elements: a complex number is two real ones.
struct Elements {
  ncclDataType_t type;
  std::size_t each;
};

Elements elements_of(const Tensor& tensor, Device device, const std::string& what) {
  if (tensor.device() == device) {
    switch (tensor.type()) {
      case ScalarType::float16:
        return {ncclFloat16, 1};
      case ScalarType::bfloat16:
        return {ncclBfloat16, 1};
      case ScalarType::float32:
        return {ncclFloat32, 1};
      case ScalarType::float64:
        return {ncclFloat64, 1};
      case ScalarType::complex64:
        return {ncclFloat32, 2};
      case ScalarType::complex128:
        return {ncclFloat64, 2};
      case ScalarType::int64:
        return {ncclInt64, 1};
      case ScalarType::boolean:
        break;
    }
  }
  throw Error(ErrorCategory::reducer, what + ", " + describe(tensor) +
                                          ", cannot be reduced over NCCL: this rank takes " +
                                          "numbers on " + to_string(device));
}

// The communicators of all ranks, and what NCCL does not tell the others: who has given up or left.
// Those that are left alone go when the last seat has gone, since others may still read from them.
class NcclRanks {
 public:
  explicit NcclRanks(std::size_t size) : ranks_(size) {}
  ~NcclRanks() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) abort(rank);
  }
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  void connect(absl::Span<const Device> devices);

  // Starts the rank's next collective, and returns its number.
  std::int64_t all_reduce(std::size_t rank, void* data, std::size_t count, ncclDataType_t type,
                          cudaStream_t stream) {
    LockGuard lock(mutex_);
    Rank& mine = ranks_[rank];
    if (mine.communicator) {  // else the wait says why not
      note(ncclAllReduce(data, data, count, type, ncclSum, mine.communicator, stream));
    }
    return mine.started++;
  }

  // Whether NCCL has taken all that it was given.
  bool is_settled(std::size_t rank) {
    LockGuard lock(mutex_);
    const ncclComm_t communicator = ranks_[rank].communicator;
    if (!communicator) return false;
    ncclResult_t state = ncclSuccess;
    ncclCommGetAsyncError(communicator, &state);
    note(state);
    return state == ncclSuccess;
  }

  // The first reason counts.
  void break_up(const std::string& reason) {
    LockGuard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
  }

  void leave(std::size_t rank) {
    LockGuard lock(mutex_);
    ranks_[rank].has_left = true;
  }

  // Ends what still runs on the rank's GPU.
  void abort(std::size_t rank) {
    LockGuard lock(mutex_);
    if (auto& communicator = ranks_[rank].communicator) {
      ncclCommAbort(std::exchange(communicator, nullptr));
    }
  }

  // Why the collective with this number will never be done; empty: it may be.
  std::string trouble(std::int64_t number) const {
    LockGuard lock(mutex_);
    if (!reason_.empty()) return reason_;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].has_left || ranks_[rank].started > number) continue;
      return "rank " + std::to_string(rank) + " has left the group";
    }
    return "";
  }

 private:
  struct Rank {
    ncclComm_t communicator = nullptr;  // null: aborted
    std::int64_t started = 0;           // collectives
    bool has_left = false;
  };

  void note(ncclResult_t result) GRADCTS_REQUIRES(mutex_) {
    if (result == ncclSuccess || result == ncclInProgress || !reason_.empty()) return;
    reason_ = std::string("NCCL: ") + ncclGetErrorString(result);
  }

  mutable Mutex mutex_;
  std::vector<Rank> ranks_ GRADCTS_GUARDED_BY(mutex_);
  std::string reason_ GRADCTS_GUARDED_BY(mutex_);
};

// Not blocking: a rank that does not come must not hold the others in a call.
void NcclRanks::connect(absl::Span<const Device> devices) {
  LockGuard lock(mutex_);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclUniqueId id;
  note(ncclGetUniqueId(&id));
  if (!reason_.empty()) return;
  const int size = static_cast<int>(devices.size());
  note(ncclGroupStart());
  for (int rank = 0; rank < size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    enter_cuda({devices[index], 0});
    note(ncclCommInitRankConfig(&ranks_[index].communicator, size, id, rank, &config));
  }
  note(ncclGroupEnd());
}

class NcclSeat : public ProcessGroup, public std::enable_shared_from_this<NcclSeat> {
 public:
  NcclSeat(std::shared_ptr<NcclRanks> ranks, int rank, int size, Device device,
           std::chrono::milliseconds limit)
      : ranks_(std::move(ranks)),
        rank_(rank),
        size_(size),
        device_(device),
        limit_(limit),
        stream_(make_stream(device)) {}
  ~NcclSeat() override { ranks_->leave(index()); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  CollectiveWorkPointer all_reduce(const Tensor& tensor, const std::string& what) override;

  void give_up(const std::string& reason) override {
    ranks_->break_up("rank " + std::to_string(rank_) + " gave up: " + reason);
    ranks_->abort(index());
  }

  bool is_settled() { return ranks_->is_settled(index()); }

  // For the limit at most. Fails with `what` and the reason where the collective with this number
  // will never be done.
  template <typename IsOver>
  void wait_until(const std::string& what, std::int64_t number, IsOver is_over);

 private:
  std::size_t index() const { return static_cast<std::size_t>(rank_); }

  const std::shared_ptr<NcclRanks> ranks_;
  const int rank_;
  const int size_;
  const Device device_;
  const std::chrono::milliseconds limit_;
  const Stream stream_;
};

// CUDA has no wait with a limit, so the host asks now and then.
template <typename IsOver>
void NcclSeat::wait_until(const std::string& what, std::int64_t number, IsOver is_over) {
  const auto deadline = std::chrono::steady_clock::now() + limit_;
  while (!is_over()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ranks_->break_up("a rank did not come within " + std::to_string(limit_.count()) + " ms");
    }
    const std::string trouble = ranks_->trouble(number);
    if (!trouble.empty()) {
      ranks_->break_up(trouble);
      ranks_->abort(index());
      fail(what + " cannot be reduced: " + trouble + ". Make another group");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

class NcclWork : public CollectiveWork {
 public:
  // Over when all that is on the stream now is done.
  NcclWork(std::shared_ptr<NcclSeat> seat, std::string what, std::int64_t number,
           cudaStream_t stream)
      : seat_(std::move(seat)), what_(std::move(what)), number_(number) {
    check("no event", cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    check("an event was not recorded", cudaEventRecord(done_, stream));
  }
  ~NcclWork() override { cudaEventDestroy(done_); }
  NcclWork(const NcclWork&) = delete;
  NcclWork& operator=(const NcclWork&) = delete;

  // The result is there when it returns, so no stream has to wait for it.
  void wait() override {
    seat_->wait_until(what_, number_, [this] {
      const cudaError_t state = cudaEventQuery(done_);
      if (state == cudaSuccess) return true;
      if (state != cudaErrorNotReady) check("a reduction failed", state);
      seat_->is_settled();  // notes what went wrong
      return false;
    });
  }

 private:
  const std::shared_ptr<NcclSeat> seat_;
  const std::string what_;
  const std::int64_t number_;
  cudaEvent_t done_ = nullptr;
};

CollectiveWorkPointer NcclSeat::all_reduce(const Tensor& tensor, const std::string& what) {
  const Elements elements = elements_of(tensor, device_, what);
  wait_stream(stream_, current_stream(device_));
  register_use(tensor, stream_);
  const cudaStream_t stream = enter_cuda(stream_);
  auto* first = static_cast<char*>(tensor.storage().data()) +
                static_cast<std::size_t>(tensor.offset()) * element_size(tensor.type());
  const auto count = static_cast<std::size_t>(tensor.element_count()) * elements.each;
  const std::int64_t number = ranks_->all_reduce(index(), first, count, elements.type, stream);
  wait_until(what, number, [this] { return is_settled(); });
  tensor.bump_version();
  return std::make_shared<NcclWork>(shared_from_this(), what, number, stream);
}

// Throws Error(reducer) for two devices on one GPU.
void check_gpus(absl::Span<const Device> devices) {
  std::vector<int> gpus;
  for (const Device device : devices) {
    enter_cuda({device, 0});
    int gpu = 0;
    check("no GPU", cudaGetDevice(&gpu));
    for (std::size_t other = 0; other < gpus.size(); ++other) {
      if (gpus[other] != gpu) continue;
      throw Error(ErrorCategory::reducer,
                  to_string(devices[other]) + " and " + to_string(device) +
                      " lie on one GPU, and NCCL has one rank a GPU; use fewer ranks, or an "
                      "in-process group");
    }
    gpus.push_back(gpu);
  }
}

}  // namespace

std::vector<ProcessGroupPointer> make_nccl_group(absl::Span<const Device> devices,
                                                 std::chrono::milliseconds limit) {
  check_gpus(devices);
  const auto ranks = std::make_shared<NcclRanks>(devices.size());
  ranks->connect(devices);
  const int size = static_cast<int>(devices.size());
  std::vector<ProcessGroupPointer> seats;
  for (int rank = 0; rank < size; ++rank) {
    const Device device = devices[static_cast<std::size_t>(rank)];
    const auto seat = std::make_shared<NcclSeat>(ranks, rank, size, device, limit);
    seats.push_back(seat);
    seat->wait_until("a group of " + std::to_string(size) + " ranks", 0,
                     [&seat] { return seat->is_settled(); });
  }
  return seats;
}

}  // namespace gradcts::reference
