// Outcomes in JSON: `gradcts.outcome/1`. Things are named as in the scenario; steps by their
// number.
#include <absl/container/flat_hash_set.h>

#include "conformance/scenario/json_parts.h"

namespace gradcts {
namespace {

using Tensors = std::vector<std::optional<TensorValue>>;

// What an event's subject is.
enum class SubjectKind { node, hook, callback, step };

SubjectKind subject_kind(EventKind kind) {
  switch (kind) {
    case EventKind::node_enter:
    case EventKind::node_exit:
      return SubjectKind::node;
    case EventKind::callback:
    case EventKind::destroyed:
      return SubjectKind::callback;
    case EventKind::pass_begin:
    case EventKind::pass_end:
    case EventKind::observe:
      return SubjectKind::step;
    default:
      return SubjectKind::hook;
  }
}

Json write_or_null(const std::optional<TensorValue>& tensor) {
  return tensor ? write_tensor(*tensor) : Json(nullptr);
}

Json write_tensors(const Tensors& tensors) {
  Json list = Json::array();
  for (const auto& tensor : tensors) list.push_back(write_or_null(tensor));
  return list;
}

std::optional<TensorValue> read_optional(const Json& json, const Path& path) {
  return json.is_null() ? std::nullopt : std::optional(read_tensor(json, path));
}

Tensors read_tensors(const Fields& fields, std::string_view name) {
  Tensors tensors;
  fields.each(name, [&](const Json& json, const Path& path) {
    tensors.push_back(read_optional(json, path));
  });
  return tensors;
}

// ------------------------------------------------------------------------------------------------
// Writing

Json write_error(const ErrorReport& error) {
  Json json{{"category", std::string(to_text(error.category))}};
  if (!error.token.empty()) json["token"] = error.token;
  if (error.foreign) json["foreign"] = true;
  if (!error.text.empty()) json["text"] = error.text;
  return json;
}

Json write_step_result(const StepResult& result) {
  Json json{{"step", result.step}};
  if (result.occurrence != 0) json["occurrence"] = result.occurrence;
  if (result.thread != 0) json["thread"] = result.thread;
  if (result.error) json["error"] = write_error(*result.error);
  if (!result.values.empty()) json["values"] = write_tensors(result.values);
  return json;
}

Json write_subject(const Event& event, const Scenario& scenario) {
  const auto index = static_cast<std::size_t>(event.subject);
  switch (subject_kind(event.kind)) {
    case SubjectKind::node:
      return node_name(scenario, event.subject);
    case SubjectKind::hook:
      return scenario.hooks[index].name;
    case SubjectKind::callback:
      return scenario.callbacks[index].name;
    case SubjectKind::step:
      return event.subject;
  }
  return nullptr;
}

Json write_event(const Event& event, const Scenario& scenario) {
  Json json{{"kind", std::string(to_text(event.kind))},
            {"subject", write_subject(event, scenario)}};
  if (event.instance != 0) json["instance"] = event.instance;
  if (event.thread != 0) json["thread"] = event.thread;
  if (event.number != 0) json["number"] = event.number;
  if (!event.values.empty()) json["values"] = write_tensors(event.values);
  return json;
}

Json write_access(const DeviceAccess& access) {
  Json json{{"kind", std::string(to_text(access.kind))}, {"stream", access.stream}};
  if (!access.work.empty()) json["work"] = access.work;
  if (!access.of.empty()) json["of"] = access.of;
  return json;
}

Json write_unordered(const UnorderedAccess& unordered) {
  Json json{{"access", write_access(unordered.access)},
            {"earlier", write_access(unordered.earlier)}};
  if (unordered.freed_between) json["freed_between"] = true;
  return json;
}

Json write_state(const FinalState& state) {
  Json json{{"live_objects", state.live_objects}};
  if (!state.state_changes.empty()) json["state_changes"] = state.state_changes;
  for (const UnorderedAccess& unordered : state.unordered_accesses) {
    json["unordered_accesses"].push_back(write_unordered(unordered));
  }
  if (state.engine_threads) json["engine_threads"] = *state.engine_threads;
  return json;
}

// ------------------------------------------------------------------------------------------------
// Reading

template <typename Integer>
Integer read_count(const Fields& fields, std::string_view name) {
  const Json* json = fields.find(name);
  if (json == nullptr) return 0;
  return static_cast<Integer>(
      read_integer(*json, fields.at(name), 0, std::numeric_limits<Integer>::max()));
}

class OutcomeReader {
 public:
  explicit OutcomeReader(const Scenario& scenario) : scenario_(scenario) {}

  Outcome read(const Json& json) const;

 private:
  StepId read_step_id(const Json& json, const Path& path) const {
    return static_cast<StepId>(read_integer(json, path, 0, scenario_.step_count - 1));
  }
  StepResult read_step_result(const Json& json, const Path& path) const;
  Event read_event(const Json& json, const Path& path) const;
  std::int32_t read_subject(EventKind kind, const Json& json, const Path& path) const;
  void read_leaf_grads(const Fields& fields, Outcome& outcome) const;

  const Scenario& scenario_;
};

ErrorReport read_error(const Json& json, const Path& path) {
  const Fields fields(json, path, {"category", "token", "foreign", "text"});
  ErrorReport error;
  error.category = read_word<ErrorCategory>(fields.need("category"), fields.at("category"),
                                            error_category_words);
  if (fields.find("token") != nullptr) error.token = fields.text("token");
  error.foreign = fields.boolean("foreign", false);
  if (fields.find("text") != nullptr) error.text = fields.text("text");
  return error;
}

StepResult OutcomeReader::read_step_result(const Json& json, const Path& path) const {
  const Fields fields(json, path, {"step", "occurrence", "thread", "error", "values"});
  StepResult result;
  result.step = read_step_id(fields.need("step"), fields.at("step"));
  result.occurrence = read_count<std::int32_t>(fields, "occurrence");
  result.thread = read_count<std::int16_t>(fields, "thread");
  if (const Json* error = fields.find("error"))
    result.error = read_error(*error, fields.at("error"));
  result.values = read_tensors(fields, "values");
  return result;
}

template <typename Items>
std::int32_t find_named(const Items& items, std::string_view kind, const std::string& name,
                        const Path& path) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<std::int32_t>(i);
  }
  fail(path, "there is no " + std::string(kind) + " '" + name + "' in the scenario");
}

NodeId find_node(const Scenario& scenario, const std::string& name, const Path& path) {
  const auto leaf_count = static_cast<std::int32_t>(scenario.leaves.size());
  for (std::int32_t leaf = 0; name.starts_with("accumulate:") && leaf < leaf_count; ++leaf) {
    if (node_name(scenario, accumulator_of(scenario, leaf)) == name) {
      return accumulator_of(scenario, leaf);
    }
  }
  return find_named(scenario.nodes, "node", name, path);
}

std::int32_t OutcomeReader::read_subject(EventKind kind, const Json& json, const Path& path) const {
  switch (subject_kind(kind)) {
    case SubjectKind::step:
      return read_step_id(json, path);
    case SubjectKind::node:
      return find_node(scenario_, read_text(json, path), path);
    case SubjectKind::hook:
      return find_named(scenario_.hooks, "hook", read_text(json, path), path);
    case SubjectKind::callback:
      return find_named(scenario_.callbacks, "callback", read_text(json, path), path);
  }
  return no_id;
}

Event OutcomeReader::read_event(const Json& json, const Path& path) const {
  const Fields fields(json, path, {"kind", "subject", "instance", "thread", "number", "values"});
  Event event;
  event.kind = read_word<EventKind>(fields.need("kind"), fields.at("kind"), event_words);
  event.subject = read_subject(event.kind, fields.need("subject"), fields.at("subject"));
  event.instance = read_count<std::int32_t>(fields, "instance");
  event.thread = read_count<std::int16_t>(fields, "thread");
  if (const Json* number = fields.find("number")) {
    event.number = read_integer(*number, fields.at("number"));
  }
  event.values = read_tensors(fields, "values");
  return event;
}

// Every leaf by name: an answer in part is no answer.
void OutcomeReader::read_leaf_grads(const Fields& fields, Outcome& outcome) const {
  std::vector<std::string_view> names;
  for (const Leaf& leaf : scenario_.leaves) {
    names.push_back(scenario_.values[static_cast<std::size_t>(leaf.value)].name);
  }
  const Path path = fields.at("leaf_grads");
  const Fields grads(fields.need("leaf_grads"), path, std::span<const std::string_view>(names));
  for (const std::string_view name : names) {
    outcome.leaf_grads.push_back(read_optional(grads.need(name), grads.at(name)));
  }
}

DeviceAccess read_access(const Fields& parent, std::string_view name) {
  const Fields fields(parent.need(name), parent.at(name), {"kind", "stream", "work", "of"});
  DeviceAccess access;
  access.kind =
      read_word<DeviceAccess::Kind>(fields.need("kind"), fields.at("kind"), access_kind_words);
  access.stream = fields.text("stream");
  if (fields.find("work") != nullptr) access.work = fields.text("work");
  if (fields.find("of") != nullptr) access.of = fields.text("of");
  return access;
}

UnorderedAccess read_unordered(const Json& json, const Path& path) {
  const Fields fields(json, path, {"access", "earlier", "freed_between"});
  return {read_access(fields, "access"), read_access(fields, "earlier"),
          fields.boolean("freed_between", false)};
}

FinalState read_state(const Json& json, const Path& path) {
  const Fields fields(json, path,
                      {"live_objects", "state_changes", "unordered_accesses", "engine_threads"});
  FinalState state;
  state.live_objects = read_integer(fields.need("live_objects"), fields.at("live_objects"));
  fields.each("state_changes", [&](const Json& line, const Path& line_path) {
    state.state_changes.push_back(read_text(line, line_path));
  });
  fields.each("unordered_accesses", [&](const Json& unordered, const Path& unordered_path) {
    state.unordered_accesses.push_back(read_unordered(unordered, unordered_path));
  });
  if (fields.find("engine_threads") != nullptr) {
    state.engine_threads = read_count<std::int32_t>(fields, "engine_threads");
  }
  return state;
}

void check_occurrences(const Outcome& outcome, const Path& document) {
  absl::flat_hash_set<std::int64_t> seen;
  for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
    const StepResult& result = outcome.steps[i];
    const std::int64_t key = (std::int64_t{result.step} << 32) + result.occurrence;
    if (seen.insert(key).second) continue;
    fail((document / "steps")[i], "a second result for occurrence " +
                                      std::to_string(result.occurrence) + " of step " +
                                      std::to_string(result.step));
  }
}

Outcome OutcomeReader::read(const Json& json) const {
  const Path document;
  const Fields fields(
      json, document,
      {"schema", "scenario", "unsupported", "steps", "events", "leaf_grads", "state"});
  const std::string& schema = fields.text("schema");
  if (schema != "gradcts.outcome/1") {
    fail(fields.at("schema"), "expected 'gradcts.outcome/1', found '" + schema + "'");
  }
  const std::string& of = fields.text("scenario");
  if (of != scenario_.id) {
    fail(fields.at("scenario"),
         "the answer is for '" + of + "', the request was '" + scenario_.id + "'");
  }
  Outcome outcome;
  if (fields.find("unsupported") != nullptr) {
    outcome.unsupported = fields.text("unsupported");
    const bool alone = json.size() == 3 && !outcome.unsupported.empty();
    if (!alone) fail(fields.at("unsupported"), "expected a reason, and no other result beside it");
    return outcome;
  }
  for (const auto* field : {"steps", "events", "leaf_grads", "state"}) fields.need(field);
  fields.each("steps", [&](const Json& step, const Path& path) {
    outcome.steps.push_back(read_step_result(step, path));
  });
  fields.each("events", [&](const Json& event, const Path& path) {
    outcome.events.push_back(read_event(event, path));
  });
  read_leaf_grads(fields, outcome);
  outcome.state = read_state(fields.need("state"), fields.at("state"));
  check_occurrences(outcome, document);
  return outcome;
}

}  // namespace

Outcome read_outcome(const Json& json, const Scenario& scenario) {
  return OutcomeReader(scenario).read(json);
}

Json write_outcome(const Outcome& outcome, const Scenario& scenario) {
  Json json{{"schema", "gradcts.outcome/1"}, {"scenario", scenario.id}};
  if (!outcome.unsupported.empty()) {
    json["unsupported"] = outcome.unsupported;
    return json;
  }
  json["steps"] = Json::array();
  for (const StepResult& result : outcome.steps) json["steps"].push_back(write_step_result(result));
  json["events"] = Json::array();
  for (const Event& event : outcome.events) json["events"].push_back(write_event(event, scenario));
  json["leaf_grads"] = Json::object();
  for (std::size_t i = 0; i < scenario.leaves.size() && i < outcome.leaf_grads.size(); ++i) {
    const auto value = static_cast<std::size_t>(scenario.leaves[i].value);
    json["leaf_grads"][scenario.values[value].name] = write_or_null(outcome.leaf_grads[i]);
  }
  json["state"] = write_state(outcome.state);
  return json;
}

}  // namespace gradcts
