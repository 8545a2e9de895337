// Pass: one backward pass, as the clauses describe it.
//
//   1. Which nodes do the roots reach, and how many deliveries does each wait for?      TOPO-1,
//   TOPO-2
//   2. Which of them must run, which are captured?                                      PRUNE
//   3. Deliver the seeds. While something is ready, take the first by ORDER-1, visit it: tensor
//   hooks,
//      retain-grad, capture, pre-hooks, the node, validation, post hooks; release; deliver. HOOK-1,
//      VAL
//   4. Final callbacks, in order.                                                       CB-1
//
// On the CPU alone this order is the engine's. Where several queues are involved, or nodes made by
// several threads, the same steps give the same values, and only what the clauses order is written
// down.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <optional>
#include <vector>

#include "conformance/oracle/interpreter.h"

namespace gradcts::oracle {

class Pass {
 public:
  Pass(Interpreter& interpreter, const PassStep& step);

  // The error that the pass ends with, if any.
  std::optional<Thrown> run();
  // The captured gradients of a `grad` that has ended without one: one a requested input.
  const Gradients& results() const { return results_; }
  bool is_materialised(std::size_t result) const { return results_[result] != captured_[result]; }

  // ---- Questions from inside (PRUNE-8, REENT-8)
  // Nothing where that is free.
  std::optional<bool> will_run(const GraphNode* node) const;
  std::int64_t needed(const GraphNode& node) const;  // bit i: the gradient of input i is needed
  bool is_plain_backward() const;
  // A pass inside the visit that is under way waits for another queue: from here on other nodes may
  // run inside that visit, on the same thread (REENT-2, any-ready).
  void pause();
  bool leaves_its_queue() const { return leaves_its_queue_; }
  void queue_callback(CallbackId callback) {
    callbacks_.push_back({callback, {current_}, is_certain_});
  }

 private:
  struct Capture {
    std::int32_t request = 0;  // index into the requested inputs
    std::int32_t slot = 0;
  };

  // How many events, results of steps and effects there were.
  struct Moment {
    std::int32_t events = 0, steps = 0, effects = 0;
  };

  // What the pass knows of a node.
  struct Entry {
    GraphNode* node = nullptr;
    std::int32_t waits_for = 0;  // deliveries to come
    std::int32_t ready_at = 0;   // after how many visits it became ready
    bool runs = false;
    bool visited = false;
    bool accumulates = false;  // a leaf that gradients go into
    bool optional = false;     // its node stands for a part of another one: engines need not run it
    bool bypassed = false;     // what it gets through a change of its view may go past it
    bool through_base = false;  // a changed view, asked for through its base alone: its hooks need
                                // not run
    std::vector<Capture> captures;
    Gradients slots;                      // sums so far
    Cursor after;                         // the last events of those that delivered
    Cursor last;                          // its own last events
    std::vector<std::int32_t> producers;  // only where an error may be unordered
    Moment begun, ended;                  // its visit

    bool is_visited() const { return runs || !captures.empty(); }
  };
  struct Failure {
    std::int32_t entry = 0;
    Thrown thrown;
  };
  struct Callback {
    CallbackId id = no_id;
    std::vector<std::int32_t> queued_by;  // at a visit of which entries an engine may queue it
    bool is_certain = true;               // whether every engine queues it
  };

  std::optional<Thrown> run_all();

  // ---- Setting up
  void check_arguments();
  void check_inputs(std::vector<Thrown>& wrong) const;
  Gradients check_seeds(std::vector<Thrown>& wrong);
  Tensor* seed_of(const Root& root);
  std::int32_t entry_of(GraphNode* node);
  void reach();
  static bool leads_to_its_base(const GraphNode& change);
  void find_optional();
  void refuse_hooks_of_bases() const;
  std::vector<Edge> announced_edges() const;
  void choose();
  void request(std::int32_t index, Tensor* input);
  void spread_need();
  void find_queues();
  void deliver_seeds();

  bool may_be_refused() const;
  void find_refused_devices();

  // ---- Running
  void serve();
  std::int32_t take_first();
  bool runs_before(std::int32_t a, std::int32_t b) const;
  void visit(std::int32_t index);
  Gradients visit_parts(Entry& entry);
  void follow_order(const Entry& entry);
  void note_order(Entry& entry);
  void gather_order();
  void free_values_since(const Moment& begin);
  void settle_unordered();
  std::optional<Gradients> call_hook(const Entry& entry, HookId hook, EventKind kind,
                                     const Gradients& values);
  void pass_on(const Entry& entry, const Edge& edge);
  void call_tensor_hooks(Entry& entry, std::size_t slot);
  void call_all_tensor_hooks(Entry& entry);
  void call_pre_hooks(Entry& entry);
  void call_multi_hook(HookId hook, const GraphNode& node, std::int32_t slot, Tensor* gradient);
  bool hooks_run_at(const GraphNode* node) const;
  bool may_follow(std::int32_t index, std::int32_t other) const;
  static bool tie(const Entry& leaf, const Entry& earlier);
  std::vector<std::int32_t> possibly_last(std::int32_t last, const std::vector<Edge>& targets) const;
  void retain(Entry& entry, std::size_t slot);
  std::vector<std::pair<std::int64_t, std::size_t>> tensors_by_first_hook(
      const GraphNode& node) const;
  void capture(Entry& entry);
  Gradients run_node(Entry& entry);
  Gradients run_itself(Entry& entry);
  bool computes_all(const GraphNode& node) const;
  bool needs_all(const GraphNode& node) const;
  void call_post_hooks(GraphNode& node, Gradients& outputs);
  void call_node_hook(HookId hook, EventKind kind, Gradients& values);
  void call_node_hooks(Registrations& list, EventKind kind, Gradients& values);
  void materialise(const GraphNode& node, Gradients& slots) const;
  void check_saved(const GraphNode& node) const;
  void accumulate(Entry& entry);
  void add_to_grad(Tensor& tensor, Tensor* gradient);
  void validate(const GraphNode& node, Gradients& outputs);
  Tensor* validated(Tensor* gradient, const Slot& slot);
  Tensor* hook_result(Tensor* given, Tensor* returned) const;
  void check_nan(const Gradients& outputs) const;
  void deliver(std::int32_t from, const Edge& edge, Tensor* gradient);
  template <typename Call>
  void for_each_registration(Registrations& list, bool takes_additions, Call call);

  // ---- Ending
  void fail(std::int32_t index, Thrown thrown);
  void check_all_served() const;
  Thrown failure_from_outside();
  Thrown unordered_failure();
  bool certain(std::int32_t index) const;
  bool leads_to(std::int32_t index, std::int32_t target) const;
  Moment now() const;
  void make_uncertain(const Moment& begin, const Moment& end);
  void make_uncertain(Entry& entry);
  void make_multi_hooks_uncertain();
  void make_all_uncertain();
  void run_callbacks();
  void run_callback(std::size_t index);
  bool callbacks_are_ordered() const;
  std::optional<Thrown> take_results();

  Interpreter& in_;
  Graph& graph_;
  Trace& trace_;
  const PassStep& step_;
  std::vector<Tensor*> requested_;
  std::vector<Tensor*> captured_;  // by request
  Gradients results_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<const GraphNode*, std::int32_t> index_;
  std::vector<std::int32_t> ready_;
  std::vector<Callback> callbacks_;
  std::vector<Failure> failures_;
  std::vector<Thrown> outside_failures_;  // of what is delivered, and of devices
  struct MultiHook {
    HookId hook = no_id;
    std::int32_t missing = 0;  // participating gradients to come
    Gradients gradients;
    Moment begun, ended;  // its call
  };
  std::vector<MultiHook> multi_hooks_;
  bool capture_first_ = false;  // HOOK-1
  bool one_queue_ = true;       // everything on the CPU
  bool leaves_its_queue_ = false;
  bool one_maker_ = true;  // all nodes made by one thread
  std::int32_t visits_ = 0;
  std::int32_t current_ = no_id;  // the entry that is visited
  bool is_certain_ = true;        // whether every engine visits it, or runs the callback
  Moment started_;
  Cursor begin_;                    // before anything of the pass
  Cursor ordinary_;                 // the last ordinary node that left events
  Cursor accumulators_;             // leaf accumulators since then
  Cursor all_;                      // what the end of the pass follows
  std::int32_t paused_at_ = no_id;  // the first event of the first visit that was paused
  bool pause_is_in_script_ =
      true;       // else that event, traced by hooks, need not be the first in time
  Cursor loose_;  // and what no node follows
};

}  // namespace gradcts::oracle
