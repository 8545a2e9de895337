// What the running thread puts work on devices for, in words for reports: "node y". Whoever drives
// the engine may say it; nothing depends on it.
//
// Purposes enclose each other, and the innermost counts. What fails ends nothing, so whoever knows an outer one goes
// back to it with all that is inside; and at the start of something new all threads forget theirs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradcts::reference {

// On this thread, until it is ended. Returns how many enclose it.
std::size_t begin_work_purpose(std::string_view what, std::string_view name);
// The innermost one; nothing where there is none.
void end_work_purpose();
// All but the outermost so many.
void end_work_purposes(std::size_t enclosing);

// The innermost one; empty: nothing in particular.
std::string work_purpose();

// Those of all threads.
void forget_work_purposes();

}  // namespace gradcts::reference
