// The judges, one function each; checker.cpp lists them with what they own.
#pragma once

#include <string_view>
#include <vector>

#include "conformance/checker/matching.h"

namespace gradcts {

using Findings = std::vector<Finding>;

// judge_steps.cpp
void judge_anything_ran(const Evidence&, std::string_view clauses, Findings&);
void judge_steps(const Evidence&, std::string_view clauses, Findings&);
void judge_errors(const Evidence&, std::string_view clauses, Findings&);
void judge_error_texts(const Evidence&, std::string_view clauses, Findings&);
void judge_values(const Evidence&, std::string_view clauses, Findings&);

// judge_events.cpp
void judge_runs(const Evidence&, std::string_view clauses, Findings&);
void judge_calls(const Evidence&, std::string_view clauses, Findings&);
void judge_node_gradients(const Evidence&, std::string_view clauses, Findings&);
void judge_hook_gradients(const Evidence&, std::string_view clauses, Findings&);
void judge_observations(const Evidence&, std::string_view clauses, Findings&);
void judge_threads(const Evidence&, std::string_view clauses, Findings&);
void judge_order(const Evidence&, std::string_view clauses, Findings&);

// judge_state.cpp
void judge_leaf_gradients(const Evidence&, std::string_view clauses, Findings&);
void judge_leaf_layout(const Evidence&, std::string_view clauses, Findings&);
void judge_live_objects(const Evidence&, std::string_view clauses, Findings&);
void judge_thread_state(const Evidence&, std::string_view clauses, Findings&);
void judge_device_memory(const Evidence&, std::string_view clauses, Findings&);

}  // namespace gradcts
