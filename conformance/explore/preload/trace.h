// A schedule as data: the choices that were taken, and their text.
//
// The text is a list of choices with '.' between. `2` : thread 2 goes on. `2:7` : seven times. `2!`
// : the wait of thread 2 ends by itself (a spurious wake-up, or its time-out). Where a signal could
// wake one of several threads, a plain number says which.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "conformance/explore/preload/page_allocator.h"

namespace gradcts::schedule {

using ThreadNumber = std::int32_t;  // in the order in which threads come under control, from 0
inline constexpr ThreadNumber nobody = -1;

struct Choice {
  ThreadNumber thread = nobody;
  bool by_itself = false;

  friend bool operator==(const Choice&, const Choice&) = default;
};

class Trace {
 public:
  void clear();
  void append(Choice choice);

  // Reads a text; nullopt if it is not one. The empty text is the empty trace.
  static std::optional<Trace> parse(std::string_view text);
  // Terminated by a zero, and valid until the next call.
  const char* text();

  struct Run {
    Choice choice;
    std::uint32_t count = 0;

    friend bool operator==(const Run&, const Run&) = default;
  };
  const PageVector<Run>& runs() const { return runs_; }

 private:
  void append_number(std::uint64_t number);

  PageVector<Run> runs_;
  PageVector<char> text_;
};

// Walks over the choices of a trace one by one.
class TraceReader {
 public:
  void start(const Trace& trace);
  // The choice that is next, nullopt at the end.
  std::optional<Choice> peek() const;
  void advance();

 private:
  const Trace* trace_ = nullptr;
  std::size_t run_ = 0;
  std::uint32_t within_run_ = 0;
};

}  // namespace gradcts::schedule
