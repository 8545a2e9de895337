// Words for people, with the names of the scenario. Ids out of range are named by their number: an
// outcome may come from a broken engine.
#pragma once

#include <optional>
#include <string>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

std::string describe_step(const Scenario& scenario, StepId step, std::int32_t occurrence);
// What the event is about: "node y", "hook h", "callback c", "program[2] (grad)".
std::string describe_subject(const Scenario& scenario, EventKind kind, std::int32_t subject);
// "enter of node y", "call of hook h (2nd time)", "start of program[2] (grad)".
std::string describe_event(const Scenario& scenario, const Event& event);
std::string describe(const std::optional<TensorValue>& value);
std::string describe(const ErrorReport& error);
// "read by 'scale' (node y) on stream s1".
std::string describe(const DeviceAccess& access);
// What is not ordered with what, and what would order them.
std::string describe(const UnorderedAccess& unordered);
std::string describe_missing(const UnorderedAccess& unordered);
// What is counted: "run", "call".
std::string count_of(EventKind kind, std::int64_t number);

}  // namespace gradcts
