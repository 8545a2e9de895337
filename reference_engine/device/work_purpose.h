// What the running thread puts work on devices for, in words for reports: "node y". Whoever drives
// the engine may say it; nothing depends on it.
#pragma once

#include <string>
#include <string_view>

namespace gradcts::reference {

// From now on, on this thread; empty: for nothing in particular. Returns what it was before.
std::string set_work_purpose(std::string_view what, std::string_view name);
const std::string& work_purpose();

}  // namespace gradcts::reference
