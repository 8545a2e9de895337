#include "conformance/runner/worker_main.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/runner/adapter_library.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/stack_reporter.h"
#include "conformance/runner/wire.h"

namespace gradcts {
namespace {

// Lines from and to the runner. A child that an engine forks must not keep the channel after exec.
class Channel {
 public:
  explicit Channel(int file) : file_(file) { fcntl(file, F_SETFD, FD_CLOEXEC); }

  // The next line without its end; nothing when the runner hung up.
  std::optional<std::string> read_line() {
    while (true) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) return take(end);
      searched_ = buffer_.size();
      char part[65536];
      const ssize_t size = read(file_, part, sizeof part);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return std::nullopt;
      buffer_.append(part, static_cast<std::size_t>(size));
    }
  }

  bool write_line(std::string_view line) {
    while (!line.empty()) {
      const ssize_t size = send(file_, line.data(), line.size(), MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return false;
      line.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }

 private:
  std::string take(std::size_t end) {
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    searched_ = 0;
    return line;
  }

  int file_;
  std::string buffer_;
  std::size_t searched_ = 0;
};

// A worker never outlives its runner, even when it hangs, and leaves no core files behind.
void tie_to_runner(pid_t runner) {
  prctl(PR_SET_NAME, "gradcts worker");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != runner) _exit(0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// Replaces this process by the program, with the channel as its standard input and output. Returns
// only when that fails, with the reason in one line.
std::string become(const std::string& program, int channel) {
  dup2(channel, STDIN_FILENO);
  dup2(channel, STDOUT_FILENO);
  char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  execv(program.c_str(), arguments);
  std::string reason = fmt::format("engine does not start: {}: {}", program, std::strerror(errno));
  if (errno == ENOEXEC || errno == ENOENT) {
    reason += " (a script begins with '#!' and the path of its interpreter)";
  }
  return reason;
}

class Worker {
 public:
  // `trouble`: why there can be no engine; empty when there can.
  Worker(std::string engine, int report_file, std::string trouble)
      : engine_(std::move(engine)), report_(report_file), trouble_(std::move(trouble)) {}

  std::string answer(const wire::Request& request) {
    if (request.kind == wire::Request::Kind::hello) return hello(request);
    if (!library_) return wire::failure_answer(request.number, "a request before the handshake");
    const AdapterLibrary::Reply reply = library_->run(request.scenario);
    return reply.ok ? wire::outcome_answer(request.number, reply.text)
                    : wire::failure_answer(request.number, reply.text);
  }

 private:
  std::string hello(const wire::Request& request) {
    if (request.protocol != wire::protocol) {
      return wire::hello_failure(request.number, "another protocol");
    }
    if (!trouble_.empty()) return wire::hello_failure(request.number, trouble_);
    try {
      library_ = std::make_unique<AdapterLibrary>(engine_);
    } catch (const UnusableEngine& problem) {
      return wire::hello_failure(request.number, problem.what());
    }
    install_stack_reporter(report_);
    const AdapterLibrary::Reply reply = library_->describe();
    return reply.ok ? wire::hello_answer(request.number, reply.text)
                    : wire::hello_failure(request.number, reply.text);
  }

  std::string engine_;
  int report_;
  std::string trouble_;
  std::unique_ptr<AdapterLibrary> library_;
};

}  // namespace

bool is_worker_call(int argc, char** argv) {
  return argc == 6 && std::string_view(argv[1]) == "worker";
}

int worker_main(int, char** argv) {
  const int channel_file = std::atoi(argv[3]);
  Channel channel(channel_file);
  const int report_file = std::atoi(argv[4]);
  fcntl(report_file, F_SETFD, FD_CLOEXEC);
  tie_to_runner(static_cast<pid_t>(std::atoi(argv[5])));
  const std::string engine = argv[2];
  const std::string trouble = is_program(engine) ? become(engine, channel_file) : std::string();
  install_stack_reporter(report_file);
  Worker worker(engine, report_file, trouble);
  while (const auto line = channel.read_line()) {
    const auto request = wire::read_request(*line);
    if (!request) return 2;  // the runner reports a worker that left
    if (!channel.write_line(worker.answer(*request))) return 0;
  }
  return 0;
}

}  // namespace gradcts
