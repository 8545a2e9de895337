#include "conformance/report/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "conformance/report/index.h"
#include "conformance/report/words.h"

namespace gradcts {
namespace {

bool opens(EventKind kind) {
  return kind == EventKind::node_enter || kind == EventKind::pass_begin;
}
bool closes(EventKind kind) {
  return kind == EventKind::node_exit || kind == EventKind::pass_end;
}
EventKind opening(EventKind kind) {
  return kind == EventKind::node_exit ? EventKind::node_enter : EventKind::pass_begin;
}

// The stream that is current while each node's forward runs; no_id: the default one, or none.
class StreamsOfForwards {
 public:
  explicit StreamsOfForwards(const Scenario& scenario)
      : scenario_(scenario), streams_(scenario.nodes.size(), no_id) {
    visit(scenario.program, no_id);
    for (const Hook& hook : scenario.hooks) visit(hook.script.steps, no_id);
    for (const Callback& callback : scenario.callbacks) visit(callback.steps, no_id);
  }

  StreamId of(NodeId node) const {
    if (!is_accumulator(scenario_, node)) return streams_[index(node)];
    return scenario_.leaves[index(leaf_of(scenario_, node))].stream;
  }

 private:
  void visit(const Steps& steps, StreamId current) {
    for (const Step& step : steps) {
      if (const auto* forward = std::get_if<ForwardStep>(&step.action)) {
        for (const NodeId node : forward->nodes) streams_[index(node)] = current;
      }
      const auto* with = std::get_if<WithStep>(&step.action);
      const StreamId inside = with && with->stream != no_id ? with->stream : current;
      for_each_body(step, [&](const Steps& body) { visit(body, inside); });
    }
  }

  const Scenario& scenario_;
  std::vector<StreamId> streams_;
};

// The nodes whose backward gives gradients to each node: those that took its outputs.
std::vector<std::vector<NodeId>> givers(const Scenario& scenario) {
  std::vector<std::vector<NodeId>> result(scenario.nodes.size() + scenario.leaves.size());
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    for (const ValueId value : scenario.nodes[i].inputs) {
      const Value& v = scenario.values[index(value)];
      std::optional<NodeId> taker;
      if (v.origin == Value::Origin::leaf) taker = accumulator_of(scenario, v.producer);
      if (v.origin == Value::Origin::node_output) taker = v.producer;
      if (!taker) continue;
      auto& list = result[index(*taker)];
      if (list.empty() || list.back() != static_cast<NodeId>(i))
        list.push_back(static_cast<NodeId>(i));
    }
  }
  return result;
}

class Maker {
 public:
  Maker(const Scenario& scenario, const Outcome& outcome, std::size_t limit)
      : scenario_(scenario), outcome_(outcome), streams_(scenario) {
    timeline_.events = outcome.events.size();
    timeline_.length = std::min(limit, timeline_.events);
  }

  Timeline make() {
    add_threads();
    for (std::size_t i = 0; i < timeline_.length; ++i) add_event(i);
    for (auto& [thread, open] : open_) close_all(open);
    add_arrows();
    add_streams();
    return std::move(timeline_);
  }

 private:
  const Event& event(std::size_t i) const { return outcome_.events[i]; }

  void add_threads() {
    std::int16_t last = 0;
    for (std::size_t i = 0; i < timeline_.length; ++i) last = std::max(last, event(i).thread);
    for (std::int16_t thread = 0; thread <= last; ++thread) {
      timeline_.lanes.push_back(
          {Lane::Kind::thread, thread == 0 ? "main thread" : fmt::format("thread {}", thread)});
    }
  }

  void add_event(std::size_t i) {
    const Event& e = event(i);
    std::vector<std::size_t>& open = open_[e.thread];
    if (closes(e.kind) && close(open, e, i)) return;
    Bar bar{static_cast<std::size_t>(e.thread),
            i,
            i + 1,
            static_cast<int>(open.size()),
            e.kind,
            e.subject,
            bar_name(e),
            values_text(e),
            i,
            true};
    if (e.kind == EventKind::observe && !open.empty()) note_stream(open.back(), e);
    if (closes(e.kind)) bar.detail += " (its beginning was never reported)";
    if (opens(e.kind)) open.push_back(timeline_.bars.size());
    timeline_.bars.push_back(std::move(bar));
  }

  // Ends the innermost bar that the event belongs to; bars inside it whose end was lost end here
  // too.
  bool close(std::vector<std::size_t>& open, const Event& e, std::size_t i) {
    for (std::size_t k = open.size(); k-- > 0;) {
      Bar& bar = timeline_.bars[open[k]];
      if (bar.kind != opening(e.kind) || bar.subject != e.subject) continue;
      while (open.size() > k + 1) leave_open(open, i);
      bar.end = i + 1;
      const std::string values = values_text(e);
      if (!values.empty())
        bar.detail += fmt::format("{}gives {}", bar.detail.empty() ? "" : "; ", values);
      open.pop_back();
      return true;
    }
    return false;
  }

  void close_all(std::vector<std::size_t>& open) {
    while (!open.empty()) leave_open(open, timeline_.length);
  }

  void leave_open(std::vector<std::size_t>& open, std::size_t time) {
    Bar& bar = timeline_.bars[open.back()];
    bar.end = time;
    bar.ended = timeline_.length < timeline_.events;  // the end may be among those not shown
    if (!bar.ended) bar.detail += " (its end was never reported)";
    open.pop_back();
  }

  void note_stream(std::size_t bar, const Event& e) {
    const Step* step = find_step(scenario_, e.subject);
    const auto* observe = step ? std::get_if<ObserveStep>(&step->action) : nullptr;
    if (observe && observe->what == ObserveStep::What::stream)
      observed_[bar] = static_cast<StreamId>(e.number);
  }

  std::string bar_name(const Event& e) const {
    const std::string name = subject_in_words(scenario_, e);
    if (e.instance > 0 && (e.kind == EventKind::node_enter || e.kind == EventKind::node_exit))
      return fmt::format("{} #{}", name, e.instance + 1);
    if (e.kind == EventKind::observe) return fmt::format("{} = {}", observed_what(e), e.number);
    return name;
  }

  std::string observed_what(const Event& e) const {
    const Step* step = find_step(scenario_, e.subject);
    const auto* observe = step ? std::get_if<ObserveStep>(&step->action) : nullptr;
    return observe ? std::string(to_text(observe->what)) : step_name(scenario_, e.subject);
  }

  static std::string values_text(const Event& e) {
    std::vector<std::string> texts;
    for (const auto& value : e.values) texts.push_back(in_words(value));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  // ----------------------------------------------------------------------------------------------
  // Arrows between threads

  struct Pass {
    std::size_t bar = 0;
    std::map<std::size_t, std::size_t> last;  // of its nodes on other lanes: lane to end
  };

  // A pass hands work to another thread, gradients go from thread to thread, and the caller waits
  // for the pass. Which pass a node of another thread belongs to is only known while one pass runs.
  void add_arrows() {
    const auto giving = givers(scenario_);
    std::map<std::pair<NodeId, std::int32_t>, std::size_t> last;  // node and making to its last bar
    std::vector<Pass> passes;
    for (std::size_t i = 0; i < timeline_.bars.size(); ++i) {
      const Bar& bar = timeline_.bars[i];
      std::erase_if(passes, [&](const Pass& pass) { return end_pass(pass, bar.begin); });
      if (bar.kind == EventKind::pass_begin) passes.push_back({i, {}});
      if (bar.kind != EventKind::node_enter) continue;
      const std::int32_t making = event(bar.event).instance;
      const bool received = add_gradients(bar, giving[index(bar.subject)], making, last);
      if (passes.size() == 1) join_pass(passes.front(), bar, received);
      last[{bar.subject, making}] = i;
    }
    for (const Pass& pass : passes) end_pass(pass, static_cast<std::size_t>(-1));
  }

  bool add_gradients(const Bar& bar, const std::vector<NodeId>& from, std::int32_t making,
                     const std::map<std::pair<NodeId, std::int32_t>, std::size_t>& last) {
    bool received = false;
    for (const NodeId node : from) {
      const auto found = last.find({node, making});
      if (found == last.end()) continue;
      const Bar& giver = timeline_.bars[found->second];
      if (giver.end > bar.begin) continue;
      received = true;
      if (giver.lane == bar.lane) continue;
      timeline_.arrows.push_back({giver.lane, giver.end, bar.lane, bar.begin,
                                  fmt::format("gradient from {} to {}", giver.name, bar.name)});
    }
    return received;
  }

  void join_pass(Pass& pass, const Bar& node, bool received) {
    const Bar& begin = timeline_.bars[pass.bar];
    if (begin.lane == node.lane) return;
    if (!received) {
      timeline_.arrows.push_back({begin.lane, begin.begin + 1, node.lane, node.begin,
                                  fmt::format("{} starts {}", begin.name, node.name)});
    }
    pass.last[node.lane] = std::max(pass.last[node.lane], node.end);
  }

  // Whether the pass is over at that time; then its caller waited for what other threads did.
  bool end_pass(const Pass& pass, std::size_t time) {
    const Bar& bar = timeline_.bars[pass.bar];
    if (bar.end > time) return false;
    for (const auto& [lane, end] : pass.last) {
      if (end < bar.end)
        timeline_.arrows.push_back(
            {lane, end, bar.lane, bar.end - 1, fmt::format("{} waits", bar.name)});
    }
    return true;
  }

  // ----------------------------------------------------------------------------------------------
  // Streams; see Note [Lanes of streams]

  void add_streams() {
    if (scenario_.streams.empty()) return;
    const std::size_t first = timeline_.lanes.size();
    for (const Stream& stream : scenario_.streams) {
      timeline_.lanes.push_back(
          {Lane::Kind::stream, fmt::format("stream {} ({})", stream.name, to_text(stream.device))});
    }
    const auto giving = givers(scenario_);
    std::map<std::pair<NodeId, std::int32_t>, Bar> last;
    std::vector<Bar> work;
    for (std::size_t i = 0; i < timeline_.bars.size(); ++i) {
      const Bar& bar = timeline_.bars[i];
      if (bar.kind != EventKind::node_enter) continue;
      const auto observed = observed_.find(i);
      const StreamId stream =
          observed == observed_.end() ? streams_.of(bar.subject) : observed->second;
      if (stream < 0 || index(stream) >= scenario_.streams.size()) continue;
      Bar copy = bar;
      copy.lane = first + index(stream);
      copy.depth = free_row(copy);
      const std::int32_t making = event(bar.event).instance;
      add_stream_waits(copy, giving[index(bar.subject)], making, last);
      last.insert_or_assign({bar.subject, making}, copy);
      work.push_back(std::move(copy));
    }
    timeline_.bars.insert(timeline_.bars.end(), work.begin(), work.end());
    std::ranges::stable_sort(timeline_.bars, {}, &Bar::begin);
  }

  // Host threads may be busy with one stream at the same time: bars that overlap go to rows of
  // their own.
  int free_row(const Bar& bar) {
    std::vector<std::size_t>& ends = row_ends_[bar.lane];
    std::size_t row = 0;
    while (row < ends.size() && ends[row] > bar.begin) ++row;
    if (row == ends.size()) ends.push_back(0);
    ends[row] = bar.end;
    return static_cast<int>(row);
  }

  void add_stream_waits(const Bar& bar, const std::vector<NodeId>& from, std::int32_t making,
                        const std::map<std::pair<NodeId, std::int32_t>, Bar>& last) {
    for (const NodeId node : from) {
      const auto found = last.find({node, making});
      if (found == last.end() || found->second.lane == bar.lane) continue;
      const Bar& giver = found->second;
      timeline_.arrows.push_back(
          {giver.lane, giver.end, bar.lane, bar.begin,
           fmt::format("{} waits for {}: gradient from {} to {}", timeline_.lanes[bar.lane].name,
                       timeline_.lanes[giver.lane].name, giver.name, bar.name)});
    }
  }

  const Scenario& scenario_;
  const Outcome& outcome_;
  StreamsOfForwards streams_;
  Timeline timeline_;
  std::map<std::int16_t, std::vector<std::size_t>> open_;  // thread to the bars that it is inside
  std::map<std::size_t, StreamId> observed_;               // bar to the stream seen inside
  std::map<std::size_t, std::vector<std::size_t>> row_ends_;  // of each stream's lane
};

}  // namespace

Timeline make_timeline(const Scenario& scenario, const Outcome& outcome, std::size_t limit) {
  return Maker(scenario, outcome, limit).make();
}

}  // namespace gradcts
