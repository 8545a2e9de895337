#include "conformance/adapters/kit/export.h"

#include <exception>

namespace gradcts::kit {

std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception outside the standard hierarchy";
  }
}

}  // namespace gradcts::kit
