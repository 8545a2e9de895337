#include <fmt/format.h>

#include <cstdio>

#include "conformance/report/words.h"
#include "tools/gradcts/command.h"
#include "tools/gradcts/lint.h"

namespace gradcts {
namespace {

int lint_and_print(std::vector<std::string> paths) {
  const LintReport report = or_wrong_use([&] {
    if (paths.empty()) paths.push_back(find_suites(""));
    return lint(paths);
  });
  for (const std::string& problem : report.problems) print(problem + "\n");
  const std::string checked =
      fmt::format("{} in {}", counted(report.scenarios, "scenario"), counted(report.files, "file"));
  if (report.problems.empty() && report.scenarios > 0) {
    print(fmt::format("{}: no problems\n", checked));
    return as_expected;
  }
  std::fflush(stdout);
  std::fputs(
      fmt::format("gradcts: {}: {}\n", checked, counted(report.problems.size(), "problem")).c_str(),
      stderr);
  return not_as_expected;
}

}  // namespace

void add_lint_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("lint", "Check suite files; one line for each problem");
  const auto paths = std::make_shared<std::vector<std::string>>();
  command.add_option("paths", *paths, "Folders or files (default: the suites of gradcts)")
      ->type_name("PATH");
  command.footer(
      "Examples:\n"
      "  gradcts lint                                      # the suites of gradcts\n"
      "  gradcts lint conformance/suites/root my-scenario.json");
  command.callback([paths, &status] { status = lint_and_print(*paths); });
}

}  // namespace gradcts
