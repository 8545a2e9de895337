// Makes the C interface of an adapter (adapter.h) out of a Binding: one line in one source file,
//   GRADCTS_EXPORT_ADAPTER(MyBinding)
// or out of a class with describe() and run() alone (RunsScenarios), which runs scenarios in its
// way. Nothing is thrown across the boundary: an exception of the adapter itself becomes the one
// line of plain text that the interface asks for.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "conformance/adapters/adapter.h"
#include "conformance/adapters/kit/interpreter.h"
#include "conformance/scenario/json.h"

namespace gradcts::kit {

template <typename B>
concept RunsScenarios = requires(std::shared_ptr<const Scenario> scenario) {
  { B::run(scenario) } -> std::same_as<Outcome>;
};

// Runs a scenario, or says what the engine lacks for it.
template <typename B>
Outcome run_scenario(std::shared_ptr<const Scenario> scenario) {
  static const Description description = B::describe();
  Outcome outcome;
  outcome.unsupported = missing_features_text(*scenario, description);
  if (!outcome.unsupported.empty()) return outcome;
  if constexpr (RunsScenarios<B>) {
    return B::run(std::move(scenario));
  } else {
    return Interpreter<B>::run(std::move(scenario));
  }
}

// The text of the exception that is being handled.
std::string current_exception_text();

// Replies with what `make` returns; if it throws, with the exception's text.
template <typename Make>
int answer(gradcts_reply reply, void* context, Make make) noexcept {
  int status = 0;
  std::string text;
  try {
    text = make();
  } catch (...) {
    status = 1;
    text = current_exception_text();
  }
  reply(context, text.data(), text.size());
  return status;
}

template <typename B>
int describe(gradcts_reply reply, void* context) {
  return answer(reply, context, [] { return write_description(B::describe()).dump(); });
}

template <typename B>
int run(const char* text, size_t size, gradcts_reply reply, void* context) {
  return answer(reply, context, [&] {
    const auto scenario = std::make_shared<const Scenario>(read_scenario(parse_json({text, size})));
    return write_outcome(run_scenario<B>(scenario), *scenario).dump();
  });
}

template <typename B>
inline constexpr gradcts_adapter_functions adapter_functions{GRADCTS_INTERFACE_VERSION, describe<B>,
                                                             run<B>};

}  // namespace gradcts::kit

#define GRADCTS_EXPORT_ADAPTER(Binding)                                              \
  extern "C" __attribute__((visibility("default"))) const gradcts_adapter_functions* \
  gradcts_adapter() {                                                                \
    return &gradcts::kit::adapter_functions<Binding>;                                \
  }
