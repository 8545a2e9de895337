// The report for the person at the screen.
#pragma once

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "conformance/report/failure_text.h"
#include "conformance/runner/result.h"

namespace gradcts {

// A line of progress while the run goes on (on a terminal), what is not as expected in full as it
// happens, then a table by area of the clauses and what was not checked, and why.
class ConsoleReporter : public Reporter {
 public:
  struct Options {
    bool terminal = false;  // progress line
    bool colours = false;
    bool quiet = false;  // only what is not as expected: nothing at all when all is
  };
  ConsoleReporter(std::FILE* out, Options options);

  void on_start(const RunHeader& header) override;
  void on_progress(const std::string& id, std::size_t done) override;
  void on_result(const ScenarioResult& result) override;
  void on_finish(const RunSummary& summary) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    std::map<VerdictKind, std::size_t> counts;
    std::size_t expected_failures = 0;
    std::size_t not_as_expected = 0;
  };

  void print(const std::string& text);
  void clear_progress();
  void print_table();
  void print_row(const std::string& area, const std::string& title, const Row& row);
  std::string heading() const;
  std::string row_text(const std::string& area, const std::string& title, const Row& row) const;
  void print_not_checked();
  void print_problems(const RunSummary& summary);
  std::string conclusion(const RunSummary& summary) const;
  void print_last_line(const RunSummary& summary);

  std::FILE* out_;
  Options options_;
  Paint paint_;
  RunHeader header_;
  std::map<std::string, Row> rows_;                          // by area
  std::map<std::string, std::vector<std::string>> missing_;  // feature to ids
  std::size_t unsupported_ = 0;
  std::size_t surprises_ = 0;
  std::vector<std::string> surprise_lines_;
  bool progress_shown_ = false;
  Clock::time_point started_{}, progress_at_{};
};

// Terminal and colours as `out`, NO_COLOR and TERM say.
ConsoleReporter::Options console_options(std::FILE* out);
Paint paint_for(std::FILE* out);

// "40 s", "3 min", "1 h 20 min": how long the rest takes if it goes on as so far. Empty in the
// first five seconds: short work needs no estimate, and early ones jump.
std::string time_left(std::size_t done, std::size_t total, std::chrono::duration<double> elapsed);

}  // namespace gradcts
