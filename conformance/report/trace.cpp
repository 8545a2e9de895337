#include "conformance/report/trace.h"

#include <fmt/format.h>

#include <string>

namespace gradcts {
namespace {

constexpr int engine_process = 1, stream_process = 2;

struct Place {
  int process;
  std::size_t thread;
};

class Writer {
 public:
  Writer(const Scenario& scenario, const Timeline& timeline)
      : scenario_(scenario), timeline_(timeline) {}

  Json write() {
    name_lanes();
    for (const Bar& bar : timeline_.bars) add_bar(bar);
    for (const Arrow& arrow : timeline_.arrows) add_arrow(arrow);
    return {{"traceEvents", std::move(events_)},
            {"displayTimeUnit", "ns"},
            {"otherData",
             {{"scenario", scenario_.id},
              {"title", scenario_.title},
              {"time", "1 us is one step of the logical clock, and says nothing of speed"}}}};
  }

 private:
  Place place(std::size_t lane) const {
    const bool stream = timeline_.lanes[lane].kind == Lane::Kind::stream;
    return {stream ? stream_process : engine_process, lane + 1};
  }

  Json entry(const char* phase, const std::string& name, std::size_t lane, std::size_t time) const {
    const Place where = place(lane);
    return {
        {"ph", phase}, {"name", name}, {"pid", where.process}, {"tid", where.thread}, {"ts", time}};
  }

  void name_lanes() {
    name_process(engine_process, "engine");
    if (!scenario_.streams.empty()) name_process(stream_process, "streams");
    for (std::size_t i = 0; i < timeline_.lanes.size(); ++i) {
      Json name = entry("M", "thread_name", i, 0);
      name["args"] = {{"name", timeline_.lanes[i].name}};
      events_.push_back(std::move(name));
      Json order = entry("M", "thread_sort_index", i, 0);
      order["args"] = {{"sort_index", i}};
      events_.push_back(std::move(order));
    }
  }

  void name_process(int process, const char* name) {
    events_.push_back({{"ph", "M"},
                       {"name", "process_name"},
                       {"pid", process},
                       {"tid", 0},
                       {"ts", 0},
                       {"args", {{"name", name}}}});
  }

  void add_bar(const Bar& bar) {
    Json event = entry("X", bar.name, bar.lane, bar.begin);
    event["dur"] = bar.end - bar.begin;
    event["cat"] = to_text(bar.kind);
    event["args"] = {{"event", bar.event}};
    if (!bar.detail.empty()) event["args"]["values"] = bar.detail;
    events_.push_back(std::move(event));
  }

  // A flow begins and ends inside a bar, so half a step before the end of the one that it comes
  // from.
  void add_arrow(const Arrow& arrow) {
    ++flow_;
    Json from = entry("s", arrow.reason, arrow.from_lane, 0);
    from["ts"] = static_cast<double>(arrow.from_time) - 0.5;
    Json to = entry("f", arrow.reason, arrow.to_lane, 0);
    to["ts"] = static_cast<double>(arrow.to_time) + 0.5;
    to["bp"] = "e";
    for (Json* end : {&from, &to}) {
      (*end)["cat"] = "wait";
      (*end)["id"] = flow_;
      events_.push_back(std::move(*end));
    }
  }

  const Scenario& scenario_;
  const Timeline& timeline_;
  Json events_ = Json::array();
  int flow_ = 0;
};

}  // namespace

Json trace_json(const Scenario& scenario, const Timeline& timeline) {
  return Writer(scenario, timeline).write();
}

}  // namespace gradcts
