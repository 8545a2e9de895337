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

template <CompiledRun how>
struct Engine {
  static Description describe() { return describe_compiled(how); }
  static Outcome run(std::shared_ptr<const Scenario> scenario) {
    return run_compiled(std::move(scenario), how);
  }
};

}  // namespace

const gradcts_adapter_functions* adapter_of(CompiledRun run) {
  return run == CompiledRun::compiled ? &kit::adapter_functions<Engine<CompiledRun::compiled>>
                                      : &kit::adapter_functions<Engine<CompiledRun::replayed>>;
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
