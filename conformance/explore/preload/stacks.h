// The stack of any thread of this process, for the report.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gradcts::schedule {

// Loads what unwinding needs, so that a signal handler can use it. Once, early.
void prepare_stacks();

// Innermost call first, without the calls inside this library. Empty if the thread does not answer
// within a second. Not for several threads at a time.
std::vector<std::string> stack_of(pid_t thread);

// "comm, 1234": what the system calls the thread.
std::string system_name_of(pid_t thread);

}  // namespace gradcts::schedule
