// The rebuilt reference engine as an adapter: each scenario has an engine of its own, so that each
// schedule begins with the same state, and the start of threads is part of it.
#include "conformance/adapters/kit/export.h"
#include "conformance/adapters/reference/reference_binding.h"
#include "conformance/explore/rebuilt/meeting_point.h"

namespace gradcts {
namespace {

using reference_adapter::Binding;

class FreshEngine {
 public:
  FreshEngine() { reference::Engine::set_default_engine(&engine_); }
  ~FreshEngine() { reference::Engine::set_default_engine(nullptr); }
  FreshEngine(const FreshEngine&) = delete;
  FreshEngine& operator=(const FreshEngine&) = delete;

 private:
  reference::Engine engine_;
};

Outcome run_on_fresh_engine(std::shared_ptr<const Scenario> scenario) {
  const FreshEngine engine;
  Outcome outcome = kit::run_scenario<Binding>(std::move(scenario));
  schedule::settle();
  return outcome;
}

int run(const char* text, std::size_t size, gradcts_reply reply, void* context) {
  return kit::answer(reply, context, [&] {
    const auto scenario = std::make_shared<const Scenario>(read_scenario(parse_json({text, size})));
    return write_outcome(run_on_fresh_engine(scenario), *scenario).dump();
  });
}

constexpr gradcts_adapter_functions functions{GRADCTS_INTERFACE_VERSION, kit::describe<Binding>,
                                              run};

}  // namespace
}  // namespace gradcts

extern "C" __attribute__((visibility("default"))) const gradcts_adapter_functions*
gradcts_adapter() {
  return &gradcts::functions;
}
