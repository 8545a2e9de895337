// What an engine must be able to do for a scenario to run on it, derived from the scenario's
// content.
//
// Features are words with dots: "hook.tensor", "pass.inputs", "operation.mul", "type.float16". An
// adapter claims a list of features, in which "operation.*" claims the whole group. A scenario
// whose features are not all claimed is `unsupported`, and that is all: nothing of it runs.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/scenario/scenario.h"

namespace gradcts {

struct FeatureSpec {
  std::string_view name;
  std::string_view meaning;
};
// Every feature that is no operation and no type, for documentation and for checking claims.
std::span<const FeatureSpec> all_features();

std::set<std::string> required_features(const Scenario& scenario);

// Whether it needs a device other than the CPU, or a stream. Cheaper than all features.
bool uses_devices(const Scenario& scenario);

// Whether there is a feature of that name: one of all_features(), "operation.X" or "type.X".
bool is_feature(std::string_view name);

// Those of `required` that `claimed` does not cover, in order.
std::vector<std::string> missing_features(const std::set<std::string>& required,
                                          const std::vector<std::string>& claimed);

}  // namespace gradcts
