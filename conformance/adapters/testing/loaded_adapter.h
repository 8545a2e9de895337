// An adapter's shared library, loaded for a test.
#pragma once

#include <string>

#include "conformance/adapters/adapter.h"
#include "conformance/adapters/description.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts::testing {

class LoadedAdapter {
 public:
  // Throws std::runtime_error with the loader's words. Stays loaded for the life of the process.
  explicit LoadedAdapter(const std::string& path);

  std::uint32_t interface_version() const { return functions_->interface_version; }
  Description describe() const;
  // The reply, whatever it is; throws std::runtime_error with it if the adapter says that it
  // failed.
  std::string run_text(const std::string& scenario) const;
  Outcome run(const Scenario& scenario) const;

 private:
  const gradcts_adapter_functions* functions_;
};

}  // namespace gradcts::testing
