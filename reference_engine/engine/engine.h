// The engine: runs backward passes.
//
// A pass is one call of backward() or grad(). The calling thread runs the nodes of the CPU itself;
// each other device has one thread, started when a pass first needs it (DEV-2), which serves all
// passes. The call returns, or throws the first exception of its pass, when no node of the pass is
// running any more (ERR-5, `when-idle`).
//
// Thread safety: all functions may be called from any thread, also from inside nodes, hooks and
// callbacks; a call from inside a pass is a nested pass and completes before it returns (REENT-1).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference_engine/engine/announced_gradient.h"
#include "reference_engine/engine/pass_future.h"
#include "reference_engine/error.h"
#include "reference_engine/graph/autograd.h"
#include "reference_engine/graph/running_node.h"

namespace gradcts::reference {

// Where a pass starts. An undefined seed is an undefined gradient; the functions on tensors below
// put ones for it where the root has one element.
struct Root {
  Edge edge;
  Tensor seed;
};

// One gradient that grad() is asked for: what the slot receives, after accumulation and tensor
// hooks (PRUNE-6). A null edge is an input that no pass reaches.
struct Capture {
  Edge edge;
  std::vector<CaptureHook> hooks;
};

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool exit_on_error =
      false;  // return at the first error, even if a node still runs elsewhere (ERR-5)

  // If set: accumulate into these tensors alone, leaves or not. Empty is an error (PRUNE-5).
  std::optional<std::vector<Tensor>> inputs = std::nullopt;

  // Gradients that other threads will deliver; the pass waits for them (ASYNC-1).
  std::vector<std::shared_ptr<AnnouncedGradient>> announced = {};
};

struct GradOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool exit_on_error = false;
  bool allow_unused = false;        // an input that is not reached gives an undefined gradient
  bool materialise_unused = false;  // ... or zeros without history (PRUNE-4)
  std::vector<std::shared_ptr<AnnouncedGradient>> announced = {};
};

// The pass that this thread is working for.
struct PassInfo {
  std::uint64_t id;  // unique in the process, never 0
  int depth;         // 0 for a pass that was not started from inside another one
};

class EngineState;
class PassCompiler;

class Engine {
 public:
  Engine();

  // stop(). Other threads may be in backward() or grad(): these go on, keep what they use, and
  // return as usual. They are waited for only as stop() waits, which is for threads of the engine;
  // so nodes of such passes must not call this engine any more, as nobody may.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The engine that the free functions below use.
  static Engine& default_engine();

  // Replaces it, or puts the built-in one back (null). Not while a pass runs.
  static void set_default_engine(Engine* engine);

  void backward(absl::Span<const Root> roots, const BackwardOptions& options = {});

  // One gradient a capture, in their order, duplicates included; no `.grad` changes (PRUNE-1).
  std::vector<Tensor> grad(absl::Span<const Root> roots, absl::Span<const Capture> captures,
                           const GradOptions& options = {});

  // The same on another thread, with the caller's thread-local state; the result comes through the
  // future, which a pool thread completes (ASYNC-2). The pass is nested in none.
  PassFuturePointer start_backward(std::vector<Root> roots, BackwardOptions options = {});
  PassFuturePointer start_grad(std::vector<Root> roots, std::vector<Capture> captures,
                               GradOptions options = {});

  // How many passes nest on one thread before the next one moves to a pool thread (REENT-3). At
  // least 1.
  void set_nesting_limit(int limit);
  int nesting_limit() const;

  // Passes whose nodes all run on one device are compiled and replayed from now on: see
  // compiled/compiler.h. Null: no longer. Passes that have started are not concerned.
  void set_compiler(std::shared_ptr<PassCompiler> compiler);

  // Ends all threads, and waits for that for as many seconds in all as GRADCTS_SHUTDOWN_WAIT_LIMIT
  // says (10 if unset, 0 does not wait). Threads that are inside a node are left to themselves, and
  // nothing that they use is freed. Passes that run are completed, with those nested in them; later
  // ones throw Error(stopped). Calling it twice is calling it once. From inside a pass, it waits in
  // vain for the threads that this pass runs on.
  void stop();

  int device_thread_count() const;
  int pool_thread_count() const;

 private:
  PassFuturePointer start(std::function<std::vector<Tensor>()> pass);

  std::shared_ptr<EngineState> state_;  // shared with threads that outlive a stop()
};

// ---- Passes over tensors, on the default engine ------------------------------------------------

// An undefined seed means ones, for a root of one element; for any other it is
// Error(invalid_argument). Fewer seeds than roots are filled up with undefined ones.
void backward(absl::Span<const Tensor> roots, absl::Span<const Tensor> seeds = {},
              const BackwardOptions& options = {});
std::vector<Tensor> grad(absl::Span<const Tensor> roots, absl::Span<const Tensor> seeds,
                         absl::Span<const Tensor> inputs, const GradOptions& options = {});

// ---- From inside a pass ------------------------------------------------------------------------

// Runs the callback at the end of the innermost pass that this thread works for; outside of one,
// Error(outside_pass) (CB-1 to CB-3).
void queue_callback(std::function<void()> callback);

// The innermost pass that this thread works for; none outside of one.
std::optional<PassInfo> current_pass();

// Will, or did, this node run in the current pass? Outside of one, Error(outside_pass) (PRUNE-8).
bool will_run(const Node& node);

// May a node recompute a part of the forward by a nested backward()? Only if every enclosing pass
// is a plain backward() (REENT-8). True outside of a pass.
bool is_checkpoint_valid();

}  // namespace gradcts::reference
