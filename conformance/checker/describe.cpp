#include "conformance/checker/describe.h"

#include <fmt/format.h>

namespace gradcts {

namespace {

template <typename List>
bool in_range(const List& list, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < list.size();
}

const Step* find_step(const Scenario& scenario, StepId id) {
  const Step* found = nullptr;
  for_each_step(scenario, [&](const Step& step) {
    if (step.id == id) found = &step;
  });
  return found;
}

std::string ordinal(std::int32_t number) {
  const std::int32_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  const char* ending = teen || last == 0 || last > 3 ? "th"
                       : last == 1                   ? "st"
                       : last == 2                   ? "nd"
                                                     : "rd";
  return fmt::format("{}{}", number, ending);
}

std::string_view phrase(EventKind kind) {
  switch (kind) {
    case EventKind::node_enter:
      return "enter of ";
    case EventKind::node_exit:
      return "exit of ";
    case EventKind::pass_begin:
      return "start of ";
    case EventKind::pass_end:
      return "end of ";
    case EventKind::pack:
      return "pack by ";
    case EventKind::unpack:
      return "unpack by ";
    case EventKind::destroyed:
      return "destruction that calls ";
    case EventKind::observe:
      return "";
    default:
      return "call of ";
  }
}

}  // namespace

std::string describe_step(const Scenario& scenario, StepId id, std::int32_t occurrence) {
  const Step* step = find_step(scenario, id);
  if (!step) return fmt::format("step {}", id);
  std::string text = fmt::format("{} ({})", step_path(scenario, id), verb_of(*step));
  if (occurrence > 0) text += fmt::format(", {} time", ordinal(occurrence + 1));
  return text;
}

std::string describe_subject(const Scenario& scenario, EventKind kind, std::int32_t subject) {
  switch (kind) {
    case EventKind::node_enter:
    case EventKind::node_exit: {
      const auto count = static_cast<std::int32_t>(scenario.nodes.size() + scenario.leaves.size());
      if (subject < 0 || subject >= count) return fmt::format("node {}", subject);
      return "node " + node_name(scenario, subject);
    }
    case EventKind::callback:
    case EventKind::destroyed:
      if (!in_range(scenario.callbacks, subject)) return fmt::format("callback {}", subject);
      return "callback " + scenario.callbacks[static_cast<std::size_t>(subject)].name;
    case EventKind::pass_begin:
    case EventKind::pass_end:
    case EventKind::observe:
      return describe_step(scenario, subject, 0);
    default:
      if (!in_range(scenario.hooks, subject)) return fmt::format("hook {}", subject);
      return "hook " + scenario.hooks[static_cast<std::size_t>(subject)].name;
  }
}

std::string describe_event(const Scenario& scenario, const Event& event) {
  std::string text(phrase(event.kind));
  text += describe_subject(scenario, event.kind, event.subject);
  const bool node = event.kind == EventKind::node_enter || event.kind == EventKind::node_exit;
  if (event.instance > 0) {
    text += fmt::format(" ({} {})", ordinal(event.instance + 1), node ? "making" : "time");
  }
  return text;
}

std::string describe(const std::optional<TensorValue>& value) {
  return value ? to_text(*value) : "undefined";
}

std::string describe(const ErrorReport& error) {
  std::string text = fmt::format("error {}", to_text(error.category));
  if (!error.token.empty()) text += fmt::format(" '{}'", error.token);
  if (error.foreign) text += " of a foreign type";
  if (!error.text.empty() && error.text != error.token) text += fmt::format(": {}", error.text);
  return text;
}

std::string count_of(EventKind kind, std::int64_t number) {
  const char* word = "call";
  switch (kind) {
    case EventKind::node_enter:
      word = "run";
      break;
    case EventKind::node_exit:
      word = "end";
      break;
    case EventKind::pass_begin:
    case EventKind::pass_end:
      word = "pass";
      return fmt::format("{} {}", number, number == 1 ? "pass" : "passes");
    case EventKind::observe:
      word = "observation";
      break;
    case EventKind::destroyed:
      word = "destruction";
      break;
    default:
      break;
  }
  return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

namespace {

std::string stream_in_words(const std::string& stream) {
  const bool is_default = stream.find(':') != std::string::npos && stream.find('/') == stream.npos;
  return is_default ? fmt::format("the default stream of {}", stream)
                    : fmt::format("stream {}", stream);
}

std::string work_in_words(const DeviceAccess& access) {
  const std::string of = access.of.empty() ? "" : fmt::format(" ({})", access.of);
  return access.work.empty() ? fmt::format("work{}", of) : fmt::format("'{}'{}", access.work, of);
}

}  // namespace

std::string describe(const DeviceAccess& access) {
  return fmt::format("{} by {} on {}", to_text(access.kind), work_in_words(access),
                     stream_in_words(access.stream));
}

std::string describe(const UnorderedAccess& unordered) {
  const auto& [access, earlier, freed_between] = unordered;
  if (access.kind == DeviceAccess::Kind::free) {
    return fmt::format("memory of {} is freed{}, and nothing says that the {} is over",
                       stream_in_words(access.stream),
                       access.of.empty() ? "" : fmt::format(" ({})", access.of), describe(earlier));
  }
  return fmt::format("nothing orders the {} after the {}{}", describe(access), describe(earlier),
                     freed_between ? ", whose memory was freed since" : "");
}

std::string describe_missing(const UnorderedAccess& unordered) {
  const auto& [access, earlier, freed_between] = unordered;
  const std::string wait =
      fmt::format("{} waits for an event recorded on {} after {}", stream_in_words(access.stream),
                  stream_in_words(earlier.stream), work_in_words(earlier));
  if (access.kind != DeviceAccess::Kind::free) return wait;
  return fmt::format("the use of the memory by {} is registered, or {}",
                     stream_in_words(earlier.stream), wait);
}

}  // namespace gradcts
