// Reads what a worker wrote about its stacks (stack_reporter.h) and makes text for people of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradcts {

struct ThreadStack {
  std::int64_t thread = 0;
  std::string name;
  std::string state;                // "crashed", "running", "silent" (it did not answer)
  std::vector<std::string> frames;  // innermost first, demangled
};

struct StackReport {
  bool crash = false;                    // false: it was asked for
  int signal = 0;                        // crash
  std::optional<std::uint64_t> address;  // crash: of the fault, where the signal has one
  std::vector<ThreadStack> threads;
  int threads_left_out = 0;
  bool complete = false;  // the worker came to the end of it
};

// Never fails: a cut or empty report gives what there was.
StackReport read_stack_report(std::string_view text);

// One line for each thread and frame, indented by two spaces.
std::string to_text(const StackReport& report);

// "SIGSEGV" for 11.
std::string signal_name(int signal);

}  // namespace gradcts
