#include "fuzz/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "conformance/oracle/oracle.h"
#include "conformance/scenario/json.h"

namespace gradcts::fuzz {

namespace {

std::string identifier(const std::string& id) {
  std::string name;
  for (const char c : id) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

constexpr const char* gtest_text = R"##(// {title}
// {id}, made by `gradcts emit`.
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/scenario/json.h"
#include "fuzz/trial.h"

TEST(Reproducer, {name}) {{
  const gradcts::Scenario scenario = gradcts::read_scenario(gradcts::parse_json(R"json({json})json"));
  const char* engine = std::getenv("GRADCTS_ENGINE");
  const gradcts::fuzz::Finding finding =
      gradcts::fuzz::open_engine(engine == nullptr ? "reference" : engine)->run(scenario);
  ASSERT_NE(finding.kind, gradcts::fuzz::Finding::Kind::not_judged) << finding.detail;
  ASSERT_NE(finding.kind, gradcts::fuzz::Finding::Kind::unsupported) << finding.detail;
  EXPECT_EQ(finding.clause, "") << finding.detail;
}}
)##";

constexpr const char* python_text = R"##(#!/usr/bin/env python3
"""{title}

{id}, made by `gradcts emit`. Usage: python3 THIS_FILE ADAPTER_LIBRARY
"""
import ctypes
import json
import sys

SCENARIO = r'''{json}'''

# What is right in the dialect `{dialect}`: gradients of leaves, and for each result of a step its error or
# its values. "?": not determined.
EXPECTED = json.loads(r'''{expected}''')


class Functions(ctypes.Structure):
    REPLY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)
    DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, REPLY, ctypes.c_void_p)
    RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, REPLY, ctypes.c_void_p)
    _fields_ = [("interface_version", ctypes.c_uint32), ("describe", DESCRIBE), ("run", RUN)]


def run(path):
    library = ctypes.CDLL(path)
    library.gradcts_adapter.restype = ctypes.POINTER(Functions)
    replies = []
    reply = Functions.REPLY(lambda _, text, size: replies.append(ctypes.string_at(text, size)))
    scenario = SCENARIO.encode()
    failed = library.gradcts_adapter().contents.run(scenario, len(scenario), reply, None)
    if failed or len(replies) != 1:
        sys.exit(f"the adapter could not run it: {{replies}}")
    return json.loads(replies[0])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    outcome = run(sys.argv[1])
    wrong = []
    for leaf, expected in EXPECTED["leaf_grads"].items():
        observed = outcome["leaf_grads"][leaf]
        if expected != "?" and expected != observed:
            wrong.append(f"gradient of {{leaf}}: expected {{expected}}, observed {{observed}}")
    observed_steps = {{(s["step"], s.get("occurrence", 0)): s for s in outcome["steps"]}}
    for step in EXPECTED["steps"]:
        observed = observed_steps.get((step["step"], step["occurrence"]))
        if observed is None:
            wrong.append(f"{{step['path']}}: no result")
            continue
        error = observed.get("error", {{}}).get("category")
        if error not in step["errors"]:
            wrong.append(f"{{step['path']}}: expected {{step['errors']}}, observed {{error}}")
        elif error is None and step["values"] not in ("?", observed.get("values", [])):
            values = observed.get("values")
            wrong.append(f"{{step['path']}}: expected {{step['values']}}, observed {{values}}")
    for line in wrong:
        print(line)
    print("right" if not wrong else f"{{len(wrong)}} wrong")
    sys.exit(1 if wrong else 0)


main()
)##";

Json tensor_or_null(const std::optional<TensorValue>& tensor) {
  return tensor ? write_tensor(*tensor) : Json(nullptr);
}

Json expected_json(const Scenario& scenario, const Expectation& expectation) {
  Json leaf_grads = Json::object();
  for (std::size_t i = 0; i < scenario.leaves.size(); ++i) {
    const auto value = static_cast<std::size_t>(scenario.leaves[i].value);
    const bool known = i < expectation.leaf_grad_known.size() && expectation.leaf_grad_known[i];
    leaf_grads[scenario.values[value].name] =
        known ? tensor_or_null(expectation.leaf_grads[i]) : Json("?");
  }
  Json steps = Json::array();
  for (const ExpectedStep& step : expectation.steps) {
    if (!step.required || step.any_order) continue;
    Json errors = Json::array();
    if (step.result.error) {
      for (const ErrorCategory category : step.allowed_errors) errors.push_back(to_text(category));
    } else {
      errors.push_back(nullptr);
    }
    Json values = Json::array();
    for (const auto& value : step.result.values) values.push_back(tensor_or_null(value));
    const bool known = std::find(step.value_known.begin(), step.value_known.end(), false) ==
                       step.value_known.end();
    steps.push_back({{"step", step.result.step},
                     {"path", step_path(scenario, step.result.step)},
                     {"occurrence", step.result.occurrence},
                     {"errors", std::move(errors)},
                     {"values", known ? std::move(values) : Json("?")}});
  }
  return {{"leaf_grads", std::move(leaf_grads)}, {"steps", std::move(steps)}};
}

}  // namespace

std::string as_gtest(const Scenario& scenario) {
  return fmt::format(gtest_text, fmt::arg("title", scenario.title), fmt::arg("id", scenario.id),
                     fmt::arg("name", identifier(scenario.id)),
                     fmt::arg("json", write_scenario(scenario).dump(1)));
}

std::string as_python(const Scenario& scenario, const std::string& dialect) {
  const Expectation expectation = expect(scenario, make_dialect(dialect));
  return fmt::format(python_text, fmt::arg("title", scenario.title), fmt::arg("id", scenario.id),
                     fmt::arg("dialect", dialect),
                     fmt::arg("json", write_scenario(scenario).dump(1)),
                     fmt::arg("expected", expected_json(scenario, expectation).dump(1)));
}

}  // namespace gradcts::fuzz
