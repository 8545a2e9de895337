// The oracle: what a scenario means.
//
// It runs the scenario sequentially on exact values, in the simplest way that can be read as the
// clauses themselves, and shares no code with any engine. It is slow and obvious on purpose. Its
// result says what every conforming engine of the given dialect must do, and leaves free what the
// clauses leave free. A pure function; safe to call from any thread.
//
// The parts: array.h (exact arithmetic), graph.h (tensors and nodes), functions.h (operations with
// their derivatives), pass.h (one backward pass), interpreter.h (the steps), trace.h (what is
// expected).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"
#include "conformance/spec/spec.h"

namespace gradcts {

// An event that must, or may, happen. An event of the outcome belongs to the expected event with
// the same kind, subject and instance, the first to the first and so on; `event.thread` is the
// thread of the program, not compared.
struct ExpectedEvent {
  Event event;
  // False: it may be missing (for example a sibling of a node that threw, ERR-2).
  bool required = true;
  // Whether `event.values`, `event.number` must match what was reported.
  bool compare_values = false;
  bool compare_number = false;
  // Set where no clause fixes the number, but the scenario's author or the kind of event does.
  std::optional<NumberRange> stated;
  bool number_fits(std::int64_t number) const {
    if (stated) return stated->contains(number);
    return !compare_number || event.number == number;
  }
  // A node's entry: the device whose thread it must run on (DEV-1, DEV-3); the CPU stands for the
  // thread of the pass's caller. Unset where that is free.
  std::optional<Device> device = std::nullopt;
  // Events of this kind, subject and instance have no order among them (threads of the program that
  // run side by side make them, or passes that do, or an earlier one may be missing): they match in
  // any order, and no constraint refers to them.
  bool any_order = false;
  // The clause that a missing, surplus or different event of this kind breaks.
  const char* clause = "TOPO-1";
};

// Expected event `before` stands before expected event `after` whenever both happened.
struct OrderConstraint {
  std::int32_t before = 0;  // indices into Expectation::events
  std::int32_t after = 0;
  const char* clause = "TOPO-1";
};

struct ExpectedStep {
  StepResult result;  // thread is not compared; an error's text is not compared
  // Categories that are right: that of result.error, and others as good. With no error expected:
  // categories that may stand there all the same (SHUT-4).
  std::vector<ErrorCategory> allowed_errors;
  // Several tokens may be the first error when failing nodes are unordered (ERR-1). Empty: the
  // token of result.error alone.
  std::vector<std::string> allowed_tokens;
  std::vector<Mention> names;  // what the text of the error must name
  // False: the step may not have been reached (after an error elsewhere).
  bool required = true;
  // As in ExpectedEvent: results of this step match in any order.
  bool any_order = false;
  // Distance allowed for each value, in units in the last place; 0 is exact.
  double bound = 0;
  // Empty: every value is known. Else which of result.values are; the others are not compared.
  std::vector<bool> value_known;
  // What a wrong value or error here breaks. Null: values that no single clause owns.
  const char* clause = nullptr;
};

struct Expectation {
  std::vector<ExpectedStep> steps;
  std::vector<ExpectedEvent> events;
  std::vector<OrderConstraint> order;
  std::vector<std::optional<TensorValue>> leaf_grads;
  // False: an error left the leaf's gradient undetermined; it is not compared.
  std::vector<bool> leaf_grad_known;
  // The strides that the leaf's `.grad` must have (LEAF-4); unset where they are free.
  std::vector<std::optional<Shape>> leaf_grad_strides;
  // Some step of the scenario states a bound, so its numbers are not exact: gradients of leaves and
  // values in events are not compared, since no bound is stated for those.
  bool inexact = false;
  // Set when the oracle cannot say (a scenario outside its vocabulary): a fault of the suite,
  // reported as `error`, never as a pass.
  std::string cannot_tell;
};

Expectation expect(const Scenario& scenario, const Dialect& dialect);

}  // namespace gradcts
