// An engine in this process whose threads run as a schedule says: one that was rebuilt for it
// (lib/gradcts/rebuilt), or any other one in a process that preloads libgradcts-schedule.so.
#pragma once

#include <string>

#include "conformance/adapters/description.h"
#include "conformance/explore/preload/schedule.h"
#include "conformance/runner/adapter_library.h"

namespace gradcts {

class ControlledEngine {
 public:
  // Throws UnusableEngine with one clear line, also where there is nothing that controls it.
  explicit ControlledEngine(const std::string& path);

  const Description& description() const { return description_; }

  // Runs the scenario once, on a new thread. `result` is what gradcts_schedule_end says; its
  // pointers live until the next call. A schedule that cannot end calls options.on_report and ends
  // the process.
  AdapterLibrary::Reply take(const gradcts_schedule_options& options, const std::string& scenario,
                             gradcts_schedule_result& result) const;

 private:
  AdapterLibrary library_;
  Description description_;
  gradcts_schedule_begin_function* begin_ = nullptr;
  gradcts_schedule_end_function* end_ = nullptr;
};

}  // namespace gradcts
