#include "reference_engine/engine/engine.h"

#include "reference_engine/engine/engine_state.h"
#include "reference_engine/engine/fork_guard.h"
#include "reference_engine/engine/plan.h"
#include "reference_engine/engine/thread_context.h"
#include "reference_engine/engine/validation.h"
#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/recording.h"

namespace gradcts::reference {
namespace {

std::string in_words(const char* what, std::size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

// ---- Roots -------------------------------------------------------------------------------------

// Seeds are validated as a node's outputs are (ROOT-4).
void check_root(Root& root, std::size_t index) {
  if (!root.edge) {
    throw Error(ErrorCategory::invalid_argument,
                in_words("root", index) + " does not require grad and was produced by no node");
  }
  const Node& node = *root.edge.node;
  if (root.edge.slot >= node.slot_count()) {
    throw Error(ErrorCategory::invalid_argument,
                in_words("root", index) + " is slot " + std::to_string(root.edge.slot) +
                    " of node " + node.name() + ", which has " + std::to_string(node.slot_count()));
  }
  if (auto mismatch = fit(node.slot(root.edge.slot), root.seed, node.strict_validation())) {
    throw Error(mismatch->category,
                "the seed of " + in_words("root", index) + " is invalid: " + mismatch->message);
  }
}

void add_roots(GraphTask& task, absl::Span<const Root> roots) {
  const RecordingGuard recording(task.options.create_graph);  // seeds are made to fit (GRAPH2-2)
  task.roots.assign(roots.begin(), roots.end());
  for (std::size_t i = 0; i < roots.size(); ++i) check_root(task.roots[i], i);
}

// ---- What is asked for -------------------------------------------------------------------------

std::uint32_t add_capture(GraphTask& task, PlannedCapture capture) {
  task.captures.push_back(std::move(capture));
  return static_cast<std::uint32_t>(task.captures.size());
}

// A leaf's accumulator runs. Of another tensor the gradient is added to its `.grad` on the way,
// where retain_grad() would put it, and its node runs as well (PRUNE-5).
Target target_of_input(GraphTask& task, const Tensor& input, const Edge& edge) {
  Target target{edge.node.get(), true, 0};
  if (is_leaf(input) || retains_grad(input)) return target;
  target.capture = add_capture(task, {edge.slot, 0, {}, make_autograd_state(input).cell(), 0});
  return target;
}

bool is_repeated(const std::vector<Tensor>& inputs, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (inputs[i].is_same(inputs[index])) return true;
  }
  return false;
}

std::vector<Target> targets_of_inputs(GraphTask& task, const std::vector<Tensor>& inputs) {
  if (inputs.empty()) {
    throw Error(ErrorCategory::invalid_argument, "backward() was given an empty list of inputs");
  }
  std::vector<Target> targets;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Edge edge = gradient_edge(inputs[i]);
    if (!edge) {
      throw Error(ErrorCategory::invalid_argument, in_words("input", i) + " does not require grad");
    }
    if (!is_repeated(inputs, i)) targets.push_back(target_of_input(task, inputs[i], edge));
  }
  return targets;
}

std::vector<Target> targets_of_captures(GraphTask& task, absl::Span<const Capture> captures) {
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < captures.size(); ++i) {
    const Edge& edge = captures[i].edge;
    if (!edge) continue;
    targets.push_back(
        {edge.node.get(), false, add_capture(task, {edge.slot, i, captures[i].hooks, nullptr, 0})});
  }
  task.results.resize(captures.size());
  return targets;
}

// Announced gradients come from other threads: such a pass is not local.
void announce(GraphTask& task, const std::vector<std::shared_ptr<AnnouncedGradient>>& announced) {
  task.announced = announced;
  if (!announced.empty()) task.is_local = false;
}

[[noreturn]] void throw_unused(std::size_t index) {
  throw Error(ErrorCategory::unused_input,
              in_words("input", index) +
                  " is not reached from the roots; if that is right, pass allow_unused = true");
}

bool may_be_unused(const GradOptions& options) {
  return options.allow_unused || options.materialise_unused;
}

void check_reached(const GraphTask& task, absl::Span<const Capture> captures) {
  for (std::size_t i = 0; i < captures.size(); ++i) {
    const Edge& edge = captures[i].edge;
    if (!edge || !task.reaches(*edge.node)) throw_unused(i);
  }
}

void settle_unused(std::vector<Tensor>& results, absl::Span<const Capture> captures,
                   const GradOptions& options) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined()) continue;
    if (!may_be_unused(options)) throw_unused(i);
    const Edge& edge = captures[i].edge;
    if (!options.materialise_unused || !edge) continue;
    const InputMetadata& slot = edge.node->slot(edge.slot);
    results[i] = zeros(slot.shape, slot.type, slot.device());
  }
}

}  // namespace

// ---- Engine ------------------------------------------------------------------------------------

Engine::Engine() : state_(std::make_shared<EngineState>()) {}

Engine::~Engine() {
  stop();
}

// By the compiler if there is one; passes with gradients from outside are not compiled.
void EngineState::plan(GraphTask& task, const std::vector<Target>* targets) {
  const std::shared_ptr<PassCompiler> compiler = this->compiler();
  if (compiler && task.announced.empty()) return compiler->plan(task, targets);
  plan_pass(task, targets);
}

void EngineState::backward(absl::Span<const Root> roots, const BackwardOptions& options) {
  OwnedTask task = make_task({options.keep_graph, options.create_graph, options.exit_on_error});
  add_roots(*task, roots);
  announce(*task, options.announced);
  if (options.inputs) {
    task->is_checkpoint_valid = false;
    const std::vector<Target> targets = targets_of_inputs(*task, *options.inputs);
    plan(*task, &targets);
  } else {
    plan(*task, nullptr);
  }
  execute(*task);
}

std::vector<Tensor> EngineState::grad(absl::Span<const Root> roots,
                                      absl::Span<const Capture> captures,
                                      const GradOptions& options) {
  OwnedTask task = make_task({options.keep_graph, options.create_graph, options.exit_on_error});
  task->is_checkpoint_valid = false;
  add_roots(*task, roots);
  announce(*task, options.announced);
  const std::vector<Target> targets = targets_of_captures(*task, captures);
  plan(*task, &targets);
  if (roots.empty() && task->announced.empty()) return std::move(task->results);  // ROOT-5
  if (!may_be_unused(options)) check_reached(*task, captures);
  std::vector<Tensor> results = execute(*task);
  settle_unused(results, captures, options);
  return results;
}

// Other threads may destroy the engine while a call runs: the call holds what it uses (SHUT-2).
void Engine::backward(absl::Span<const Root> roots, const BackwardOptions& options) {
  const std::shared_ptr<EngineState> held = state_;
  held->backward(roots, options);
}

std::vector<Tensor> Engine::grad(absl::Span<const Root> roots, absl::Span<const Capture> captures,
                                 const GradOptions& options) {
  const std::shared_ptr<EngineState> held = state_;
  return held->grad(roots, captures, options);
}

PassFuturePointer Engine::start_backward(std::vector<Root> roots, BackwardOptions options) {
  return start([state = state_, roots = std::move(roots), options = std::move(options)] {
    state->backward(roots, options);
    return std::vector<Tensor>();
  });
}

PassFuturePointer Engine::start_grad(std::vector<Root> roots, std::vector<Capture> captures,
                                     GradOptions options) {
  return start([state = state_, roots = std::move(roots), captures = std::move(captures),
                options = std::move(options)] { return state->grad(roots, captures, options); });
}

// Whoever sees the result may count on it that the graph and the caller's value are let go here
// (LIFE-1, TLS-2). A child process has no threads, and the pass says so at once (FORK-1).
PassFuturePointer Engine::start(std::function<std::vector<Tensor>()> pass) {
  auto future = std::make_shared<PassFuture>();
  auto work = [future, pass = std::move(pass), value = thread_local_value(),
               anomaly = anomaly_mode(), devices = current_devices()]() mutable {
    std::vector<Tensor> gradients;
    std::exception_ptr error;
    {
      const CurrentDevicesGuard device_guard(devices);
      const ThreadStateGuard state_guard;
      thread_mode().value = std::move(value);
      thread_mode().anomaly = anomaly;
      try {
        gradients = pass();
      } catch (...) {
        error = std::current_exception();
      }
      pass = nullptr;
    }
    future->complete(std::move(gradients), std::move(error));
  };
  if (is_forked_after_workers()) {
    work();
  } else {
    state_->pool->run(std::move(work));
  }
  return future;
}

void Engine::set_nesting_limit(int limit) {
  if (limit < 1) {
    throw Error(ErrorCategory::invalid_argument,
                "a nesting limit of " + std::to_string(limit) + "; it must be at least 1");
  }
  state_->nesting_limit.store(limit);
}

int Engine::nesting_limit() const {
  return state_->nesting_limit.load();
}

void Engine::set_compiler(std::shared_ptr<PassCompiler> compiler) {
  state_->set_compiler(std::move(compiler));
}

void Engine::stop() {
  state_->stop();
}

int Engine::device_thread_count() const {
  return state_->workers->threads().count();
}

int Engine::pool_thread_count() const {
  return state_->pool->threads().count();
}

// ---- The default engine ------------------------------------------------------------------------

namespace {

Atomic<Engine*> replaced_engine{nullptr};

}  // namespace

// Never destroyed: its threads may be running when the process ends (SHUT-3).
Engine& Engine::default_engine() {
  static Engine* const built_in = new Engine;
  Engine* replaced = replaced_engine.load(std::memory_order_acquire);
  return replaced ? *replaced : *built_in;
}

void Engine::set_default_engine(Engine* engine) {
  replaced_engine.store(engine, std::memory_order_release);
}

// ---- Passes over tensors -----------------------------------------------------------------------

namespace {

std::vector<Root> roots_of(absl::Span<const Tensor> tensors, absl::Span<const Tensor> seeds) {
  if (seeds.size() > tensors.size()) {
    throw Error(ErrorCategory::invalid_argument, std::to_string(seeds.size()) + " seeds for " +
                                                     std::to_string(tensors.size()) + " roots");
  }
  std::vector<Root> roots;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Root root{gradient_edge(tensors[i]), i < seeds.size() ? seeds[i] : Tensor()};
    if (root.edge && !root.seed.defined()) {
      if (tensors[i].element_count() != 1) {
        throw Error(ErrorCategory::invalid_argument,
                    in_words("root", i) + ", " + describe(tensors[i]) +
                        ", has more than one element and needs a seed");
      }
      root.seed = ones(tensors[i].shape(), tensors[i].type(), tensors[i].device());
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

}  // namespace

void backward(absl::Span<const Tensor> roots, absl::Span<const Tensor> seeds,
              const BackwardOptions& options) {
  Engine::default_engine().backward(roots_of(roots, seeds), options);
}

std::vector<Tensor> grad(absl::Span<const Tensor> roots, absl::Span<const Tensor> seeds,
                         absl::Span<const Tensor> inputs, const GradOptions& options) {
  std::vector<Capture> captures;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    captures.push_back({gradient_edge(inputs[i]), {}});
    if (!captures.back().edge && !may_be_unused(options)) {
      throw Error(ErrorCategory::invalid_argument, in_words("input", i) + " does not require grad");
    }
  }
  std::vector<Tensor> results =
      Engine::default_engine().grad(roots_of(roots, seeds), captures, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (results[i].defined() || !options.materialise_unused) continue;
    results[i] = zeros(inputs[i].shape(), inputs[i].type(), inputs[i].device());
  }
  return results;
}

// ---- From inside a pass ------------------------------------------------------------------------

namespace {

GraphTask& task_for(const char* what) {
  GraphTask* task = thread_context().task;
  if (task) return *task;
  throw Error(ErrorCategory::outside_pass, std::string(what) + " was called outside of a pass");
}

}  // namespace

void queue_callback(std::function<void()> callback) {
  GraphTask& task = task_for("queue_callback()");
  LockGuard lock(task.mutex);
  task.callbacks.push_back(std::move(callback));
}

std::optional<PassInfo> current_pass() {
  const GraphTask* task = thread_context().task;
  if (!task) return std::nullopt;
  return PassInfo{task->id, task->depth};
}

bool will_run(const Node& node) {
  return task_for("will_run()").runs(node);
}

bool is_checkpoint_valid() {
  const GraphTask* task = thread_context().task;
  return !task || task->is_checkpoint_valid;
}

}  // namespace gradcts::reference
