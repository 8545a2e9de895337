#include "reference_engine/device/work_purpose.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference_engine/memory/per_thread.h"
#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {
namespace {

CountAtomic<std::uint64_t> times_forgotten{0};

struct Purposes {
  std::uint64_t times_forgotten = 0;  // when these were begun
  std::vector<std::string> texts;     // the outermost first
};

std::vector<std::string>& purposes() {
  Purposes& purposes = PerThread<Purposes>::get();
  const std::uint64_t now = times_forgotten.load(std::memory_order_relaxed);
  if (purposes.times_forgotten != now) purposes = {now, {}};
  return purposes.texts;
}

}  // namespace

std::size_t begin_work_purpose(std::string_view what, std::string_view name) {
  std::string text(what);
  if (!what.empty() && !name.empty()) text += ' ';
  text += name;
  purposes().push_back(std::move(text));
  return purposes().size() - 1;
}

void end_work_purpose() {
  if (!purposes().empty()) purposes().pop_back();
}

void end_work_purposes(std::size_t enclosing) {
  purposes().resize(std::min(purposes().size(), enclosing));
}

std::string work_purpose() {
  return purposes().empty() ? std::string() : purposes().back();
}

void forget_work_purposes() {
  times_forgotten.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace gradcts::reference
