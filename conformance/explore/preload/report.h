// The text that says why a schedule could not end. Pure: the caller has collected names and stacks.
#pragma once

#include <string>
#include <vector>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/scheduler.h"

namespace gradcts::schedule {

struct ThreadReport {
  ThreadNumber number = nobody;    // nobody: outside control
  std::string name;                // the system's name for it, and its number there
  std::vector<std::string> stack;  // innermost first
};

// How an object is called in the report: its symbol if it has one, else its address.
using ObjectName = std::string (*)(const void* object);

// One line: what the thread waits for, who holds that, since when; or what it was about to do.
std::string describe_wait(const Scheduler& scheduler, ThreadNumber thread, ObjectName name);

// The whole report. `how` is the line that says how the schedule was chosen; `not_seen` says in
// lines of their own what the schedule does not show, and may be empty.
std::string describe(gradcts_schedule_outcome outcome, const std::string& how, Scheduler& scheduler,
                     const std::vector<ThreadReport>& threads, ObjectName name,
                     const std::string& not_seen);

// Writes a report to the file descriptor that GRADCTS_SCHEDULE_FD names, or to standard error.
void write_report(const std::string& text);

}  // namespace gradcts::schedule
