#include "reference_engine/distributed/gloo_group.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>
#include <signal.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <thread>
#include <utility>

#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCategory::rank_failure, message);
}

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
void add_up(const std::shared_ptr<gloo::Context>& context, const Tensor& tensor,
            std::uint32_t tag) {
  const std::size_t bytes_each = element_size(tensor.type());
  auto* first = static_cast<char*>(tensor.storage().data()) +
                static_cast<std::size_t>(tensor.offset()) * bytes_each;
  const std::size_t bytes = static_cast<std::size_t>(tensor.element_count()) * bytes_each;
  gloo::AllreduceOptions options(context);
  options.setOutput(reinterpret_cast<Number*>(first), bytes / sizeof(Number));
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<Number>));
  options.setTag(tag);
  gloo::allreduce(options);
}

// A complex number is two real ones.
void add_up_any(const std::shared_ptr<gloo::Context>& context, const Tensor& tensor,
                std::uint32_t tag) {
  switch (tensor.type()) {
    case ScalarType::float16:
      return add_up<gloo::float16>(context, tensor, tag);
    case ScalarType::float32:
    case ScalarType::complex64:
      return add_up<float>(context, tensor, tag);
    case ScalarType::float64:
    case ScalarType::complex128:
      return add_up<double>(context, tensor, tag);
    case ScalarType::int64:
      return add_up<std::int64_t>(context, tensor, tag);
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

// One collective, from the caller to the group's thread and back.
class GlooWork : public CollectiveWork {
 public:
  GlooWork(Tensor tensor, std::string what) : tensor_(std::move(tensor)), what_(std::move(what)) {}

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

 private:
  const Tensor tensor_;
  const std::string what_;
  Mutex mutex_;
  ConditionVariable done_;
  bool is_done_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::string error_ GRADCTS_GUARDED_BY(mutex_);
};

class GlooGroup : public ProcessGroup {
 public:
  GlooGroup(std::shared_ptr<gloo::Context> context, std::chrono::milliseconds limit)
      : context_(std::move(context)), limit_(limit), thread_([this] { serve(); }) {}

  ~GlooGroup() override {
    {
      LockGuard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    thread_.join();
    context_->closeConnections();
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  CollectiveWorkPointer all_reduce(const Tensor& tensor, const std::string& what) override {
    check_type(tensor, what);
    auto work = std::make_shared<GlooWork>(tensor, what);
    LockGuard lock(mutex_);
    waiting_.push_back(work);
    changed_.notify_all();
    return work;
  }

  // The other ranks see the connections end.
  void give_up(const std::string& reason) override {
    {
      LockGuard lock(mutex_);
      if (!broken_.empty()) return;
      broken_ = "this rank gave up: " + reason;
    }
    context_->closeConnections();
  }

 private:
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
    std::string reason = broken();
    if (reason.empty()) {
      try {
        add_up_any(context_, work.tensor(), tag_++);
        work.tensor().bump_version();
        return "";
      } catch (const std::exception& error) {
        reason = "a rank has left, or did not come within " + std::to_string(limit_.count()) +
                 " ms (" + error.what() + ")";
      }
      LockGuard lock(mutex_);
      if (broken_.empty()) broken_ = reason;
      reason = broken_;
    }
    return work.what() + " cannot be reduced: " + reason + ". Make another group";
  }

  std::string broken() const {
    LockGuard lock(mutex_);
    return broken_;
  }

  const std::shared_ptr<gloo::Context> context_;
  const std::chrono::milliseconds limit_;
  std::uint32_t tag_ = 0;  // of the group's thread
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::shared_ptr<GlooWork>> waiting_ GRADCTS_GUARDED_BY(mutex_);
  std::string broken_ GRADCTS_GUARDED_BY(mutex_);  // the first reason
  bool is_over_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

ProcessGroupPointer make_gloo_group(int rank, int size, const std::string& folder,
                                    std::chrono::milliseconds limit) {
  const NoBrokenPipes in_the_groups_threads;
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->setTimeout(limit);
  try {
    gloo::transport::tcp::attr loopback;
    loopback.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(loopback);
    std::filesystem::create_directories(folder);
    gloo::rendezvous::FileStore store(folder);
    context->connectFullMesh(store, device);
    // The others may be connecting still, and Gloo does not bear to be left then.
    gloo::BarrierOptions all_are_connected(context);
    gloo::barrier(all_are_connected);
  } catch (const std::exception& error) {
    fail("rank " + std::to_string(rank) + " found not all of the " + std::to_string(size) +
         " ranks in " + folder + ": " + error.what());
  }
  return std::make_shared<GlooGroup>(std::move(context), limit);
}

}  // namespace gradcts::reference
