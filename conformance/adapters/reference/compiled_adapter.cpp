#include "conformance/adapters/reference/compiled_adapter.h"

#include <utility>

#include "conformance/adapters/kit/export.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/adapters/reference/reference_binding.h"
#include "reference_engine/compiled/compiler.h"

namespace gradcts {
namespace {

using reference::Compiler;
using reference_adapter::Binding;

class WithCompiler {
 public:
  explicit WithCompiler(std::shared_ptr<Compiler> compiler) {
    Binding::set_compiler(std::move(compiler));
  }
  ~WithCompiler() { Binding::set_compiler(nullptr); }
  WithCompiler(const WithCompiler&) = delete;
  WithCompiler& operator=(const WithCompiler&) = delete;
};

template <CompiledRun run>
int describe(gradcts_reply reply, void* context) {
  return kit::answer(reply, context,
                     [] { return write_description(describe_compiled(run)).dump(); });
}

template <CompiledRun how>
int run(const char* text, std::size_t size, gradcts_reply reply, void* context) {
  return kit::answer(reply, context, [&] {
    const auto scenario = std::make_shared<const Scenario>(read_scenario(parse_json({text, size})));
    static const Description description = describe_compiled(how);
    Outcome outcome;
    outcome.unsupported = kit::missing_features_text(*scenario, description);
    if (outcome.unsupported.empty()) outcome = run_compiled(scenario, how);
    return write_outcome(outcome, *scenario).dump();
  });
}

template <CompiledRun how>
constexpr gradcts_adapter_functions functions{GRADCTS_INTERFACE_VERSION, describe<how>, run<how>};

}  // namespace

const gradcts_adapter_functions* adapter_of(CompiledRun run) {
  return run == CompiledRun::compiled ? &functions<CompiledRun::compiled>
                                      : &functions<CompiledRun::replayed>;
}

Description describe_compiled(CompiledRun run) {
  Description description = Binding::describe();
  description.name = run == CompiledRun::compiled ? "reference-compiled" : "reference-replayed";
  return description;
}

Outcome run_compiled(std::shared_ptr<const Scenario> scenario, CompiledRun run) {
  const WithCompiler with_compiler(std::make_shared<Compiler>());
  if (run == CompiledRun::replayed) run_on_reference(scenario);
  return run_on_reference(std::move(scenario));
}

std::string programs_of(std::shared_ptr<const Scenario> scenario) {
  std::string text;
  const auto compiler = std::make_shared<Compiler>();
  compiler->set_log([&](const std::string& line) { text += line + "\n"; });
  compiler->set_program_log([&](const std::string& program) { text += program; });
  const WithCompiler with_compiler(compiler);
  run_on_reference(std::move(scenario));
  return text;
}

}  // namespace gradcts
