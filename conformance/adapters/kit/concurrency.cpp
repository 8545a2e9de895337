#include "conformance/adapters/kit/concurrency.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace gradcts::kit {

void run_threads(const std::vector<std::function<void()>>& functions) {
  std::vector<Thread> threads;
  threads.reserve(functions.size());
  for (const auto& function : functions) threads.emplace_back(function);
}

void Barrier::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  const std::int64_t meeting = meetings_;
  if (++here_ < parties_) {
    all_here_.wait(lock, [&] { return meetings_ != meeting; });
    return;
  }
  here_ = 0;
  ++meetings_;
  all_here_.notify_all();
}

MeetingPoints::MeetingPoints(const Scenario& scenario) : locks_(scenario.locks.size()) {
  for (const auto& barrier : scenario.barriers) barriers_.emplace_back(barrier.parties);
}

// ---- Children ----

namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size == 0 || (size < 0 && errno != EINTR)) return text;
    if (size > 0) text.append(block.data(), static_cast<std::size_t>(size));
  }
}

// A child that hangs must not outlive a parent that was killed for waiting too long.
[[noreturn]] void be_child(int reply, const std::function<std::string()>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    write_all(reply, body());
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

void check_end_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("the child died of signal " + std::to_string(WTERMSIG(status)) + " (" +
                             ::strsignal(WTERMSIG(status)) + ")");
  }
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("the child ended without an answer");
}

}  // namespace

std::string run_in_child(const std::function<std::string()>& body) {
  std::array<int, 2> pipe;
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe for a child");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    be_child(pipe[1], body);
  }
  ::close(pipe[1]);
  const std::string text = child < 0 ? std::string() : read_all(pipe[0]);
  ::close(pipe[0]);
  if (child < 0) throw std::runtime_error("no child process could be made");
  check_end_of(child);
  return text;
}

bool all_others_sleep() {
  std::error_code gone;  // a thread that ends meanwhile
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file(task.path() / "stat");
    std::string text;
    if (!std::getline(file, text)) continue;
    const auto name_end = text.rfind(')');  // "17 (name) S ..."
    if (name_end == std::string::npos || text.compare(name_end, 3, ") S") != 0) return false;
  }
  return !gone;
}

}  // namespace gradcts::kit
