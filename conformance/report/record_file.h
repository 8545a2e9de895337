// Reads a report for programs back (json_lines.h).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "conformance/scenario/json.h"

namespace gradcts {

// Calls `use` with each record, in order; the first is a header. True when the run came to its
// summary; false when it was cut short, in the middle of a line or after one. Throws
// std::runtime_error with one clear line, "FILE: line 3: PROBLEM", for anything else that is no
// such report, and for records that `use` cannot read.
bool read_records(const std::string& file, const std::function<void(const Json&)>& use);

// An earlier run, for comparison.
struct EarlierRun {
  struct Result {
    std::string verdict;
    std::string hash;
    bool flaky = false;
  };
  std::string engine, version, started;
  std::string file;
  std::map<std::string, Result> results;  // by id
};
EarlierRun read_earlier_run(const std::string& file);

}  // namespace gradcts
