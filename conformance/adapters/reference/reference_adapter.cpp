#include "conformance/adapters/reference/reference_adapter.h"

#include <utility>

#include "conformance/adapters/kit/interpreter.h"
#include "conformance/adapters/reference/reference_binding.h"

namespace gradcts {

Description describe_reference() {
  return reference_adapter::Binding::describe();
}

Outcome run_on_reference(std::shared_ptr<const Scenario> scenario) {
  return kit::Interpreter<reference_adapter::Binding>::run(std::move(scenario));
}

}  // namespace gradcts
