#include "conformance/oracle/reducers.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <map>

#include "conformance/oracle/interpreter.h"

namespace gradcts::oracle {

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

std::int64_t bytes_of_element(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return 2;
    case ScalarType::float32:
      return 4;
    case ScalarType::float64:
    case ScalarType::complex64:
    case ScalarType::int64:
      return 8;
    case ScalarType::complex128:
      return 16;
    case ScalarType::boolean:
      return 1;
  }
  return 1;
}

using Kind = std::pair<ScalarType, std::string>;

Kind kind_of(const Tensor& tensor) {
  return {tensor.type, to_text(tensor.device)};
}

using Buckets = std::vector<std::vector<std::int32_t>>;

// RED-1: in order, each type and device by itself, full at the limit, the first limits first.
Buckets fill_buckets(const std::vector<Tensor*>& leaves, const std::vector<std::int64_t>& limits,
                     const std::vector<std::int32_t>& order) {
  struct Open {
    std::size_t bucket = 0;
    std::int64_t bytes = 0;
    std::size_t limit = 0;
    bool is_there = false;
  };
  Buckets buckets;
  std::map<Kind, Open> open;
  for (const std::int32_t index : order) {
    const Tensor& leaf = *leaves[at(index)];
    Open& current = open[kind_of(leaf)];
    if (!current.is_there) {
      current.is_there = true;
      current.bytes = 0;
      current.bucket = buckets.size();
      buckets.emplace_back();
    }
    buckets[current.bucket].push_back(index);
    current.bytes += count(leaf.shape) * bytes_of_element(leaf.type);
    const std::size_t last = limits.size() - 1;
    if (limits.empty() || current.bytes < limits[std::min(current.limit, last)]) continue;
    current.is_there = false;
    ++current.limit;
  }
  return buckets;
}

// RED-1: each parameter in one bucket, none empty, one type and device in each.
Buckets given_buckets(const std::vector<std::vector<std::int64_t>>& given,
                      const std::vector<Tensor*>& leaves) {
  const auto refuse = [] { throw error_of(ErrorCategory::reducer, "RED-1"); };
  std::vector<bool> seen(leaves.size(), false);
  Buckets buckets;
  for (const auto& bucket : given) {
    if (bucket.empty()) refuse();
    buckets.emplace_back();
    for (const std::int64_t index : bucket) {
      const auto place = static_cast<std::size_t>(index);
      if (place >= leaves.size() || seen[place]) refuse();
      if (kind_of(*leaves[place]) != kind_of(*leaves[static_cast<std::size_t>(bucket[0])])) {
        refuse();
      }
      seen[place] = true;
      buckets.back().push_back(static_cast<std::int32_t>(index));
    }
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) refuse();
  return buckets;
}

// No clause says whether they are averaged.
void refuse_sparse(const Tensor& leaf) {
  if (leaf.grad && leaf.grad->sparse) throw CannotTell("a sparse gradient in a bucket");
}

std::vector<std::int32_t> in_order(std::size_t size) {
  std::vector<std::int32_t> order(size);
  for (std::size_t i = 0; i < size; ++i) order[i] = static_cast<std::int32_t>(i);
  return order;
}

}  // namespace

Reducers::Reducers(const Scenario& scenario, Graph& graph) : graph_(graph) {
  for (const Reducer& reducer : scenario.reducers) {
    Group& group = groups_.emplace_back();
    group.reducer = &reducer;
    group.ranks.resize(reducer.ranks.size());
  }
}

Reducers::Rank& Reducers::rank_of(const ReducerStep& step) {
  Rank& rank = groups_[at(step.reducer)].ranks[at(step.rank)];
  if (!rank.is_made) throw CannotTell("a reducer that is used where it was not made");
  return rank;
}

void Reducers::make(const ReducerStep& step, std::vector<Tensor*> parameters) {
  const Reducer& reducer = *groups_[at(step.reducer)].reducer;
  Rank& rank = groups_[at(step.reducer)].ranks[at(step.rank)];
  if (rank.is_made) throw CannotTell("a reducer that is made twice");
  Rank made;
  if (reducer.buckets.empty()) {
    made.buckets = fill_buckets(parameters, reducer.bucket_bytes, in_order(parameters.size()));
  } else {
    made.buckets = given_buckets(reducer.buckets, parameters);
  }
  made.is_made = true;
  for (Tensor* leaf : parameters) made.parameters.emplace_back().leaf = leaf;
  rank = std::move(made);
}

// What has brought nothing yet leaves gradients as they are.
void Reducers::drop(const ReducerStep& step) {
  Rank& rank = rank_of(step);
  const bool has_begun = std::any_of(
      rank.parameters.begin(), rank.parameters.end(),
      [](const Parameter& parameter) { return parameter.is_ready || parameter.arrivals > 0; });
  if (has_begun) reset(step);
  rank.is_made = false;
}

void Reducers::reset(const ReducerStep& step) {
  Rank& rank = rank_of(step);
  if (rank.state == Rank::State::open) fail(rank);
}

// Buckets may have been reduced, and `.grad`s may be views of them.
void Reducers::fail(Rank& rank) {
  rank.state = Rank::State::failed;
  for (Parameter& parameter : rank.parameters) parameter.leaf->grad_unknown = true;
}

bool Reducers::is_complete(const Rank& rank) {
  return std::all_of(rank.parameters.begin(), rank.parameters.end(),
                     [](const Parameter& parameter) { return parameter.is_ready; });
}

// RED-6: what the last pass did not bring is told here.
void Reducers::prepare(const ReducerStep& step, StepId id, const std::vector<Tensor*>& outputs) {
  Group& group = groups_[at(step.reducer)];
  Rank& rank = rank_of(step);
  if (rank.state == Rank::State::waiting || rank.state == Rank::State::failed) {
    throw CannotTell("a rank that goes on before the others can have come");
  }
  if (rank.state == Rank::State::open) {
    fail(rank);
    throw error_of(ErrorCategory::reducer, "RED-6");
  }
  open(group, rank, outputs);
  if (is_complete(rank)) wait(group, rank, id);
}

// RED-5: what the outputs do not lead to counts as ready.
void Reducers::open(const Group& group, Rank& rank, const std::vector<Tensor*>& outputs) {
  const Reducer& reducer = *group.reducer;
  if (reducer.rebuild && rank.passes == 1) {
    std::vector<std::int32_t> order = group.order;
    for (const std::int32_t index : in_order(rank.parameters.size())) {
      if (std::find(order.begin(), order.end(), index) == order.end()) order.push_back(index);
    }
    std::vector<Tensor*> leaves;
    for (const Parameter& parameter : rank.parameters) leaves.push_back(parameter.leaf);
    rank.buckets = fill_buckets(leaves, reducer.bucket_bytes, order);
    ++rank.collectives;
  }
  absl::flat_hash_set<const GraphNode*> reached;
  std::vector<const GraphNode*> open;
  const auto visit = [&](const Edge& edge) {
    if (edge.node && reached.insert(edge.node).second) open.push_back(edge.node);
  };
  for (Tensor* output : outputs) visit(graph_.edge_of(*output));
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    for (const Edge& edge : node->edges) visit(edge);
  }
  rank.state = Rank::State::open;
  rank.is_touched = false;
  rank.launches = 0;
  rank.arrived.clear();
  for (Parameter& parameter : rank.parameters) {
    parameter.arrivals = 0;
    if (reducer.static_graph) {
      parameter.is_ready = parameter.expected == 0;
    } else {
      parameter.is_ready =
          reducer.find_unused && !reached.contains(graph_.accumulator_of(*parameter.leaf));
    }
  }
}

void Reducers::note_arrival(Tensor& leaf, bool is_defined) {
  for (Group& group : groups_) {
    for (Rank& rank : group.ranks) {
      if (!rank.is_made) continue;
      for (std::size_t i = 0; i < rank.parameters.size(); ++i) {
        if (rank.parameters[i].leaf != &leaf) continue;
        refuse_early_use(leaf);
        if (is_defined) rank.parameters[i].is_used = true;
        if (rank.state == Rank::State::open) {
          arrive(*group.reducer, rank, static_cast<std::int32_t>(i));
        }
      }
    }
  }
}

// The first pass of a static graph tells how often each parameter is used.
bool Reducers::counts(const Reducer& reducer, const Rank& rank) {
  return reducer.static_graph && rank.passes == 0;
}

void Reducers::arrive(const Reducer& reducer, Rank& rank, std::int32_t index) {
  Parameter& parameter = rank.parameters[at(index)];
  refuse_sparse(*parameter.leaf);
  rank.is_touched = true;
  ++parameter.arrivals;
  if (parameter.is_ready) throw error_of(ErrorCategory::reducer, "RED-6");
  if (parameter.arrivals == parameter.expected) {
    rank.arrived.push_back(index);
    parameter.is_ready = !counts(reducer, rank);
  }
}

void Reducers::end_pass(StepId pass, bool succeeded) {
  for (Group& group : groups_) {
    for (Rank& rank : group.ranks) {
      if (!rank.is_touched) continue;
      rank.is_touched = false;
      if (!succeeded) {
        fail(rank);
        continue;
      }
      if (counts(*group.reducer, rank)) {
        for (Parameter& parameter : rank.parameters) parameter.is_ready = true;
      }
      if (is_complete(rank)) wait(group, rank, pass);
    }
  }
}

void Reducers::wait(Group& group, Rank& rank, StepId in) {
  rank.state = Rank::State::waiting;
  rank.waits_in = in;
  if (std::all_of(group.ranks.begin(), group.ranks.end(),
                  [](const Rank& other) { return other.state == Rank::State::waiting; })) {
    average(group);
  }
}

bool Reducers::asks_for_use(const Group& group) {
  if (group.reducer->static_graph) return counts(*group.reducer, group.ranks[0]);
  return group.reducer->find_unused;
}

// RED-3
void Reducers::average(Group& group) {
  const bool asks = asks_for_use(group);
  group.order = group.ranks[0].arrived;
  for (std::size_t i = 0; i < group.ranks[0].parameters.size(); ++i) {
    average_parameter(group, i, asks);
  }
  for (Rank& rank : group.ranks) {
    rank.state = Rank::State::idle;
    ++rank.passes;
    rank.launches = rank.buckets.size();
    rank.collectives += static_cast<std::int64_t>(rank.buckets.size()) + (asks ? 1 : 0);
    if (group.reducer->static_graph) {
      for (Parameter& parameter : rank.parameters) parameter.expected = parameter.arrivals;
    }
  }
}

void Reducers::average_parameter(Group& group, std::size_t index, bool asks) {
  std::vector<Parameter*> all;
  for (Rank& rank : group.ranks) all.push_back(&rank.parameters[index]);
  const auto any = [&](auto&& holds) { return std::any_of(all.begin(), all.end(), holds); };
  const bool is_used =
      asks ? any([](const Parameter* p) { return p->is_used; }) : all[0]->is_used_anywhere;
  for (Parameter* parameter : all) {
    parameter->is_used = false;
    parameter->is_used_anywhere = is_used;
  }
  if (!is_used) return;  // RED-5
  if (any([](const Parameter* p) { return p->leaf->grad_unknown; })) {
    for (Parameter* parameter : all) parameter->leaf->grad_unknown = true;
    return;
  }
  const Tensor& first = *all[0]->leaf;
  Array mean{first.type, first.shape, Numbers(static_cast<std::size_t>(count(first.shape)))};
  for (const Parameter* parameter : all) {
    refuse_sparse(*parameter->leaf);
    if (!parameter->leaf->grad) continue;
    const Array gradient = elements_of(*parameter->leaf->grad);
    for (std::size_t i = 0; i < mean.values.size(); ++i) mean.values[i] += gradient.values[i];
  }
  for (Number& value : mean.values) {
    value = round_to(mean.type, value / static_cast<double>(all.size()));
  }
  for (const Parameter* parameter : all) {
    Tensor& leaf = *parameter->leaf;
    if (leaf.grad) {
      write_elements(*leaf.grad, mean.values);
      ++leaf.grad->version->number;
    } else {
      leaf.grad = graph_.make(mean, leaf.device);
    }
  }
}

void Reducers::refuse_early_use(const Tensor& leaf) const {
  for (const Group& group : groups_) {
    for (const Rank& rank : group.ranks) {
      if (rank.state != Rank::State::waiting) continue;
      for (const Parameter& parameter : rank.parameters) {
        if (parameter.leaf != &leaf) continue;
        throw CannotTell("a gradient is used before the other ranks can have come");
      }
    }
  }
}

std::vector<StepId> Reducers::settle() {
  std::vector<StepId> failing;
  for (Group& group : groups_) {
    const bool has_failed = std::any_of(group.ranks.begin(), group.ranks.end(), [](const Rank& r) {
      return r.state == Rank::State::waiting || r.state == Rank::State::failed;
    });
    if (!has_failed) continue;
    for (Rank& rank : group.ranks) {
      if (rank.state == Rank::State::waiting) failing.push_back(rank.waits_in);
      if (rank.state != Rank::State::open) rank.state = Rank::State::idle;
      rank.collectives_known = false;
      for (Parameter& parameter : rank.parameters) parameter.leaf->grad_unknown = true;
    }
  }
  return failing;
}

const char* Reducers::clause_of(ReducerStep::Question question) {
  switch (question) {
    case ReducerStep::Question::buckets:
      return "RED-1";
    case ReducerStep::Question::launches:
      return "RED-2";
    case ReducerStep::Question::ready:
      return "RED-10";
    case ReducerStep::Question::collectives:
      return "RED-8";
  }
  return "RED-10";
}

TensorValue Reducers::answer(const ReducerStep& step) {
  const Rank& rank = rank_of(step);
  TensorValue value;
  value.type = ScalarType::float64;
  const auto add = [&](auto number) { value.values.push_back(static_cast<double>(number)); };
  switch (step.question) {
    case ReducerStep::Question::buckets:
      value.values.resize(rank.parameters.size());
      for (std::size_t b = 0; b < rank.buckets.size(); ++b) {
        for (const std::int32_t index : rank.buckets[b]) {
          value.values[at(index)] = static_cast<double>(b);
        }
      }
      break;
    case ReducerStep::Question::launches:
      for (std::size_t b = 0; b < rank.launches; ++b) add(b);
      break;
    case ReducerStep::Question::ready:
      for (const std::int32_t index : rank.arrived) add(index);
      break;
    case ReducerStep::Question::collectives:
      if (!rank.collectives_known) throw CannotTell("how often ranks met before one failed");
      add(rank.collectives);
  }
  value.shape = {static_cast<std::int64_t>(value.values.size())};
  return value;
}

}  // namespace gradcts::oracle
