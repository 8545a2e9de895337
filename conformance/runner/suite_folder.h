// Where the suites are, and all that is in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/runner/result.h"
#include "conformance/scenario/suite.h"

namespace gradcts {

// The first of: `given` (from the command line), GRADCTS_SUITES, ../share/gradcts/suites as seen
// from the command, and for a command in its build folder the source tree. Throws
// std::runtime_error with one clear line when there is none.
std::string find_suites(const std::string& given);

// The suite files of a folder, sorted, or the file itself. Those below a folder `expectations` are
// no suites. Throws std::runtime_error with one clear line when there is no such path.
std::vector<std::string> suite_files(const std::string& path);

// All scenarios of a folder or a file, sorted by file, in order of declaration. Throws
// std::runtime_error with one clear line for the first thing wrong.
class SuiteFolder {
 public:
  explicit SuiteFolder(const std::string& path);
  SuiteFolder(const SuiteFolder&) = delete;
  SuiteFolder& operator=(const SuiteFolder&) = delete;

  const std::vector<PlannedScenario>& scenarios() const { return planned_; }
  std::vector<const Scenario*> pointers() const;
  const PlannedScenario* find(const std::string& id) const;  // null when there is none

 private:
  std::vector<SuiteEntry> entries_;
  std::vector<PlannedScenario> planned_;
};

// The expectations of a known engine, kept beside the suites: FOLDER/expectations/ENGINE.json.
std::optional<std::string> default_expectations(const std::string& suites,
                                                const std::string& engine);

}  // namespace gradcts
