// Checks suite files and expectation files for everything that can be known without an engine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gradcts {

struct LintReport {
  std::vector<std::string> problems;  // one line each: "FILE: PATH: problem"
  std::size_t files = 0;
  std::size_t scenarios = 0;
};

// Well-formed files, known clauses, reports and features, unique ids, scenarios of which the oracle
// can tell what is right, expectations of the author that agree with the oracle, expectations of
// engines that speak of scenarios that exist. Throws std::runtime_error when a path does not exist.
LintReport lint(const std::vector<std::string>& paths);

}  // namespace gradcts
