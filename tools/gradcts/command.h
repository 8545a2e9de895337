// What the commands of `gradcts` share.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/runner/result.h"
#include "conformance/runner/suite_folder.h"

namespace gradcts {

enum ExitStatus : int {
  as_expected = 0,
  not_as_expected = 1,
  wrong_use = 2,
  cannot_work = 3,
};

// Flags, files or names that cannot be used; one clear line.
class WrongUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `work`; whatever it complains about is the user's to mend.
template <typename Work>
auto or_wrong_use(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    throw WrongUse(problem.what());
  }
}

// A command is added to the program and leaves its exit status in `status` when it is the one
// chosen.
void add_run_command(CLI::App& program, int& status);
void add_list_command(CLI::App& program, int& status);
void add_show_command(CLI::App& program, int& status);
void add_replay_command(CLI::App& program, int& status);
void add_explore_command(CLI::App& program, int& status);
void add_lint_command(CLI::App& program, int& status);
void add_fuzz_command(CLI::App& program, int& status);
void add_shrink_command(CLI::App& program, int& status);
void add_emit_command(CLI::App& program, int& status);
void add_report_command(CLI::App& program, int& status);
void add_manual_commands(CLI::App& program, int& status);  // manual and completion

// Options that several commands have, declared once. `what` of a time-out is what it bounds, as in
// "one scenario"; the default that the help names is what `seconds` holds.
void add_scenario_argument(CLI::App& command, std::string& id_or_file);
void add_engine_option(CLI::App& command, std::string& engine);
void add_suites_option(CLI::App& command, std::string& suites);
void add_dialect_option(CLI::App& command, std::string& dialect);  // in place of the engine's own
void add_timeout_option(CLI::App& command, double& seconds, const std::string& what);
void add_repeat_option(CLI::App& command, int& times);

std::chrono::milliseconds milliseconds(double seconds);

// From 0 on, as the library would take -1 for a large number.
CLI::Validator counting_number();

std::unique_ptr<SuiteFolder> load_suites_or_wrong_use(const std::string& path);

// The scenario that an id or a file with one scenario means.
struct Chosen {
  std::unique_ptr<SuiteFolder> suites;
  PlannedScenario planned;
};
Chosen choose_scenario(const std::string& id_or_file, const std::string& suites);

// Rows as columns that line up, for people; the last column may be as long as it likes.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

void print(const std::string& text);

}  // namespace gradcts
