#include "conformance/explore/preload/test_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace gradcts::schedule {
namespace {

constexpr int report_descriptor = 9;

struct Pipe {
  int read_end = -1, write_end = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    read_end = ends[0];
    write_end = ends[1];
  }

  // Everything up to the end, which comes when the child has ended.
  std::string drain() {
    close(write_end);
    std::string text;
    char buffer[4096];
    for (ssize_t size; (size = read(read_end, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(size));
    }
    close(read_end);
    return text;
  }
};

[[noreturn]] void become(const std::string& command, const Pipe& output, const Pipe& report) {
  dup2(output.write_end, STDOUT_FILENO);
  dup2(report.write_end, report_descriptor);
  setenv("GRADCTS_SCHEDULE_FD", std::to_string(report_descriptor).c_str(), 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  alarm(60);  // a program that hangs has failed, and its test says so
  const std::string preloaded = "LD_PRELOAD=" GRADCTS_SCHEDULE_LIBRARY " exec " + command;
  execl("/bin/sh", "sh", "-c", preloaded.c_str(), nullptr);
  _exit(127);
}

void take_lines(const std::string& text, Outcome& outcome) {
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    Line parsed;
    std::string verdict;
    words >> parsed.seed >> verdict >> parsed.steps >> parsed.switches >> parsed.threads >>
        parsed.threads_outside >> parsed.mismatch_step >> parsed.hash >> parsed.schedule;
    parsed.right = verdict == "right";
    if (words) outcome.lines.push_back(parsed);
    outcome.last_line = line;
  }
}

}  // namespace

Outcome run_preloaded(const std::string& command) {
  Pipe output, report;
  const pid_t child = fork();
  if (child == 0) become(command, output, report);
  Outcome outcome;
  take_lines(output.drain(), outcome);
  outcome.report = report.drain();
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string field(const std::string& report, const std::string& name) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ": ")) return line.substr(name.size() + 2);
  }
  return "";
}

}  // namespace gradcts::schedule
