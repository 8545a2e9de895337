#include "reference_engine/distributed/reducer.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "reference_engine/distributed/unreached.h"
#include "reference_engine/engine/pass_end.h"
#include "reference_engine/error.h"
#include "reference_engine/graph/autograd.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/sync/mutex.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCategory::reducer, message);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::int64_t size_of(const std::vector<double>& numbers) {
  return static_cast<std::int64_t>(numbers.size());
}

bool looks_at_the_same(const Tensor& a, const Tensor& b) {
  return &a.storage() == &b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

}  // namespace

// Note [Who touches a pass's state]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// Hooks run on several threads, so all that they touch is under the lock. No lock is held while the
// group or a communication hook is called: one thread at a time is the launcher, and others that
// find a bucket full leave it to that one, which looks again. What is replaced in a `.grad` may own
// a graph, and is let go after the lock.
//
// Note [Several callers]
// ~~~~~~~~~~~~~~~~~~~~~~
// Several backward passes may bring the gradients of one synchronised pass, also side by side. The
// ones under way are counted, from their first gradient to their end. In one piece with the count
// it is decided whether the one that ends leaves nothing to come: so one of them finishes, and
// once. What comes from a pass that began before the synchronised pass was given up is told by the
// number `pass_`.
class Reducer::State : public std::enable_shared_from_this<State> {
 public:
  State(std::vector<Parameter> parameters, ProcessGroupPointer group, ReducerOptions options);
  ~State();

  void add_hooks();
  void remove_hooks();

  void prepare(absl::Span<const Tensor> outputs);
  std::vector<std::string> missing() const;
  void abandon(const std::string& reason);
  void set_group(ProcessGroupPointer group);
  const BucketAssignment& buckets() const { return assignment_; }
  ReducerStatistics statistics() const;

 private:
  struct ParameterState {
    std::size_t bucket = 0;
    Tensor view;  // its place in the bucket
    // ---- Of the synchronised pass
    bool is_ready = false;
    bool is_unreached = false;  // ready because the outputs do not lead to it
    int arrivals = 0;
    Tensor before;  // what `.grad` was, where it may have to be put back
    // ---- Over passes
    bool is_used = false;          // since the last synchronisation
    bool is_used_anywhere = true;  // on some rank, in the first pass of a static graph
    int expected_arrivals = 1;     // in a static graph
  };
  struct Bucket {
    Tensor contents;
    std::size_t missing = 0;
    std::vector<Event> written;
    CollectiveWorkPointer work;
  };

  void check_parameters() const;
  void lay_out() GRADCTS_REQUIRES(mutex_);
  Tensor view_for(const Tensor& leaf, const Tensor& contents, std::int64_t offset) const;
  std::string what_is_missing() const;

  void rebuild();
  void begin(const std::vector<bool>& unreached);
  bool is_counting() const GRADCTS_REQUIRES(mutex_) {
    return options_.static_graph && !has_counted_;
  }

  void on_gradient(std::size_t index, bool is_defined);
  void count_arrival(std::size_t index, std::vector<Tensor>& old) GRADCTS_REQUIRES(mutex_);
  [[noreturn]] void refuse_second_arrival(std::size_t index) const GRADCTS_REQUIRES(mutex_);
  void make_ready(std::size_t index, std::vector<Tensor>& old) GRADCTS_REQUIRES(mutex_);
  void bring(std::size_t index, std::vector<Tensor>& old) GRADCTS_REQUIRES(mutex_);
  void launch_full_buckets();

  void end_pass(std::uint64_t pass, bool completed);
  void finish(std::uint64_t pass);
  bool is_complete_without(std::uint64_t pass);
  void reduce_and_write(std::uint64_t pass);
  void check_is_current(std::uint64_t pass) const GRADCTS_REQUIRES(mutex_);
  std::vector<bool> used_anywhere();
  void write_gradients(const std::vector<bool>& used, std::vector<Tensor>& old)
      GRADCTS_REQUIRES(mutex_);
  void write_gradient(std::size_t index, bool is_used, std::vector<Tensor>& old)
      GRADCTS_REQUIRES(mutex_);
  void forget_pass() GRADCTS_REQUIRES(mutex_);

  std::string bucket_name(std::size_t index) const {
    return "bucket " + std::to_string(index) + " of " + std::to_string(assignment_.size());
  }

  const std::vector<Parameter> parameters_;
  std::vector<Tensor> leaves_;
  ProcessGroupPointer group_;
  const ReducerOptions options_;
  BucketAssignment assignment_;
  std::vector<HookHandle> hooks_;

  mutable Mutex mutex_;
  std::vector<ParameterState> states_ GRADCTS_GUARDED_BY(mutex_);
  std::vector<Bucket> buckets_ GRADCTS_GUARDED_BY(mutex_);
  bool is_synchronising_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::uint64_t pass_ GRADCTS_GUARDED_BY(mutex_) = 0;  // grows with each pass that ends
  int under_way_ GRADCTS_GUARDED_BY(mutex_) = 0;  // backward passes that have brought gradients
  bool is_launching_ GRADCTS_GUARDED_BY(mutex_) = false;
  bool has_counted_ GRADCTS_GUARDED_BY(mutex_) = false;
  bool has_rebuilt_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::size_t next_bucket_ GRADCTS_GUARDED_BY(mutex_) = 0;  // whose turn it is
  std::size_t next_place_ GRADCTS_GUARDED_BY(mutex_) = 0;
  Clock::time_point begin_ GRADCTS_GUARDED_BY(mutex_);
  ReducerStatistics statistics_ GRADCTS_GUARDED_BY(mutex_);
};

// ---- Making and removing -----------------------------------------------------------------------

namespace {

std::vector<Parameter> with_names(std::vector<Parameter> parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::string& name = parameters[i].name;
    name = name.empty() ? "parameter " + std::to_string(i) : "'" + name + "'";
  }
  return parameters;
}

}  // namespace

Reducer::State::State(std::vector<Parameter> parameters, ProcessGroupPointer group,
                      ReducerOptions options)
    : parameters_(with_names(std::move(parameters))),
      group_(std::move(group)),
      options_(std::move(options)) {
  check_parameters();
  for (const Parameter& parameter : parameters_) leaves_.push_back(parameter.leaf);
  if (options_.buckets) {
    if (options_.rebuild_buckets) {
      refuse("buckets that were given cannot be rebuilt; leave out one of the two options");
    }
    check_buckets(*options_.buckets, leaves_);
    assignment_ = *options_.buckets;
  } else {
    assignment_ = assign_buckets(leaves_, options_.bucket_bytes);
  }
  LockGuard lock(mutex_);
  states_.resize(parameters_.size());
  lay_out();
}

Reducer::State::~State() {
  remove_hooks();
}

void Reducer::State::check_parameters() const {
  if (!group_) refuse("a reducer needs a group");
  if (parameters_.empty()) refuse("a reducer needs at least one parameter");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [leaf, name] = parameters_[i];
    if (!leaf.defined() || !is_leaf(leaf) || !requires_grad(leaf)) {
      refuse(name + " is no leaf that requires grad: only such have a gradient to reduce");
    }
    if (leaf.is_sparse()) refuse(name + " is sparse; a reducer takes strided parameters");
    for (std::size_t j = 0; j < i; ++j) {
      if (!parameters_[j].leaf.is_same(leaf)) continue;
      refuse(name + " is the same tensor as " + parameters_[j].name + "; list it once");
    }
  }
}

void Reducer::State::lay_out() {
  buckets_.clear();
  for (std::size_t b = 0; b < assignment_.size(); ++b) {
    const Tensor& first = leaves_[assignment_[b].front()];
    std::int64_t size = 0;
    for (const std::size_t index : assignment_[b]) size += leaves_[index].element_count();
    Bucket& bucket = buckets_.emplace_back();
    bucket.contents = zeros({size}, first.type(), first.device());
    std::int64_t offset = 0;
    for (const std::size_t index : assignment_[b]) {
      states_[index].bucket = b;
      states_[index].view = view_for(leaves_[index], bucket.contents, offset);
      offset += leaves_[index].element_count();
    }
  }
}

// In the parameter's own layout, so that it can be its `.grad` (LEAF-4).
Tensor Reducer::State::view_for(const Tensor& leaf, const Tensor& contents,
                                std::int64_t offset) const {
  const bool is_dense = is_dense_and_non_overlapping(leaf.shape(), leaf.strides());
  return as_strided(contents, leaf.shape(),
                    is_dense ? leaf.strides() : contiguous_strides(leaf.shape()), offset);
}

// A hook after a node would have the engine keep the gradient for it, and so make the leaf copy it
// instead of taking it over. These two do not. The first sees gradients that are "none", after
// which nothing is accumulated.
void Reducer::State::add_hooks() {
  for (std::size_t index = 0; index < leaves_.size(); ++index) {
    const auto arrived = [index, weak = weak_from_this()](bool is_defined) {
      if (const auto state = weak.lock()) state->on_gradient(index, is_defined);
    };
    hooks_.push_back(accumulator(leaves_[index])->add_pre_hook([arrived](const Gradients& inputs) {
      if (!inputs[0].defined()) arrived(false);
      return std::optional<Gradients>();
    }));
    hooks_.push_back(
        add_post_accumulate_hook(leaves_[index], [arrived](const Tensor&) { arrived(true); }));
  }
}

void Reducer::State::remove_hooks() {
  for (const HookHandle& hook : hooks_) hook.remove();
  hooks_.clear();
}

// ---- Beginning a synchronised pass -------------------------------------------------------------

void Reducer::State::prepare(absl::Span<const Tensor> outputs) {
  const std::string unfinished = what_is_missing();
  if (!unfinished.empty()) {
    abandon("its last pass was not complete");
    refuse("the last synchronised pass was not complete: no gradient came for " + unfinished +
           ". If the outputs do not depend on it, make the reducer with find_unused and give "
           "prepare() all outputs; else run backward() for all of them before the next prepare()");
  }
  std::uint64_t pass = 0;
  try {
    rebuild();
    std::vector<bool> unreached(leaves_.size(), false);
    if (options_.find_unused && !options_.static_graph) {
      unreached = unreached_leaves(outputs, leaves_);
    }
    begin(unreached);
    launch_full_buckets();
    LockGuard lock(mutex_);
    if (is_counting() || next_bucket_ < buckets_.size()) return;
    pass = pass_;  // nothing is used here: no backward pass will come to this one
    ++under_way_;
  } catch (const std::exception& error) {
    abandon(error.what());
    throw;
  } catch (...) {
    abandon("its communication hook failed");
    throw;
  }
  finish(pass);
}

std::vector<std::string> Reducer::State::missing() const {
  LockGuard lock(mutex_);
  std::vector<std::string> names;
  if (!is_synchronising_) return names;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool has_come = is_counting() ? states_[i].arrivals > 0 : states_[i].is_ready;
    if (!has_come) names.push_back(parameters_[i].name);
  }
  return names;
}

// Also where all gradients came, but no final callback.
std::string Reducer::State::what_is_missing() const {
  const std::string names = join(missing());
  if (!names.empty()) return names;
  LockGuard lock(mutex_);
  return is_synchronising_ ? "the end of the pass" : "";
}

void Reducer::State::begin(const std::vector<bool>& unreached) {
  std::vector<Tensor> old;
  LockGuard lock(mutex_);
  forget_pass();
  is_synchronising_ = true;
  begin_ = Clock::now();
  statistics_.parameters.assign(states_.size(), {});
  statistics_.launches.clear();
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b].missing = assignment_[b].size();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool never_comes = has_counted_ && states_[i].expected_arrivals == 0;
    states_[i].is_unreached = unreached[i] || never_comes;
    if (states_[i].is_unreached) make_ready(i, old);
  }
}

// The order is that of rank 0's last synchronised pass, so that all ranks have the same buckets.
void Reducer::State::rebuild() {
  std::vector<double> order(leaves_.size(), 0);
  {
    LockGuard lock(mutex_);
    if (!options_.rebuild_buckets || has_rebuilt_ || statistics_.passes == 0) return;
    if (group_->rank() == 0) {
      std::vector<std::pair<std::size_t, std::size_t>> arrivals;
      for (std::size_t i = 0; i < leaves_.size(); ++i) {
        arrivals.emplace_back(statistics_.parameters[i].place.value_or(leaves_.size()), i);
      }
      std::sort(arrivals.begin(), arrivals.end());
      for (std::size_t i = 0; i < arrivals.size(); ++i) {
        order[i] = static_cast<double>(arrivals[i].second);
      }
    }
    ++statistics_.collectives;
  }
  const Tensor shared = from_values(order, {size_of(order)}, ScalarType::float64);
  group_->all_reduce(shared, "the order of arrival")->wait();
  std::vector<std::size_t> indices;
  for (const double index : to_values(shared)) indices.push_back(static_cast<std::size_t>(index));
  assignment_ = assign_buckets(leaves_, options_.bucket_bytes, indices);
  LockGuard lock(mutex_);
  lay_out();
  has_rebuilt_ = true;
}

// ---- Gradients arrive --------------------------------------------------------------------------

void Reducer::State::on_gradient(std::size_t index, bool is_defined) {
  std::uint64_t pass = 0;
  {
    LockGuard lock(mutex_);
    if (is_defined) states_[index].is_used = true;
    if (!is_synchronising_) return;
    pass = pass_;
  }
  const bool is_first =
      at_end_of_outermost_pass(this, [weak = weak_from_this(), pass](bool completed) {
        if (const auto state = weak.lock()) state->end_pass(pass, completed);
      });
  {
    std::vector<Tensor> old;
    LockGuard lock(mutex_);
    if (pass != pass_) return;  // given up meanwhile, by another caller's pass
    if (is_first) ++under_way_;
    count_arrival(index, old);
  }
  launch_full_buckets();
}

void Reducer::State::count_arrival(std::size_t index, std::vector<Tensor>& old) {
  ParameterState& state = states_[index];
  auto& seen = statistics_.parameters[index];
  ++state.arrivals;
  if (state.is_ready) refuse_second_arrival(index);
  if (is_counting()) {
    if (!seen.place) seen.place = next_place_++;
    seen.ready_after = Clock::now() - begin_;
  } else if (state.arrivals >= state.expected_arrivals) {
    make_ready(index, old);
  }
}

void Reducer::State::refuse_second_arrival(std::size_t index) const {
  const std::string& name = parameters_[index].name;
  if (states_[index].is_unreached && !options_.static_graph) {
    refuse("a gradient came for " + name +
           ", which the outputs given to prepare() do not lead to: it is used outside of them. "
           "Give prepare() all outputs that backward() starts from, or make the reducer without "
           "find_unused");
  }
  if (options_.static_graph) {
    refuse("a gradient came for " + name + " for the " + std::to_string(states_[index].arrivals) +
           ". time, but in the first pass of this static "
           "graph it came " +
           std::to_string(states_[index].expected_arrivals) +
           " times. If the graph changes, make the reducer without static_graph");
  }
  refuse("a second gradient came for " + name +
         " in one synchronised pass, when it may have been reduced already. It is used in two "
         "nested passes (checkpoints), or backward() was called twice. If every step does so in "
         "the same way, make the reducer with static_graph; to add up several calls of "
         "backward(), call prepare() only before the last one");
}

void Reducer::State::make_ready(std::size_t index, std::vector<Tensor>& old) {
  ParameterState& state = states_[index];
  bring(index, old);
  state.is_ready = true;
  --buckets_[state.bucket].missing;
  auto& seen = statistics_.parameters[index];
  if (state.is_unreached) return;
  if (!seen.place) seen.place = next_place_++;
  if (!seen.ready_after) seen.ready_after = Clock::now() - begin_;
}

// Puts the parameter's `.grad` into its place in the bucket.
void Reducer::State::bring(std::size_t index, std::vector<Tensor>& old) {
  ParameterState& state = states_[index];
  Bucket& bucket = buckets_[state.bucket];
  Tensor gradient = reference::gradient(leaves_[index]);
  if (!gradient.defined()) {
    kernels::fill_(state.view, 0);
  } else if (gradient.is_sparse()) {
    refuse(parameters_[index].name +
           " has a sparse gradient, which has no place in a bucket; "
           "leave it out of the reducer, or give it dense gradients");
  } else {
    // Reduced in place, it would be lost where no rank used the parameter.
    if (options_.gradients_as_views && !state.is_used) state.before = kernels::clone(gradient);
    if (!looks_at_the_same(gradient, state.view)) {
      kernels::copy_(state.view, gradient);
      statistics_.bytes_copied +=
          gradient.element_count() * static_cast<std::int64_t>(element_size(gradient.type()));
      if (options_.gradients_as_views) {
        set_gradient(leaves_[index], state.view);
        old.push_back(std::move(gradient));
      }
    }
  }
  if (const Event written = record_event(current_stream(bucket.contents.device()))) {
    bucket.written.push_back(written);
  }
}

// In index order (RED-2).
void Reducer::State::launch_full_buckets() {
  while (true) {
    FullBucket full;
    std::vector<Event> written;
    std::uint64_t pass = 0;
    {
      LockGuard lock(mutex_);
      pass = pass_;
      if (is_launching_ || !is_synchronising_ || next_bucket_ == buckets_.size()) return;
      Bucket& bucket = buckets_[next_bucket_];
      if (bucket.missing > 0) return;
      is_launching_ = true;
      full = {next_bucket_, bucket.contents, bucket_name(next_bucket_)};
      written = bucket.written;
      statistics_.launches.push_back(next_bucket_);
      ++statistics_.collectives;
    }
    const Stream stream = current_stream(full.contents.device());
    for (const Event& event : written) wait_event(stream, event);
    CollectiveWorkPointer work = options_.communication_hook
                                     ? options_.communication_hook(*group_, full)
                                     : group_->all_reduce(full.contents, full.what);
    LockGuard lock(mutex_);
    if (pass != pass_) return;  // it was abandoned meanwhile
    buckets_[full.index].work = std::move(work);
    is_launching_ = false;
    ++next_bucket_;
  }
}

// ---- The end of the pass -----------------------------------------------------------------------

void Reducer::State::end_pass(std::uint64_t pass, bool completed) {
  if (completed) return finish(pass);
  {
    LockGuard lock(mutex_);
    if (pass != pass_) return;
  }
  abandon("its backward pass failed");
}

void Reducer::State::finish(std::uint64_t pass) {
  try {
    if (is_complete_without(pass)) reduce_and_write(pass);
  } catch (const std::exception& error) {
    abandon(error.what());
    throw;
  } catch (...) {
    abandon("its communication hook failed");
    throw;
  }
}

// Whether nothing is left to come now that one of the backward passes ends: true for one of them at
// most. See Note [Several callers].
bool Reducer::State::is_complete_without(std::uint64_t pass) {
  std::vector<Tensor> old;
  LockGuard lock(mutex_);
  if (pass != pass_ || --under_way_ > 0) return false;
  if (!is_counting()) return next_bucket_ == buckets_.size();
  // The first pass of a static graph is over when it ends: what has not come is not used.
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].is_unreached = states_[i].arrivals == 0;
    make_ready(i, old);
  }
  return true;
}

void Reducer::State::reduce_and_write(std::uint64_t pass) {
  launch_full_buckets();
  std::vector<std::pair<CollectiveWorkPointer, Tensor>> sums;
  {
    LockGuard lock(mutex_);
    check_is_current(pass);
    for (const Bucket& bucket : buckets_) sums.emplace_back(bucket.work, bucket.contents);
  }
  const std::vector<bool> used = used_anywhere();
  for (const auto& [work, contents] : sums) {
    work->wait();
    if (!options_.communication_hook) kernels::divide_(contents, group_->size());
  }
  std::vector<Tensor> old;
  LockGuard lock(mutex_);
  check_is_current(pass);
  write_gradients(used, old);
}

void Reducer::State::check_is_current(std::uint64_t pass) const {
  if (pass == pass_) return;
  refuse(
      "the synchronised pass was given up while it was reduced, since another pass that brought "
      "gradients failed");
}

std::vector<bool> Reducer::State::used_anywhere() {
  std::vector<double> counts;
  {
    LockGuard lock(mutex_);
    std::vector<bool> used;
    for (const ParameterState& state : states_) used.push_back(state.is_used_anywhere);
    const bool is_asked = options_.static_graph ? !has_counted_ : options_.find_unused;
    if (!is_asked) return used;
    for (const ParameterState& state : states_) counts.push_back(state.is_used ? 1 : 0);
    ++statistics_.collectives;
  }
  const Tensor shared = from_values(counts, {size_of(counts)}, ScalarType::float64);
  group_->all_reduce(shared, "the map of used parameters")->wait();
  std::vector<bool> used;
  for (const double count : to_values(shared)) used.push_back(count > 0);
  return used;
}

void Reducer::State::write_gradients(const std::vector<bool>& used, std::vector<Tensor>& old) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    ParameterState& state = states_[i];
    write_gradient(i, used[i], old);
    statistics_.parameters[i].used = state.is_used;
    state.is_used = false;
    if (is_counting()) {
      state.expected_arrivals = state.arrivals;
      state.is_used_anywhere = used[i];
    }
  }
  has_counted_ = options_.static_graph;
  ++statistics_.passes;
  forget_pass();
}

// In place where that is possible, so that whoever holds the `.grad` sees the average.
void Reducer::State::write_gradient(std::size_t index, bool is_used, std::vector<Tensor>& old) {
  ParameterState& state = states_[index];
  const Tensor& leaf = leaves_[index];
  Tensor gradient = reference::gradient(leaf);
  if (!is_used) {  // RED-5
    if (state.before.defined()) kernels::copy_(state.view, state.before);
    return;
  }
  if (options_.gradients_as_views) {
    if (gradient.defined() && looks_at_the_same(gradient, state.view)) return;
    set_gradient(leaf, state.view);
    old.push_back(std::move(gradient));
    return;
  }
  statistics_.bytes_copied +=
      state.view.element_count() * static_cast<std::int64_t>(element_size(state.view.type()));
  if (gradient.defined() && !requires_grad(gradient)) return kernels::copy_(gradient, state.view);
  set_gradient(leaf, kernels::clone_strided(state.view, state.view.strides()));
  old.push_back(std::move(gradient));
}

void Reducer::State::forget_pass() {
  is_synchronising_ = false;
  is_launching_ = false;
  ++pass_;
  under_way_ = 0;
  next_bucket_ = 0;
  next_place_ = 0;
  for (ParameterState& state : states_) {
    state.is_ready = false;
    state.is_unreached = false;
    state.arrivals = 0;
    state.before.reset();
  }
  for (Bucket& bucket : buckets_) {
    bucket.written.clear();
    bucket.work.reset();
  }
}

// Sums that were started may still be written: the next pass gets other memory (RED-9).
void Reducer::State::abandon(const std::string& reason) {
  {
    LockGuard lock(mutex_);
    if (!is_synchronising_) return;
    forget_pass();
    lay_out();
  }
  group_->give_up(reason);
}

void Reducer::State::set_group(ProcessGroupPointer group) {
  if (!group) refuse("a reducer needs a group");
  abandon("it was given another group");
  group_ = std::move(group);
}

ReducerStatistics Reducer::State::statistics() const {
  LockGuard lock(mutex_);
  return statistics_;
}

// ---- Reducer -----------------------------------------------------------------------------------

Reducer::Reducer(std::vector<Parameter> parameters, ProcessGroupPointer group,
                 ReducerOptions options)
    : state_(std::make_shared<State>(std::move(parameters), std::move(group), std::move(options))) {
  state_->add_hooks();
}

Reducer::~Reducer() {
  state_->remove_hooks();
  const std::string names = join(state_->missing());
  if (!names.empty()) {
    std::fprintf(stderr, "a reducer ends before its pass: no gradient came for %s\n",
                 names.c_str());
  }
  state_->abandon("its reducer was destroyed");
}

void Reducer::prepare(absl::Span<const Tensor> outputs) {
  state_->prepare(outputs);
}

std::vector<std::string> Reducer::missing() const {
  return state_->missing();
}

void Reducer::reset() {
  state_->abandon("its reducer was reset");
}

void Reducer::set_group(ProcessGroupPointer group) {
  state_->set_group(std::move(group));
}

const BucketAssignment& Reducer::buckets() const {
  return state_->buckets();
}

ReducerStatistics Reducer::statistics() const {
  return state_->statistics();
}

}  // namespace gradcts::reference
