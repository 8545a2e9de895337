// gradcts: the command.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "conformance/explore/search/explore_worker.h"
#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/worker_main.h"
#include "tools/gradcts/command.h"

namespace gradcts {
namespace {

constexpr const char* footer = R"(Exit status:
  0  everything as expected
  1  something not as expected, or nothing was executed
  2  wrong use: flags, files, names
  3  an engine or gradcts itself could not work

`gradcts COMMAND --help` explains a command, with examples.)";

int complain(const std::exception& problem, ExitStatus status) {
  std::fflush(stdout);
  std::string text = problem.what();  // evidence, such as what an engine printed, is on further lines
  text.erase(text.find_last_not_of('\n') + 1);
  std::fputs(fmt::format("gradcts: {}\n", text).c_str(), stderr);
  return status;
}

// CLI11 would only say that a command is missing.
void check_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  throw WrongUse(fmt::format("no command '{}'; there are: {}", word, fmt::join(names, ", ")));
}

int parse_and_run(int argc, char** argv) {
  CLI::App program("Conformance tests for autograd engines", "gradcts");
  program.set_version_flag("--version", "gradcts " GRADCTS_VERSION);
  program.require_subcommand(1);
  program.footer(footer);
  int status = as_expected;
  add_run_command(program, status);
  add_list_command(program, status);
  add_show_command(program, status);
  add_replay_command(program, status);
  add_lint_command(program, status);
  add_fuzz_command(program, status);
  add_shrink_command(program, status);
  add_emit_command(program, status);
  add_explore_command(program, status);
  add_report_command(program, status);
  add_manual_commands(program, status);
  if (argc > 1 && argv[1][0] != '-') check_command(program, argv[1]);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    if (argc <= 1) std::fputs(program.help().c_str(), stderr);
    return argc <= 1 ? wrong_use : complain(error, wrong_use);
  }
  return status;
}

bool reader_has_left() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

// What was printed must have arrived: on a full disk half of it would look like all of it.
int printed_or_complaint(int status) {
  const bool flushed = std::fflush(stdout) == 0;
  const std::string reason = flushed ? "" : fmt::format(": {}", std::strerror(errno));
  if ((flushed && std::ferror(stdout) == 0) || reader_has_left()) return status;
  std::fputs(fmt::format("gradcts: standard output: cannot be written{}\n", reason).c_str(), stderr);
  return cannot_work;
}

int main_or_complaint(int argc, char** argv) {
  try {
    return printed_or_complaint(parse_and_run(argc, argv));
  } catch (const WrongUse& problem) {
    return complain(problem, wrong_use);
  } catch (const UnknownEngine& problem) {
    return complain(problem, wrong_use);
  } catch (const std::exception& problem) {
    return complain(problem, cannot_work);
  }
}

}  // namespace
}  // namespace gradcts

int main(int argc, char** argv) {
  if (gradcts::is_worker_call(argc, argv)) return gradcts::worker_main(argc, argv);
  if (gradcts::is_explore_worker_call(argc, argv)) return gradcts::explore_worker_main(argv);
  return gradcts::main_or_complaint(argc, argv);
}
