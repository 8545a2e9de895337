#include "reference_engine/engine/engine_state.h"

#include <chrono>
#include <cstdlib>

#include "reference_engine/engine/fork_guard.h"
#include "reference_engine/engine/node_run.h"
#include "reference_engine/engine/thread_context.h"
#include "reference_engine/graph/recording.h"

namespace gradcts::reference {
namespace {

void serve_until_shutdown() {
  serve(nullptr);
}

// ---- The owner's part --------------------------------------------------------------------------

// The streams that were current at the call wait for all that the pass wrote for the caller
// (STREAM-5).
void wait_for_results(GraphTask& task) {
  LockGuard lock(task.mutex);
  for (Stream written : task.written_streams) {
    for (Stream caller : task.caller_streams) {
      if (caller.device == written.device) wait_stream(caller, written);
    }
  }
  for (const Tensor& result : task.results) {
    if (!result.defined()) continue;
    for (Stream caller : task.caller_streams) {
      if (caller.device == result.device()) register_use(result, caller);
    }
  }
}

void run_nodes(GraphTask& task) {
  if (task.compiled && task.is_local) {
    task.compiled->run(task);
  } else {
    serve(&task);
  }
}

std::function<void()> next_callback(GraphTask& task) {
  LockGuard lock(task.mutex);
  if (task.callbacks_run == task.callbacks.size()) return nullptr;
  return std::move(task.callbacks[task.callbacks_run++]);
}

// In order, those that are added meanwhile too; the first exception ends it (CB-1, CB-5).
void run_callbacks(GraphTask& task) {
  std::optional<ThreadStateGuard> state;
  while (auto callback = next_callback(task)) {
    if (!state) state.emplace();
    state->enter(task);
    for (Stream stream : task.caller_streams) set_current_stream(stream);
    callback();
  }
}

[[noreturn]] void throw_stopped() {
  throw Error(ErrorCategory::stopped, "the engine was stopped");
}

double shutdown_wait_seconds() {
  const char* limit = std::getenv("GRADCTS_SHUTDOWN_WAIT_LIMIT");
  return limit ? std::atof(limit) : 10.0;
}

}  // namespace

// Tells the engine that its device threads are needed.
class EngineState::SharedPass {
 public:
  SharedPass(EngineState& engine, const GraphTask& task) : engine_(engine) {
    engine_.enter_shared(task);
  }
  ~SharedPass() { engine_.leave_shared(); }
  SharedPass(const SharedPass&) = delete;
  SharedPass& operator=(const SharedPass&) = delete;

 private:
  EngineState& engine_;
};

EngineState::EngineState()
    : workers(std::make_shared<DeviceWorkers>(serve_until_shutdown)),
      pool(std::make_shared<ReentrantPool>()) {}

OwnedTask EngineState::make_task(const PassOptions& options) {
  if (is_forked_after_workers()) {
    throw Error(ErrorCategory::forked,
                "this process was forked after the engine had started threads, which it does not "
                "have: passes cannot run here");
  }
  ThreadContext& context = thread_context();
  // A pass inside of one that was running at stop() may run, so that that one can end.
  if (!context.task && (use_.load(std::memory_order_acquire) & stopped) != 0) throw_stopped();
  if (!context.queue) context.queue = std::make_shared<ReadyQueue>();
  const int depth = context.task ? context.task->depth + 1 : 0;
  return OwnedTask(new GraphTask(options, depth, context.task, context.queue));
}

std::vector<Tensor> EngineState::execute(GraphTask& task) {
  std::optional<SharedPass> shared;
  if (!task.is_local) shared.emplace(*this, task);
  const CurrentDevicesGuard devices;
  start(task);
  run(task);
  return finish(task);
}

std::shared_ptr<PassCompiler> EngineState::compiler() const {
  if (!has_compiler_.load(std::memory_order_acquire)) return nullptr;
  LockGuard lock(compiler_mutex_);
  return compiler_;
}

void EngineState::set_compiler(std::shared_ptr<PassCompiler> compiler) {
  LockGuard lock(compiler_mutex_);
  has_compiler_.store(compiler != nullptr, std::memory_order_release);
  std::swap(compiler_, compiler);
}

// Either this sees the stop, or the stop sees this. While a pass that needs device threads runs,
// they are there for passes nested in it as well.
void EngineState::enter_shared(const GraphTask& task) {
  const int before = use_.fetch_add(one_pass);
  if ((before & stopped) == 0 || (task.depth > 0 && before >= one_pass)) return;
  leave_shared();
  throw_stopped();
}

void EngineState::leave_shared() {
  if (use_.fetch_sub(one_pass) - one_pass == stopped) workers->push_shutdown();
}

// All that is shared is set before the first push (DEV-7).
void EngineState::start(GraphTask& task) {
  for (auto& [device, queue] : task.device_queues) {
    queue = workers->queue_of(device);
    task.caller_streams.push_back(current_stream(device));
  }
  if (!task.is_local) {
    LockGuard lock(task.mutex);
    task.deliveries.resize(task.states.size());
  }
  const RecordingGuard recording(task.options.create_graph);  // seeds are added here (GRAPH2-2)
  if (task.compiled) {
    task.compiled->deliver_seeds(task);
    if (!task.is_local) push_replay(task, *task.queue);
    return;
  }
  std::uint32_t order = 0;
  for (Root& root : task.roots) {
    deliver_seed(task, root.edge, std::move(root.seed), order++, *task.queue);
  }
  for (const auto& announced : task.announced) announced->attach(task, order++);
}

void EngineState::run(GraphTask& task) {
  ThreadContext& context = thread_context();
  if (!context.task) return run_nodes(task);
  if (context.nesting < nesting_limit.load(std::memory_order_relaxed)) {
    ++context.nesting;
    run_nodes(task);
    --context.nesting;
    return;
  }
  pool->run_and_wait([&task, &context, &devices = current_devices()] {
    const CurrentDevicesGuard guard(devices);
    ThreadContext& stand_in = thread_context();
    stand_in.queue = context.queue;
    stand_in.nesting = 0;
    run_nodes(task);
    stand_in.queue = nullptr;
  });
}

std::vector<Tensor> EngineState::finish(GraphTask& task) {
  if (task.has_error()) std::rethrow_exception(task.error());
  task.check_complete();
  if (!task.is_local) wait_for_results(task);
  run_callbacks(task);
  return std::move(task.results);
}

void EngineState::stop() {
  if (is_forked_after_workers()) return;  // the threads are the parent's
  int use = use_.load();
  while (!use_.compare_exchange_strong(use, use | stopped)) {
  }
  using std::chrono::duration;
  using std::chrono::steady_clock;
  const auto limit =
      std::chrono::duration_cast<steady_clock::duration>(duration<double>(shutdown_wait_seconds()));
  const auto deadline = steady_clock::now() + limit;
  if (use < one_pass) workers->push_shutdown();
  pool->push_shutdown();
  workers->threads().wait_for_none(deadline);
  pool->threads().wait_for_none(deadline);
}

}  // namespace gradcts::reference
