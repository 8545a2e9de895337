#include "fuzz/stream_order.h"

#include <algorithm>

#include "fuzz/index.h"

namespace gradcts::fuzz {

namespace {

// How much of the work of each stream has been waited for, by stream; the last one is the default
// stream.
using Clock = std::vector<std::int32_t>;

void join(Clock& into, const Clock& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

class StreamOrder {
 public:
  explicit StreamOrder(const Scenario& scenario)
      : s_(scenario),
        done_(scenario.streams.size() + 1, 0),
        clocks_(done_.size(), done_),
        read_(done_) {}

  bool check() {
    for (const Leaf& leaf : s_.leaves) {
      if (leaf.initial.device.type != DeviceType::cpu) put_on(leaf.stream);
    }
    walk(s_.program, no_id);
    return ordered_ && read_ == done_ && scripts_wait();
  }

 private:
  std::size_t index(StreamId stream) const {
    return stream == no_id ? s_.streams.size() : at(stream);
  }

  void put_on(StreamId stream) { clocks_[index(stream)][index(stream)] = ++done_[index(stream)]; }

  // Work of the program.
  void work(StreamId stream) {
    ordered_ = ordered_ && clocks_[index(stream)] == done_;
    put_on(stream);
  }

  void walk(const Steps& steps, StreamId current) {
    for (const Step& step : steps) {
      const Action& action = step.action;
      const bool works =
          std::holds_alternative<ForwardStep>(action) || std::holds_alternative<PassStep>(action) ||
          std::holds_alternative<ReadStep>(action) || std::holds_alternative<ChangeStep>(action);
      if (works) work(current);
      if (std::holds_alternative<ReadStep>(action)) read_ = clocks_[index(current)];
      if (const auto* stream = std::get_if<StreamStep>(&action)) {
        Clock& waiting = clocks_[index(stream->stream)];
        if (stream->what == StreamStep::What::wait)
          join(waiting, clocks_[index(stream->waits_for)]);
        if (stream->what == StreamStep::What::synchronise) {
          for (Clock& clock : clocks_) join(clock, waiting);
        }
      }
      const auto* with = std::get_if<WithStep>(&action);
      const bool moves = with != nullptr && with->stream != no_id;
      for_each_body(step, [&](const Steps& body) { walk(body, moves ? with->stream : current); });
    }
  }

  // Whether these steps read nothing, and the first stream waits for all others after each pass
  // that does not stand on the first stream. With `all_on_first` each pass must stand on it.
  bool waits_after_passes(const Steps& steps, bool all_on_first, bool on_first = false) const {
    std::vector<bool> waited(s_.streams.size(), true);
    for (const Step& step : steps) {
      if (std::holds_alternative<ReadStep>(step.action)) return false;
      if (std::holds_alternative<PassStep>(step.action) && !on_first) {
        if (all_on_first) return false;
        waited.assign(waited.size(), false);
      }
      const auto* stream = std::get_if<StreamStep>(&step.action);
      if (stream != nullptr && stream->what == StreamStep::What::wait && stream->stream == 0) {
        waited[at(stream->waits_for)] = true;
      }
      const auto* with = std::get_if<WithStep>(&step.action);
      const bool moves = with != nullptr && with->stream != no_id;
      bool inside = true;
      for_each_body(step, [&](const Steps& body) {
        inside =
            inside && waits_after_passes(body, all_on_first, moves ? with->stream == 0 : on_first);
      });
      if (!inside) return false;
    }
    return std::find(waited.begin() + 1, waited.end(), false) == waited.end();
  }

  bool is_ordered(const Script& script, bool all_on_first) const {
    const bool pools = script.returns && std::any_of(script.returns->begin(), script.returns->end(),
                                                     [](const Expression& result) {
                                                       return result.kind == Expression::Kind::pool;
                                                     });
    return !pools && waits_after_passes(script.steps, all_on_first);
  }

  bool scripts_wait() const {
    const auto node_waits = [&](const Node& node) {
      return !node.custom || is_ordered(node.custom->backward, false);
    };
    const auto hook_waits = [&](const Hook& hook) {
      return is_ordered(hook.script, true) && is_ordered(hook.unpack_script, true);
    };
    const auto callback_waits = [&](const Callback& callback) {
      return waits_after_passes(callback.steps, false);
    };
    return std::all_of(s_.nodes.begin(), s_.nodes.end(), node_waits) &&
           std::all_of(s_.hooks.begin(), s_.hooks.end(), hook_waits) &&
           std::all_of(s_.callbacks.begin(), s_.callbacks.end(), callback_waits);
  }

  const Scenario& s_;
  Clock done_;                 // all work so far
  std::vector<Clock> clocks_;  // by stream: what it has waited for
  Clock read_;                 // what the last read waited for
  bool ordered_ = true;
};

}  // namespace

bool orders_its_streams(const Scenario& scenario) {
  return scenario.streams.empty() || StreamOrder(scenario).check();
}

}  // namespace gradcts::fuzz
