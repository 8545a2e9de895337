// The report for CI systems: JUnit XML, one test case a scenario.
//
// fail is a failure; crash, hang and error are errors; unsupported and expected failures are
// skipped, with the reason; a pass that was not expected is a failure.
#pragma once

#include <string>

#include "conformance/runner/result.h"

namespace gradcts {

class JUnitReporter : public Reporter {
 public:
  // Throws std::runtime_error with one clear line when the file cannot be written. It is written
  // whole when the run is over.
  explicit JUnitReporter(std::string file);

  void on_start(const RunHeader& header) override;
  void on_result(const ScenarioResult& result) override;
  void on_finish(const RunSummary& summary) override;

 private:
  std::string file_;
  RunHeader header_;
  std::string cases_;
  std::size_t count_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
};

// Text that may stand in an XML attribute or element: what XML cannot hold becomes '?'.
std::string xml_escaped(std::string_view text);

}  // namespace gradcts
