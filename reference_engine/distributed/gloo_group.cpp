#include "reference_engine/distributed/gloo_group.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "reference_engine/distributed/rank_files.h"
#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCategory::rank_failure, message);
}

using Clock = std::chrono::steady_clock;

// For the calling thread, and for those that it makes meanwhile for good: to write to a connection
// that has ended is an error, and not a signal that ends the process. Gloo does not see to that.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &previous_);
  }
  ~NoBrokenPipes() {
    const timespec at_once{};
    while (sigtimedwait(&broken_pipe_, nullptr, &at_once) == -1 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sigset_t broken_pipe_;
  sigset_t previous_;
};

template <typename Number>
void add_up(const std::shared_ptr<gloo::Context>& context, const Tensor& tensor, std::uint32_t tag,
            std::chrono::milliseconds limit) {
  const std::size_t bytes_each = element_size(tensor.type());
  auto* first = static_cast<char*>(tensor.storage().data()) +
                static_cast<std::size_t>(tensor.offset()) * bytes_each;
  const std::size_t bytes = static_cast<std::size_t>(tensor.element_count()) * bytes_each;
  gloo::AllreduceOptions options(context);
  options.setOutput(reinterpret_cast<Number*>(first), bytes / sizeof(Number));
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<Number>));
  options.setTag(tag);
  options.setTimeout(limit);
  gloo::allreduce(options);
}

// A complex number is two real ones.
void add_up_any(const std::shared_ptr<gloo::Context>& context, const Tensor& tensor,
                std::uint32_t tag, std::chrono::milliseconds limit) {
  switch (tensor.type()) {
    case ScalarType::float16:
      return add_up<gloo::float16>(context, tensor, tag, limit);
    case ScalarType::float32:
    case ScalarType::complex64:
      return add_up<float>(context, tensor, tag, limit);
    case ScalarType::float64:
    case ScalarType::complex128:
      return add_up<double>(context, tensor, tag, limit);
    case ScalarType::int64:
      return add_up<std::int64_t>(context, tensor, tag, limit);
    default:
      return;  // refused beforehand
  }
}

void check_type(const Tensor& tensor, const std::string& what) {
  const bool is_offered = tensor.device() == cpu && tensor.type() != ScalarType::bfloat16 &&
                          tensor.type() != ScalarType::boolean;
  if (is_offered) return;
  throw Error(ErrorCategory::reducer, what + ", " + describe(tensor) +
                                          ", cannot be reduced over Gloo: it takes tensors on "
                                          "the cpu, of the floating types but bfloat16");
}

// Made of all in which ranks must agree. Gloo joins what has the same number, so that ranks that
// reduce different things do not reduce them together.
std::uint32_t number_of(const Tensor& tensor, const std::string& what) {
  return static_cast<std::uint32_t>(std::hash<std::string>()(what + ", " + describe(tensor)));
}

// By which Gloo connects the ranks of a round. Waiting for one that will not come ends at once.
class RoundStore : public gloo::rendezvous::FileStore {
 public:
  RoundStore(const RankFiles& files, std::int64_t round, std::chrono::milliseconds limit)
      : FileStore(files.folder_of(round)),
        files_(files),
        round_(round),
        limit_(limit),
        deadline_(Clock::now() + limit) {}

  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    while (!check(keys)) {
      const std::string lost = files_.who_is_lost(round_);
      if (!lost.empty()) fail(lost);
      if (Clock::now() > deadline_) fail(late());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::string late() const {
    const std::string who =
        round_ == 0 ? files_.who_never_came() : files_.who_is_missing({round_, 0, 0});
    return (who.empty() ? "a rank did not connect" : who) + " within " +
           std::to_string(limit_.count()) + " ms";
  }

  const RankFiles& files_;
  const std::int64_t round_;
  const std::chrono::milliseconds limit_;
  const Clock::time_point deadline_;
};

// One collective, from the caller to the group's thread and back.
class GlooWork : public CollectiveWork {
 public:
  GlooWork(Tensor tensor, std::string what, std::int64_t round)
      : tensor_(std::move(tensor)), what_(std::move(what)), round_(round) {}

  void wait() override {
    LockGuard lock(mutex_);
    while (!is_done_) done_.wait(mutex_);
    if (!error_.empty()) fail(error_);
  }

  void complete(std::string error) {
    LockGuard lock(mutex_);
    is_done_ = true;
    error_ = std::move(error);
    done_.notify_all();
  }

  const Tensor& tensor() const { return tensor_; }
  const std::string& what() const { return what_; }
  std::int64_t round() const { return round_; }

 private:
  const Tensor tensor_;
  const std::string what_;
  const std::int64_t round_;
  Mutex mutex_;
  ConditionVariable done_;
  bool is_done_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::string error_ GRADCTS_GUARDED_BY(mutex_);
};

using Connections = std::shared_ptr<gloo::Context>;

// Ends connections, and with an error what waits for them. Gloo's own closeConnections() leaves
// that waiting for its limit; a receive that comes too late ends all.
void end(gloo::Context& connections) {
  char never_sent = 0;
  const auto buffer = connections.createUnboundBuffer(&never_sent, sizeof never_sent);
  try {
    buffer->waitRecv(std::chrono::milliseconds(1));
  } catch (const gloo::Exception&) {
    // As it should.
  }
}

// Note [Who may touch the connections]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// They are made and used by the group's thread. Another one that gives the round up ends them,
// which fails what the group's thread waits for. Connections that are made while their round is
// given up are ended by who made them. So whoever comes second, they are ended.
class GlooGroup : public ProcessGroup {
 public:
  // Connects. Throws where a rank does not come.
  GlooGroup(int rank, int size, const std::string& folder, GlooLimits limits)
      : rank_(rank), size_(size), limit_(limits.collective), files_(folder, rank, size) {
    gloo::transport::tcp::attr loopback;
    loopback.hostname = "127.0.0.1";
    device_ = gloo::transport::tcp::CreateDevice(loopback);
    connections_ = connect(0, limits.connecting);
    thread_ = std::thread([this] { serve(); });
  }

  ~GlooGroup() override {
    {
      LockGuard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    thread_.join();
    if (connections_) end(*connections_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  CollectiveWorkPointer all_reduce(const Tensor& tensor, const std::string& what) override {
    check_type(tensor, what);
    LockGuard lock(mutex_);
    auto work = std::make_shared<GlooWork>(tensor, what, round_);
    waiting_.push_back(work);
    changed_.notify_all();
    return work;
  }

  // The other ranks see the connections end, and look for the reason.
  void give_up(const std::string& reason) override {
    Connections old;
    {
      LockGuard lock(mutex_);
      files_.give_up(round_, reason);
      ++round_;
      trouble_.clear();
      old = std::move(connections_);
      connections_ = nullptr;
    }
    if (old) end(*old);
  }

 private:
  // By the group's thread, but for round 0. The others may be connecting still when this one has
  // all connections, and Gloo does not bear to be left then: all wait for all.
  Connections connect(std::int64_t round, std::chrono::milliseconds limit) {
    auto made = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    // Gloo takes five times as long for a connection, and 0 for no limit.
    made->setTimeout(std::max(limit / 5, std::chrono::milliseconds(1)));
    RoundStore store(files_, round, limit);
    made->connectFullMesh(store, device_);
    gloo::BarrierOptions all_are_connected(made);
    all_are_connected.setTimeout(limit);
    gloo::barrier(all_are_connected);
    return made;
  }

  void serve() {
    while (const auto work = next()) work->complete(run(*work));
  }

  std::shared_ptr<GlooWork> next() {
    LockGuard lock(mutex_);
    while (waiting_.empty() && !is_over_) changed_.wait(mutex_);
    if (waiting_.empty()) return nullptr;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    return work;
  }

  // What went wrong; empty where nothing did.
  std::string run(const GlooWork& work) {
    std::string trouble = trouble_of(work.round());
    if (trouble.empty()) {
      trouble = reduce(work);
      if (trouble.empty()) return "";
      LockGuard lock(mutex_);
      if (work.round() == round_) trouble_ = trouble;
    }
    return work.what() + " cannot be reduced: " + trouble;
  }

  // Why nothing of the round can be reduced any more.
  std::string trouble_of(std::int64_t round) const {
    LockGuard lock(mutex_);
    return round < round_ ? "this rank gave up" : trouble_;
  }

  std::string reduce(const GlooWork& work) {
    if (work.round() != last_round_) next_number_ = 0;
    last_round_ = work.round();
    const Collective place{work.round(), next_number_++, number_of(work.tensor(), work.what())};
    files_.arrive(place);
    const std::string differs = files_.who_differs(place);
    if (!differs.empty()) return differs;
    const Clock::time_point begin = Clock::now();
    try {
      const Connections connections = connections_of(work.round());
      add_up_any(connections, work.tensor(), place.what, limit_);
      work.tensor().bump_version();
      return "";
    } catch (const std::exception& error) {
      return who_is_to_blame(place, Clock::now() - begin >= limit_, error.what());
    }
  }

  Connections connections_of(std::int64_t round) {
    {
      LockGuard lock(mutex_);
      if (round == round_ && connections_) return connections_;
    }
    Connections made = connect(round, limit_);
    LockGuard lock(mutex_);
    if (round == round_) return connections_ = std::move(made);
    end(*made);
    fail("this rank gave up");
  }

  // A rank that ends closes its files one after the other: the others may see its connections end
  // before its seat is free.
  std::string who_is_to_blame(const Collective& place, bool is_late, const std::string& error) {
    const auto deadline = Clock::now() + std::chrono::seconds(1);
    do {
      for (const std::string& trouble :
           {trouble_of(place.round), files_.who_is_lost(place.round), files_.who_differs(place)}) {
        if (!trouble.empty()) return trouble;
      }
      const std::string missing = is_late ? files_.who_is_missing(place) : "";
      if (!missing.empty()) return missing + " within " + std::to_string(limit_.count()) + " ms";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (Clock::now() < deadline);
    return "a connection failed (" + error + ")";
  }

  const int rank_;
  const int size_;
  const std::chrono::milliseconds limit_;
  RankFiles files_;
  std::shared_ptr<gloo::transport::Device> device_;

  // Of the group's thread: where it is.
  std::int64_t last_round_ = 0;
  std::int64_t next_number_ = 0;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::shared_ptr<GlooWork>> waiting_ GRADCTS_GUARDED_BY(mutex_);
  std::int64_t round_ GRADCTS_GUARDED_BY(mutex_) = 0;
  std::string trouble_ GRADCTS_GUARDED_BY(mutex_);      // of this round: why it failed
  Connections connections_ GRADCTS_GUARDED_BY(mutex_);  // of this round; null: to be made
  bool is_over_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

ProcessGroupPointer make_gloo_group(int rank, int size, const std::string& folder,
                                    GlooLimits limits) {
  const NoBrokenPipes in_the_groups_threads;
  try {
    return std::make_shared<GlooGroup>(rank, size, folder, limits);
  } catch (const std::exception& error) {
    fail("rank " + std::to_string(rank) + " found not all of the " + std::to_string(size) +
         " ranks in " + folder + ": " + error.what());
  }
}

}  // namespace gradcts::reference
