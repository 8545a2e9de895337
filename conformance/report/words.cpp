#include "conformance/report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

namespace gradcts {
namespace {

template <class... Parts>
struct Overload : Parts... {
  using Parts::operator()...;
};
template <class... Parts>
Overload(Parts...) -> Overload<Parts...>;

constexpr std::array<std::string_view, 4> through_words = {
    "", " through a view", " through a detached alias", " through a data alias"};
constexpr std::array<std::string_view, 4> question_words = {
    "its buckets", "the order of its reductions", "the order in which parameters became ready",
    "the number of reductions"};
constexpr std::array<std::string_view, 18> observe_words = {"whether gradients are recorded",
                                                            "the user state",
                                                            "the current device",
                                                            "the current stream",
                                                            "the depth of passes",
                                                            "whether checkpointing is valid",
                                                            "whether a pass is running",
                                                            "which gradients are needed",
                                                            "whether a node will run",
                                                            "whether anomaly mode is on",
                                                            "how many threads the engine keeps",
                                                            "how many scripted objects are alive",
                                                            "how many stream events were recorded",
                                                            "how often a stream waited",
                                                            "how many programs are held",
                                                            "how many passes found a program",
                                                            "how many passes were compiled",
                                                            "how many were compiled for"};

std::string_view through_text(Through through) {
  return through_words[static_cast<std::size_t>(through)];
}

std::string value_name(const Scenario& scenario, ValueId value) {
  if (value < 0 || value >= static_cast<ValueId>(scenario.values.size())) return "?";
  return scenario.values[static_cast<std::size_t>(value)].name;
}

std::string value_names(const Scenario& scenario, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(value_name(scenario, value));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string hook_name(const Scenario& scenario, HookId hook) {
  return hook < 0 ? "?" : scenario.hooks[static_cast<std::size_t>(hook)].name;
}

std::string stream_name(const Scenario& scenario, StreamId stream) {
  return stream < 0 ? "the default stream"
                    : scenario.streams[static_cast<std::size_t>(stream)].name;
}

std::string attribute_text(const Attribute& attribute) {
  return std::visit(
      Overload{[](std::monostate) { return std::string(); },
               [](std::int64_t number) { return fmt::format("{}", number); },
               [](double number) { return fmt::format("{:g}", number); },
               [](bool on) { return std::string(on ? "true" : "false"); },
               [](const IntegerList& list) { return fmt::format("({})", fmt::join(list, ",")); },
               [](ScalarType type) { return std::string(to_text(type)); },
               [](Device device) { return to_text(device); }},
      attribute);
}

std::string term_text(const Scenario& scenario, const Term& term) {
  std::string text = term.factor == 1 ? "" : fmt::format("{:g}*", term.factor);
  text += fmt::format("slot {}", term.slot);
  if (term.times != no_id) text += fmt::format("*{}", value_name(scenario, term.times));
  return text;
}

std::string terms_text(const Scenario& scenario, const std::vector<Term>& terms) {
  std::vector<std::string> texts;
  for (const Term& term : terms) texts.push_back(term_text(scenario, term));
  return terms.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, " + "));
}

std::string expression_base(const Scenario& scenario, const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::combination:
      return terms_text(scenario, expression.terms);
    case Expression::Kind::pass:
      return fmt::format("slot {} itself", expression.slot);
    case Expression::Kind::constant:
      return fmt::format("a new {}", in_words(expression.constant));
    case Expression::Kind::undefined:
      return "undefined";
    case Expression::Kind::pool:
      return fmt::format("its own buffer, set to {}", in_words(expression.constant));
  }
  return {};
}

// ------------------------------------------------------------------------------------------------
// Steps

std::string seed_text(const Scenario& scenario, const Seed& seed) {
  if (seed.value != no_id) return fmt::format("seed from {}", value_name(scenario, seed.value));
  return fmt::format("seed {}", in_words(seed.constant));
}

std::string roots_text(const Scenario& scenario, const std::vector<Root>& roots) {
  std::vector<std::string> texts;
  for (const Root& root : roots) {
    texts.push_back(
        fmt::format("{} ({})", value_name(scenario, root.value), seed_text(scenario, root.seed)));
  }
  return roots.empty() ? "no roots" : fmt::format("{}", fmt::join(texts, " and "));
}

std::string pass_text(const Scenario& scenario, const PassStep& pass) {
  const bool grad = pass.kind == PassStep::Kind::grad;
  std::string text = grad ? "grad" : "backward";
  text += fmt::format(" from {}", roots_text(scenario, pass.roots));
  if (pass.inputs) {
    text += fmt::format("{} {}", grad ? " with respect to" : ", only into",
                        pass.inputs->empty() ? "nothing" : value_names(scenario, *pass.inputs));
  }
  if (pass.keep_graph) text += ", keeping the graph";
  if (pass.create_graph) text += ", creating a graph";
  if (pass.allow_unused) text += ", unused inputs allowed";
  if (pass.materialise) text += ", zeros for unused inputs";
  if (!pass.results.empty())
    text += fmt::format(", giving {}", value_names(scenario, pass.results));
  for (const CaptureHook& hook : pass.capture_hooks) {
    text +=
        fmt::format(", capture hook {} on input {}", hook_name(scenario, hook.hook), hook.input);
  }
  for (const AnnouncementId id : pass.announced) {
    text += fmt::format(", told of {}", scenario.announcements[static_cast<std::size_t>(id)].name);
  }
  if (pass.future != no_id) {
    text +=
        fmt::format(", result to {}", scenario.futures[static_cast<std::size_t>(pass.future)].name);
  }
  return text;
}

std::string forward_text(const Scenario& scenario, const ForwardStep& forward) {
  std::vector<std::string> names;
  for (const NodeId node : forward.nodes) names.push_back(node_name(scenario, node));
  constexpr std::size_t limit = 12;
  if (names.size() > limit) {
    const std::string last = names.back();
    return fmt::format("forward of {} nodes, {} to {}", names.size(), names.front(), last);
  }
  return fmt::format("forward of {}", fmt::join(names, ", "));
}

std::string read_text(const Scenario& scenario, const ReadStep& read) {
  std::vector<std::string> names;
  for (const ValueId value : read.values) names.push_back(value_name(scenario, value));
  for (const ValueId value : read.grads) names.push_back(value_name(scenario, value) + ".grad");
  return fmt::format("read {}", fmt::join(names, ", "));
}

std::string change_text(const Scenario& scenario, const ChangeStep& change) {
  const std::string name = value_name(scenario, change.value);
  const std::string_view through = through_text(change.through);
  switch (change.how) {
    case ChangeStep::How::add:
      return fmt::format("add {:g} to {} in place{}", change.number, name, through);
    case ChangeStep::How::multiply:
      return fmt::format("multiply {} by {:g} in place{}", name, change.number, through);
    case ChangeStep::How::fill:
      return fmt::format("fill {} with {:g} in place{}", name, change.number, through);
  }
  return {};
}

std::string with_text(const Scenario& scenario, const WithStep& with) {
  std::vector<std::string> parts;
  const auto on = [](bool value) { return value ? "on" : "off"; };
  if (with.recording) parts.push_back(fmt::format("recording {}", on(*with.recording)));
  if (with.anomaly) parts.push_back(fmt::format("anomaly mode {}", on(*with.anomaly)));
  if (with.check_nan) parts.push_back(fmt::format("checks for NaN {}", on(*with.check_nan)));
  if (with.user_state) parts.push_back(fmt::format("user state {}", *with.user_state));
  if (with.stream != no_id)
    parts.push_back(fmt::format("stream {}{}", stream_name(scenario, with.stream),
                                with.captured ? " captured" : ""));
  if (with.device) parts.push_back(fmt::format("device {}", to_text(*with.device)));
  if (with.saved_hooks != no_id)
    parts.push_back(fmt::format("saved hooks {}", hook_name(scenario, with.saved_hooks)));
  return fmt::format("with {}:", fmt::join(parts, ", "));
}

std::string observe_text(const Scenario& scenario, const ObserveStep& observe) {
  std::string text =
      fmt::format("observe {}", observe_words[static_cast<std::size_t>(observe.what)]);
  if (observe.node != no_id) text += fmt::format(": {}", node_name(scenario, observe.node));
  if (observe.cause) text += fmt::format(": {}", to_text(*observe.cause));
  return text;
}

std::string reducer_text(const Scenario& scenario, const ReducerStep& step) {
  const auto& name = scenario.reducers[static_cast<std::size_t>(step.reducer)].name;
  const std::string who = fmt::format("reducer {} of rank {}", name, step.rank);
  switch (step.what) {
    case ReducerStep::What::make:
      return fmt::format("make {}", who);
    case ReducerStep::What::drop:
      return fmt::format("drop {}", who);
    case ReducerStep::What::prepare:
      return fmt::format("have {} reduce the next pass", who);
    case ReducerStep::What::reset:
      return fmt::format("reset {}", who);
    case ReducerStep::What::ask:
      return fmt::format("ask {} for {}", who,
                         question_words[static_cast<std::size_t>(step.question)]);
  }
  return who;
}

std::string deliver_text(const Scenario& scenario, const DeliverStep& step) {
  const auto& announcement = scenario.announcements[static_cast<std::size_t>(step.announcement)];
  if (!step.error.empty()) return fmt::format("fail {} with '{}'", announcement.name, step.error);
  const Seed& gradient = step.gradient;
  const std::string what =
      gradient.value == no_id ? in_words(gradient.constant) : value_name(scenario, gradient.value);
  return fmt::format("deliver {} as {}", what, announcement.name);
}

std::string stream_text(const Scenario& scenario, const StreamStep& step) {
  if (step.what == StreamStep::What::synchronise) {
    return fmt::format("wait for {}", stream_name(scenario, step.stream));
  }
  return fmt::format("{} waits for {}", stream_name(scenario, step.stream),
                     stream_name(scenario, step.waits_for));
}

std::string action_text(const Scenario& s, const Action& action) {
  return std::visit(
      Overload{
          [&](const ForwardStep& step) { return forward_text(s, step); },
          [&](const PassStep& step) { return pass_text(s, step); },
          [&](const SetGradStep& step) {
            return fmt::format("set {}.grad to {}", value_name(s, step.leaf), in_words(step.grad));
          },
          [&](const ReadStep& step) { return read_text(s, step); },
          [&](const ChangeStep& step) { return change_text(s, step); },
          [&](const KeepStep& step) {
            if (step.grad_of != no_id) {
              return fmt::format("keep {}.grad as {}{}", value_name(s, step.grad_of),
                                 value_name(s, step.as), through_text(step.through));
            }
            return fmt::format("keep slot {} as {}{}", step.slot, value_name(s, step.as),
                               through_text(step.through));
          },
          [&](const DropStep& step) { return fmt::format("drop {}", value_names(s, step.values)); },
          [&](const RequiresGradStep& step) {
            return fmt::format("turn requires_grad {} for {}", step.on ? "on" : "off",
                               value_name(s, step.value));
          },
          [&](const WithStep& step) { return with_text(s, step); },
          [&](const TryStep&) { return std::string("try:"); },
          [&](const ParallelStep& step) {
            return fmt::format("in parallel, on {} threads:", step.threads.size());
          },
          [&](const RepeatStep& step) { return fmt::format("{} times:", step.times); },
          [&](const BarrierStep& step) {
            return "meet at barrier " + s.barriers[static_cast<std::size_t>(step.barrier)].name;
          },
          [&](const LockStep& step) {
            return fmt::format("{} lock {}", step.acquire ? "take" : "release",
                               s.locks[static_cast<std::size_t>(step.lock)].name);
          },
          [&](const ThrowStep& step) {
            std::string text =
                fmt::format("throw '{}'{}", step.token, step.foreign ? ", of a foreign type" : "");
            if (step.on_call > 0) text += fmt::format(", on call {} alone", step.on_call);
            return text;
          },
          [&](const QueueCallbackStep& step) {
            return "queue callback " + s.callbacks[static_cast<std::size_t>(step.callback)].name;
          },
          [&](const HookStep& step) {
            return fmt::format("{} hook {}", step.add ? "add" : "remove", hook_name(s, step.hook));
          },
          [&](const ObserveStep& step) { return observe_text(s, step); },
          [&](const EngineStep& step) {
            if (step.limit) return fmt::format("stop the engine within {:g} s", *step.limit);
            return std::string(step.what == EngineStep::What::start ? "start the engine"
                                                                    : "stop the engine");
          },
          [&](const ForkStep&) { return std::string("in a forked child:"); },
          [&](const StreamStep& step) { return stream_text(s, step); },
          [&](const DeliverStep& step) { return deliver_text(s, step); },
          [&](const WaitStep& step) {
            return "wait for " + s.futures[static_cast<std::size_t>(step.future)].name;
          },
          [&](const WhenDoneStep& step) {
            return fmt::format("when {} is over, call {}",
                               s.futures[static_cast<std::size_t>(step.future)].name,
                               s.callbacks[static_cast<std::size_t>(step.callback)].name);
          },
          [&](const RedirectStep& step) {
            return fmt::format("make edge {} of {} lead to {}", step.edge, node_name(s, step.node),
                               step.to == no_id ? "nothing" : value_name(s, step.to));
          },
          [&](const CloseHooksStep& step) {
            return "leave the saved hooks " + hook_name(s, step.hook);
          },
          [&](const ForgetProgramsStep&) {
            return std::string("forget the programs of compiled passes");
          },
          [&](const ReducerStep& step) { return reducer_text(s, step); }},
      action);
}

std::string values_text(const std::vector<std::optional<TensorValue>>& values) {
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(in_words(value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string subject_text(const Scenario& scenario, const Event& event) {
  switch (event.kind) {
    case EventKind::node_enter:
    case EventKind::node_exit:
      return node_name(scenario, event.subject);
    case EventKind::callback:
    case EventKind::destroyed:
      return scenario.callbacks[static_cast<std::size_t>(event.subject)].name;
    case EventKind::pass_begin:
    case EventKind::pass_end:
    case EventKind::observe:
      return step_name(scenario, event.subject);
    default:
      return hook_name(scenario, event.subject);
  }
}

}  // namespace

std::string subject_in_words(const Scenario& scenario, const Event& event) {
  return subject_text(scenario, event);
}

std::string_view in_words(HookKind kind) {
  constexpr std::array<std::string_view, 8> words = {
      "tensor hook",          "retain_grad hook", "node pre-hook", "node post-hook",
      "post-accumulate hook", "capture hook",     "multi hook",    "saved-tensor hooks"};
  return words[static_cast<std::size_t>(kind)];
}

std::string in_words(const std::optional<TensorValue>& tensor) {
  if (!tensor) return "undefined";
  const bool plain_number = tensor->shape.empty() && tensor->type == ScalarType::float64 &&
                            tensor->layout == Layout::strided && tensor->values.size() == 1 &&
                            tensor->device == Device{};
  return plain_number ? fmt::format("{:g}", tensor->values[0]) : to_text(*tensor);
}

std::string in_words(const Scenario& scenario, const Node& node) {
  std::string text =
      fmt::format("{}({})", spec_of(node.operation).name, value_names(scenario, node.inputs));
  const auto attributes = spec_of(node.operation).attributes;
  for (std::size_t i = 0; i < attributes.size() && i < node.attributes.size(); ++i) {
    const std::string value = attribute_text(node.attributes[i]);
    if (!value.empty()) text += fmt::format(" {}={}", attributes[i].name, value);
  }
  return text;
}

std::string in_words(const Scenario& scenario, const Expression& expression) {
  std::string text = expression_base(scenario, expression);
  if (expression.expand)
    text += fmt::format(", expanded to ({})", fmt::join(*expression.expand, ","));
  if (expression.cast) text += fmt::format(", cast to {}", to_text(*expression.cast));
  if (expression.move_to) text += fmt::format(", moved to {}", to_text(*expression.move_to));
  return text;
}

std::string in_words(const Scenario& scenario, const Step& step) {
  return action_text(scenario, step.action);
}

std::string in_words(const StepExpectation& expectation) {
  if (expectation.error) return fmt::format("an error: {}", to_text(*expectation.error));
  if (expectation.number) {
    const auto [least, most] = *expectation.number;
    return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  }
  if (!expectation.values) return "nothing in particular";
  std::string text = values_text(*expectation.values);
  if (expectation.bound)
    text += fmt::format(" (within {:g} units in the last place)", *expectation.bound);
  return text;
}

std::string in_words(const Scenario& scenario, const StepResult& result) {
  std::string text = step_name(scenario, result.step);
  if (result.occurrence > 0) text += fmt::format(", time {}", result.occurrence + 1);
  if (result.thread > 0) text += fmt::format(", thread {}", result.thread);
  text += ": ";
  if (!result.error) return text + (result.values.empty() ? "done" : values_text(result.values));
  text += fmt::format("error {}", to_text(result.error->category));
  if (!result.error->token.empty()) text += fmt::format(" '{}'", result.error->token);
  if (!result.error->text.empty()) text += fmt::format(": {}", result.error->text);
  return text;
}

std::string in_words(const Scenario& scenario, const Event& event) {
  std::string text = fmt::format("{} {}", to_text(event.kind), subject_text(scenario, event));
  if (event.instance > 0) text += fmt::format(" #{}", event.instance + 1);
  if (event.kind == EventKind::observe || event.kind == EventKind::destroyed)
    text += fmt::format(" = {}", event.number);
  if (!event.values.empty()) text += fmt::format("  {}", values_text(event.values));
  return text;
}

const Step* find_step(const Scenario& scenario, StepId id) {
  const Step* found = nullptr;
  for_each_step(scenario, [&](const Step& step) {
    if (step.id == id) found = &step;
  });
  return found;
}

std::string step_name(const Scenario& scenario, StepId id) {
  const Step* step = find_step(scenario, id);
  return step ? fmt::format("step {} ({})", id, verb_of(*step)) : fmt::format("step {}", id);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace gradcts
