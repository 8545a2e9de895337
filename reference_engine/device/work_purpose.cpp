#include "reference_engine/device/work_purpose.h"

#include <utility>

#include "reference_engine/memory/per_thread.h"

namespace gradcts::reference {
namespace {

struct Purpose {
  std::string text;
};

}  // namespace

std::string set_work_purpose(std::string_view what, std::string_view name) {
  std::string text(what);
  if (!what.empty() && !name.empty()) text += ' ';
  text += name;
  return std::exchange(PerThread<Purpose>::get().text, std::move(text));
}

const std::string& work_purpose() {
  return PerThread<Purpose>::get().text;
}

}  // namespace gradcts::reference
