#include "conformance/runner/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/stack_reporter.h"
#include "conformance/runner/stack_text.h"
#include "conformance/runner/wire.h"

extern char** environ;

namespace gradcts {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t output_limit = 4096;
constexpr std::size_t report_limit = 256 * 1024;
constexpr std::size_t answer_limit = std::size_t{256} << 20;
constexpr auto start_limit = 60s;  // loading an engine and its description
constexpr auto stack_limit = 5s;   // for the stacks of a worker that hangs
constexpr auto close_limit = 20s;  // for an orderly end

// Numbers of requests are unique in a run and far from small numbers that an engine might make up.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{static_cast<std::uint64_t>(getpid()) * 1000003};
  return ++last;
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

void make_nonblocking(int file) {
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
}

struct Pair {
  FileDescriptor ours, theirs;
};

// Their end gets a number that no dup2 in the worker's start hits.
Pair make_pair(const int (&ends)[2]) {
  Pair pair{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  make_nonblocking(ends[0]);
  pair.theirs = FileDescriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
  if (!pair.theirs.is_open()) fail("no pipe for a worker");
  return pair;
}

Pair make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe for a worker");
  return make_pair(ends);
}

Pair make_channel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail("no channel for a worker");
  return make_pair(ends);
}

// Appends what can be read now, up to a few megabytes; false at the end of the file.
bool read_some(int file, std::string& text) {
  char part[65536];
  for (int round = 0; round < 64; ++round) {
    const ssize_t size = read(file, part, sizeof part);
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
    if (size == 0) return false;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN;
    if (static_cast<std::size_t>(size) < sizeof part) return true;
  }
  return true;
}

void keep_end(std::string& text, std::size_t limit) {
  if (text.size() > limit) text.erase(0, text.size() - limit);
}

// What the system knows of the threads of a process that does not answer: names and states.
std::string threads_of(pid_t process) {
  std::string text;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::string name, state;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("State:"))
        state = line.substr(std::min(line.find('\t') + 1, line.size()));
    }
    text += fmt::format("  thread {} \"{}\" {}\n", entry.path().filename().string(), name, state);
  }
  return text;
}

std::string quoted_output(const std::string& output) {
  std::string text = "  the engine printed, at the end:\n";
  std::size_t start = 0;
  while (start < output.size()) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    text += fmt::format("    | {}\n", output.substr(start, end - start));
    start = end + 1;
  }
  return text;
}

// The name of the program as stacks show it: a link to it would hide where its functions are.
std::string real_path(const std::string& program) {
  std::error_code failure;
  const auto path = std::filesystem::canonical(program, failure);
  return failure ? program : path.string();
}

// The environment of this process, with another folder for temporary files.
std::vector<std::string> environment_with(const std::string& temporary_folder) {
  const std::string name = "TMPDIR=";
  std::vector<std::string> all{name + temporary_folder};
  for (char** entry = environ; *entry; ++entry) {
    if (!std::string_view(*entry).starts_with(name)) all.emplace_back(*entry);
  }
  return all;
}

template <typename Strings>
std::vector<char*> pointers_to(Strings& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Spawns `program worker ENGINE CHANNEL REPORT RUNNER` in a process group of its own, with nothing
// to read, everything it prints in one pipe, and no open file beyond what it needs.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
  }
  ~Spawn() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  pid_t run(const WorkerOptions& options, const std::string& temporary_folder, int channel,
            int report, int output) {
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    posix_spawn_file_actions_adddup2(&actions_, output, 2);
    posix_spawn_file_actions_adddup2(&actions_, channel, channel_number);
    posix_spawn_file_actions_adddup2(&actions_, report, report_number);
    std::array<std::string, 6> words = {
        real_path(options.program),    "worker",
        options.engine_path,           std::to_string(channel_number),
        std::to_string(report_number), std::to_string(getpid())};
    std::vector<std::string> environment = environment_with(temporary_folder);
    pid_t process = -1;
    errno = posix_spawn(&process, options.program.c_str(), &actions_, &attributes_,
                        pointers_to(words).data(), pointers_to(environment).data());
    if (errno != 0) fail("a worker does not start");
    return process;
  }

 private:
  static constexpr int channel_number = 3;
  static constexpr int report_number = 4;

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

// ------------------------------------------------------------------------------------------------
// FileDescriptor

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    file_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  const int file = file_;
  file_ = -1;
  return file;
}

void FileDescriptor::reset() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

// ------------------------------------------------------------------------------------------------
// TemporaryFolder

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "gradcts-worker-XXXXXX").string()) {
  if (!mkdtemp(path_.data())) fail("no folder for a worker's temporary files");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code it_stays;
  std::filesystem::remove_all(path_, it_stays);
}

// ------------------------------------------------------------------------------------------------
// Start and end

WorkerProcess::WorkerProcess(const WorkerOptions& options) : options_(options) {
  start(options);
  try {
    handshake();
  } catch (...) {
    kill_and_reap();
    throw;
  }
}

WorkerProcess::~WorkerProcess() {
  kill_and_reap();
}

void WorkerProcess::start(const WorkerOptions& options) {
  Pair channel = make_channel(), output = make_pipe(), report = make_pipe();
  process_ = Spawn().run(options, temporary_.path(), channel.theirs.get(), report.theirs.get(),
                         output.theirs.get());
  channel_ = std::move(channel.ours);
  output_ = std::move(output.ours);
  report_ = std::move(report.ours);
  death_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
  if (!death_.is_open()) {
    kill_and_reap();
    fail("a worker cannot be watched");
  }
  fcntl(death_.get(), F_SETFD, FD_CLOEXEC);
}

void WorkerProcess::handshake() {
  number_ = next_number();
  doing_ = "while it loaded";
  outbox_ = wire::hello_request(number_);
  patience_.start(process_, start_limit);
  const Event event = wait_for_line();
  if (event != Event::line)
    throw UnusableEngine(fmt::format("{}: {}", options_.engine_path, interpret(event).text));
  try {
    wire::Answer answer = wire::read_hello_answer(line_, number_);
    if (!answer.failure.empty()) throw UnusableEngine(answer.failure);
    description_ = read_description(answer.content);
    if (!options_.dialect.empty()) description_.dialect = options_.dialect;
  } catch (const UnusableEngine&) {
    throw;
  } catch (const std::exception& problem) {
    throw UnusableEngine(
        fmt::format("{}: its description: {}", options_.engine_path, problem.what()));
  }
}

std::string WorkerProcess::close() {
  if (reaped_) return {};
  shutdown(channel_.get(), SHUT_RDWR);
  patience_.start(process_, close_limit);
  doing_ = "while it ended";
  while (alive() && patience_.left_ms() > 0) pump(patience_.left_ms());
  if (alive()) return end_after_hang().text;
  reap();
  const bool fine = WIFEXITED(wait_status_) && WEXITSTATUS(wait_status_) == 0;
  return fine ? std::string() : obituary();
}

void WorkerProcess::kill_and_reap() {
  if (process_ < 0 || reaped_) return;
  kill(-process_, SIGKILL);  // what the engine forked as well
  kill(process_, SIGKILL);
  reap();
}

void WorkerProcess::reap() {
  if (reaped_) return;
  while (waitpid(process_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  kill(-process_, SIGKILL);  // children that it left behind
  drain();
}

// What the worker wrote before it ended is still in the pipes.
void WorkerProcess::drain() {
  read_some(output_.get(), output_tail_);
  keep_end(output_tail_, output_limit);
  read_some(report_.get(), report_text_);
  report_text_.resize(std::min(report_text_.size(), report_limit));
}

bool WorkerProcess::alive() {
  if (reaped_) return false;
  pollfd death{death_.get(), POLLIN, 0};
  return poll(&death, 1, 0) == 0;
}

// ------------------------------------------------------------------------------------------------
// Requests

void WorkerProcess::send(std::string_view scenario_json, std::string about) {
  previous_ = std::exchange(about_, std::move(about));
  doing_ = fmt::format("while it ran {}", about_);
  fresh_ = false;
  number_ = next_number();
  output_tail_.clear();  // but not the inbox: a line that nobody asked for is a wrong answer
  outbox_ = wire::run_request(number_, scenario_json);
  patience_.start(process_, options_.timeout);
  write_channel();
}

WorkerAnswer WorkerProcess::receive() {
  return interpret(wait_for_line());
}

WorkerProcess::Event WorkerProcess::wait_for_line() {
  std::size_t searched = 0;
  for (bool last_look = false;;) {
    const std::size_t end = inbox_.find('\n', searched);
    if (end != std::string::npos) {
      line_ = inbox_.substr(0, end);
      inbox_.erase(0, end + 1);
      return Event::line;
    }
    if (last_look) return alive() ? Event::timeout : Event::death;
    searched = inbox_.size();
    if (inbox_.size() > answer_limit) return Event::too_long;
    pump(patience_.left_ms());
    // What arrived together with the end of the process, or of the time, still counts.
    last_look = !alive() || patience_.left_ms() == 0;
    if (last_look) read_channel();
  }
}

// Waits until something can be read or written or the process ended, and does that.
void WorkerProcess::pump(int timeout_ms) {
  const short wanted = outbox_.empty() ? POLLIN : POLLIN | POLLOUT;
  std::array<pollfd, 4> files = {{{channel_.get(), wanted, 0},
                                  {output_.get(), POLLIN, 0},
                                  {report_.get(), POLLIN, 0},
                                  {death_.get(), POLLIN, 0}}};
  const int ready = poll(files.data(), files.size(), timeout_ms);
  if (ready <= 0) return;
  if (files[0].revents & POLLOUT) write_channel();
  if (files[0].revents & ~POLLOUT) read_channel();
  if (files[1].revents && !read_some(output_.get(), output_tail_)) output_.reset();
  keep_end(output_tail_, output_limit);
  if (files[2].revents && !read_some(report_.get(), report_text_)) report_.reset();
}

// An engine that closes the channel is seen by its death or by the deadline.
void WorkerProcess::read_channel() {
  if (!read_some(channel_.get(), inbox_)) channel_.reset();
}

bool WorkerProcess::write_channel() {
  while (!outbox_.empty()) {
    const ssize_t size = ::send(channel_.get(), outbox_.data(), outbox_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size < 0) {
      outbox_.clear();  // nobody reads: its death tells the story
      return false;
    }
    outbox_.erase(0, static_cast<std::size_t>(size));
  }
  return true;
}

WorkerAnswer WorkerProcess::interpret(Event event) {
  using Kind = WorkerAnswer::Kind;
  if (event == Event::timeout) return end_after_hang();
  if (event == Event::death) return {Kind::crash, nullptr, obituary()};
  if (event == Event::too_long) {
    kill_and_reap();
    return {Kind::garbage, nullptr, fmt::format("an answer of more than {} bytes", answer_limit)};
  }
  try {
    wire::Answer answer = wire::read_run_answer(line_, number_);
    if (!answer.failure.empty()) return {Kind::failure, nullptr, answer.failure};
    return {Kind::outcome, std::move(answer.content), {}};
  } catch (const std::exception& problem) {
    kill_and_reap();  // whatever it sends next could be taken for an answer
    return {Kind::garbage, nullptr, problem.what()};
  }
}

// ------------------------------------------------------------------------------------------------
// When things go wrong

WorkerAnswer WorkerProcess::end_after_hang() {
  threads_ = threads_of(process_);
  collect_requested_stacks();
  kill_and_reap();
  return {WorkerAnswer::Kind::hang, nullptr,
          fmt::format("no answer within {:g} s {}\n{}",
                      std::chrono::duration<double>(patience_.limit()).count(), doing_, details())};
}

void WorkerProcess::collect_requested_stacks() {
  // A program has its own way: SIGQUIT, at which the runtimes of many languages print the stacks of
  // all threads and end; it ends whoever does not handle it.
  const bool program = is_program(options_.engine_path);
  kill(process_, program ? SIGQUIT : stack_request_signal());
  const auto deadline = Clock::now() + stack_limit;
  const auto told = [&] {
    return !program && (!report_.is_open() || report_text_.find("\nend\n") != std::string::npos);
  };
  while (!told() && alive() && left_ms(deadline) > 0) pump(left_ms(deadline));
}

std::string WorkerProcess::obituary() {
  reap();
  return fmt::format("{} {}\n{}", how_it_ended(), doing_, details());
}

std::string WorkerProcess::how_it_ended() const {
  if (WIFEXITED(wait_status_)) {
    return fmt::format("the engine ended its process with status {}", WEXITSTATUS(wait_status_));
  }
  const int signal = WTERMSIG(wait_status_);
  const StackReport report = read_stack_report(report_text_);
  std::string text = fmt::format("killed by signal {} ({})", signal, signal_name(signal));
  if (report.address && (signal == SIGSEGV || signal == SIGBUS)) {
    text += fmt::format(" at address {:#x}", *report.address);
  }
  if (signal == SIGKILL) text += ", perhaps for lack of memory,";
  return text;
}

std::string WorkerProcess::details() const {
  std::string text;
  if (!previous_.empty()) {
    text += fmt::format("  the request before was {}\n", previous_);
  }
  if (!report_text_.empty()) text += to_text(read_stack_report(report_text_));
  if (report_text_.empty()) {
    text += reaped_ && WIFEXITED(wait_status_) ? ""  // by itself: there was nothing to look at
            : is_program(options_.engine_path)
                ? "  stacks of a program: what it prints on SIGQUIT\n"
                : "  no stacks: the process did not tell any\n";
    text += threads_;
  }
  if (!output_tail_.empty()) text += quoted_output(output_tail_);
  return text;
}

}  // namespace gradcts
