// Small scenarios for tests.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "conformance/runner/result.h"
#include "conformance/scenario/json.h"

namespace gradcts::testing {

// y = x * x at 3, backward with seed 2: x.grad is 12.
inline Scenario square(const std::string& id, const std::string& clause = "ACC-1") {
  return read_scenario(parse_json(fmt::format(
      R"({{"schema": "gradcts.scenario/1", "id": "{}", "title": "a square", "clauses": ["{}"],
          "leaves": [{{"name": "x", "value": 3}}],
          "nodes": [{{"name": "y", "op": "mul", "inputs": ["x", "x"]}}],
          "program": [{{"do": "forward"}}, {{"do": "backward", "roots": [{{"value": "y", "seed": 2}}]}}]}})",
      id, clause)));
}

// Scenarios that stay where they are, as a run needs them.
class Plan {
 public:
  Plan(std::initializer_list<std::string> ids) {
    for (const std::string& id : ids) add(square(id));
  }
  void add(Scenario scenario) {
    scenarios_.push_back(std::make_unique<Scenario>(std::move(scenario)));
    planned_.push_back({scenarios_.back().get(), content_hash(*scenarios_.back()), "test"});
  }
  const std::vector<PlannedScenario>& planned() const { return planned_; }

 private:
  std::vector<std::unique_ptr<Scenario>> scenarios_;
  std::vector<PlannedScenario> planned_;
};

}  // namespace gradcts::testing
