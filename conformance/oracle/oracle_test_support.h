// For tests: a scenario from its JSON body, and what the oracle expects of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/oracle/oracle.h"
#include "conformance/scenario/json.h"

namespace gradcts {

// `body` is the JSON of a scenario without schema, id, title and clauses, with ' for ".
inline Scenario scenario_of(std::string body, const std::string& clauses = "'ACC-1'") {
  std::string text =
      "{'schema': 'gradcts.scenario/1', 'id': 'test/case', 'title': 'A test', 'clauses': [" +
      clauses + "], " + body + "}";
  for (char& c : text) c = c == '\'' ? '"' : c;
  return read_scenario(parse_json(text));
}

// Why the oracle cannot tell what the scenario means; empty where it can.
inline std::string reason_of(const std::string& body) {
  return expect(scenario_of(body), make_dialect("reference")).cannot_tell;
}

struct Told {
  explicit Told(Scenario s, const Dialect& dialect = make_dialect("reference"))
      : scenario(std::move(s)), expectation(expect(scenario, dialect)) {
    EXPECT_EQ(expectation.cannot_tell, "");
  }
  explicit Told(const std::string& body, const std::string& dialect = "reference")
      : Told(scenario_of(body), make_dialect(dialect)) {}

  // The result of the n-th step with this verb, counted over executions of all such steps.
  const ExpectedStep& step(std::string_view verb, int n = 0) const {
    for (const ExpectedStep& expected : expectation.steps) {
      if (verb_of(step_of(expected.result.step)) == verb && n-- == 0) return expected;
    }
    throw std::out_of_range("no such step");
  }
  // All numbers of its values, one after the other; undefined ones as 'undefined'.
  std::vector<double> numbers(std::string_view verb, int n = 0) const {
    std::vector<double> all;
    for (const auto& value : step(verb, n).result.values) {
      if (!value) {
        all.push_back(undefined);
      } else {
        all.insert(all.end(), value->values.begin(), value->values.end());
      }
    }
    return all;
  }
  std::optional<ErrorCategory> error(std::string_view verb, int n = 0) const {
    const auto& error = step(verb, n).result.error;
    return error ? std::optional(error->category) : std::nullopt;
  }
  // How often a named node runs.
  int runs(std::string_view node) const {
    int count = 0;
    for (const ExpectedEvent& event : expectation.events) {
      count += event.event.kind == EventKind::node_enter && event.required &&
               node_name(scenario, event.event.subject) == node;
    }
    return count;
  }
  // Names of what happens, in the order in which it is written down: "h", "node y" and so on.
  std::vector<std::string> happenings() const {
    std::vector<std::string> names;
    for (const ExpectedEvent& event : expectation.events) names.push_back(name_of(event.event));
    return names;
  }
  // All that happens under a name, of which there must be something.
  std::vector<const ExpectedEvent*> events_of(std::string_view name) const {
    std::vector<const ExpectedEvent*> found;
    for (const ExpectedEvent& event : expectation.events) {
      if (name_of(event.event) == name) found.push_back(&event);
    }
    EXPECT_FALSE(found.empty()) << "nothing is named " << name;
    return found;
  }
  std::string name_of(const Event& event) const {
    const auto subject = static_cast<std::size_t>(event.subject);
    switch (event.kind) {
      case EventKind::node_enter:
        return "enter " + node_name(scenario, event.subject);
      case EventKind::node_exit:
        return "exit " + node_name(scenario, event.subject);
      case EventKind::callback:
      case EventKind::destroyed:
        return scenario.callbacks[subject].name;
      case EventKind::pass_begin:
        return "begin";
      case EventKind::pass_end:
        return "end";
      case EventKind::observe:
        return "observe";
      default:
        return scenario.hooks[subject].name;
    }
  }
  // The first number that an event of this name was given.
  double given(const std::string& name, std::size_t value = 0) const {
    for (const ExpectedEvent& event : expectation.events) {
      if (name_of(event.event) != name) continue;
      const auto& tensor = event.event.values.at(value);
      return tensor ? tensor->values.at(0) : undefined;
    }
    throw std::out_of_range("no such event");
  }
  // Whether the written order puts one before the other, over any number of steps.
  bool ordered(const std::string& before, const std::string& after) const {
    std::vector<bool> reached(expectation.events.size(), false);
    for (std::size_t i = 0; i < reached.size(); ++i) {
      reached[i] = name_of(expectation.events[i].event) == before;
    }
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const OrderConstraint& c : expectation.order) {
        if (static_cast<std::size_t>(c.after) == i && reached[static_cast<std::size_t>(c.before)]) {
          if (name_of(expectation.events[i].event) == after) return true;
          reached[i] = true;
        }
      }
    }
    return false;
  }

  static constexpr double undefined = -12345;
  Scenario scenario;
  Expectation expectation;

 private:
  const Step& step_of(StepId id) const {
    const Step* found = nullptr;
    for_each_step(scenario, [&](const Step& step) {
      if (step.id == id) found = &step;
    });
    return *found;
  }
};

}  // namespace gradcts
