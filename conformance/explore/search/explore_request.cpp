#include "conformance/explore/search/explore_request.h"

namespace gradcts {
namespace {

constexpr const char* kinds[] = {"progress", "ended", "failed", "unusable"};

// Both directions in one list, so that no field is forgotten.
template <typename Visit>
void for_each_field(ExploreRequest& r, Visit visit) {
  visit("engine", r.engine);
  visit("scenario", r.scenario);
  visit("strategy", r.strategy);
  visit("schedule", r.schedule);
  visit("bound", r.bound);
  visit("schedules", r.schedules);
  visit("seconds", r.seconds);
  visit("seed", r.seed);
  visit("spurious", r.spurious);
  visit("step_bound", r.step_bound);
  visit("keeps_frontier", r.keeps_frontier);
  visit("frontier", r.frontier);
}

template <typename Visit>
void for_each_field(ExploreCounts& c, Visit visit) {
  visit("schedules", c.schedules);
  visit("meanings", c.meanings);
  visit("seen_once", c.seen_once);
  visit("steps", c.steps);
  visit("most_steps", c.most_steps);
  visit("most_threads", c.most_threads);
  visit("outside", c.outside);
  visit("seconds", c.seconds);
  visit("states", c.states);
  visit("seen_before", c.seen_before);
  visit("beginnings", c.beginnings);
  visit("open", c.open);
  visit("complete_to", c.complete_to);
}

template <typename Visit>
void for_each_field(ExploreAnswer& a, Visit visit) {
  visit("how", a.how);
  visit("schedule", a.schedule);
  visit("steps_taken", a.steps);
  visit("outcome", a.outcome);
  visit("text", a.text);
  visit("frontier", a.frontier);
  for_each_field(a.counts, visit);
}

template <typename Message>
Json write(Message message) {
  Json json = Json::object();
  for_each_field(message, [&](const char* name, const auto& field) { json[name] = field; });
  return json;
}

template <typename Message>
Message read(const Json& json) {
  Message message;
  for_each_field(message, [&](const char* name, auto& field) { json.at(name).get_to(field); });
  return message;
}

}  // namespace

Json write_request(const ExploreRequest& request) {
  return write(request);
}

ExploreRequest read_request(const Json& json) {
  return read<ExploreRequest>(json);
}

Json write_answer(const ExploreAnswer& answer) {
  Json json = write(answer);
  json["kind"] = kinds[static_cast<int>(answer.kind)];
  return json;
}

ExploreAnswer read_answer(const Json& json) {
  auto answer = read<ExploreAnswer>(json);
  for (int i = 0; i < 4; ++i) {
    if (json.at("kind") == kinds[i]) answer.kind = static_cast<ExploreAnswer::Kind>(i);
  }
  return answer;
}

}  // namespace gradcts
