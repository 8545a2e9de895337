// The reference engine with a compiler, as an engine under test: every scenario can run with its
// passes compiled, and with its passes replayed (COMP-1).
#pragma once

#include <memory>
#include <string>

#include "conformance/adapters/adapter.h"
#include "conformance/adapters/description.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

enum class CompiledRun {
  compiled,  // a scenario's passes find no program but those of its own earlier passes
  replayed,  // the scenario is run twice, and what is reported is the second time
};

Description describe_compiled(CompiledRun run);

// As run_on_reference(). One at a time in a process.
Outcome run_compiled(std::shared_ptr<const Scenario> scenario, CompiledRun run);

// For a library that is loaded as an engine.
const gradcts_adapter_functions* adapter_of(CompiledRun run);

// The programs of the scenario's passes, in the order in which they were made, as text.
std::string programs_of(std::shared_ptr<const Scenario> scenario);

}  // namespace gradcts
