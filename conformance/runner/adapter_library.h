// An engine's shared library, loaded into this process. Only workers load engines.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/adapters/adapter.h"

namespace gradcts {

// One clear line: the library does not load, exports no adapter, or speaks another interface
// version.
class UnusableEngine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class AdapterLibrary {
 public:
  // Throws UnusableEngine. The library stays loaded until the process ends: engines keep threads.
  explicit AdapterLibrary(const std::string& path);

  struct Reply {
    bool ok = false;
    std::string text;  // JSON when ok, else one line of plain text
  };
  // A reply that never came, or came twice, is not ok.
  Reply describe() const;
  Reply run(std::string_view scenario) const;

 private:
  const gradcts_adapter_functions* functions_ = nullptr;
};

}  // namespace gradcts
