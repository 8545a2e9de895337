// The report for programs: one record a line (records.h): first "header", one "scenario" for each
// scenario in order, a "problem" for each problem of the run, and "summary" last. Each line is
// written out as it comes, so that a run that is cut short leaves what it had.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "conformance/runner/result.h"
#include "conformance/scenario/json.h"

namespace gradcts {

class JsonLinesReporter : public Reporter {
 public:
  // Throws std::runtime_error with one clear line when the file cannot be written; so do the
  // others.
  explicit JsonLinesReporter(std::string file);

  void on_start(const RunHeader& header) override;
  void on_result(const ScenarioResult& result) override;
  void on_finish(const RunSummary& summary) override;

 private:
  void write(const Json& json);

  std::string file_;
  RunHeader header_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out_;
};

}  // namespace gradcts
