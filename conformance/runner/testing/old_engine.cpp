// An adapter of an interface version that never was.
#include "conformance/adapters/adapter.h"

extern "C" __attribute__((visibility("default"))) const gradcts_adapter_functions*
gradcts_adapter() {
  static constexpr gradcts_adapter_functions functions = {999, nullptr, nullptr};
  return &functions;
}
