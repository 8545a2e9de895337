// A worker as its runner sees it: a process that runs one scenario after another on one engine.
//
// One thread uses a worker. Every wait has a deadline; nothing here sleeps or polls for time to
// pass. Whatever the engine does, a request ends in exactly one of the answers below, and a worker
// that died never looks like an empty one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "conformance/adapters/description.h"
#include "conformance/runner/patience.h"
#include "conformance/scenario/json.h"

namespace gradcts {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int file) : file_(file) {}
  FileDescriptor(FileDescriptor&& other) noexcept : file_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  int release();
  void reset();

 private:
  int file_ = -1;
};

// A new folder for temporary files, which goes with the object, whatever is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct WorkerOptions {
  std::string engine_path;
  std::chrono::milliseconds timeout{10000};  // for one request (Note [A busy machine is no hang])
  std::string dialect;                       // to judge by; empty: the one that the engine declares
  std::string program = "/proc/self/exe";    // that runs worker_main for "worker"
};

struct WorkerAnswer {
  enum class Kind {
    outcome,  // `content` is the engine's outcome, not yet read
    failure,  // the adapter could not run the request
    crash,    // the worker died; stacks and the end of its output are in `text`
    hang,     // no answer in time; likewise, and the worker was ended
    garbage,  // no JSON, another request's number, no line end: the worker was ended
  };
  Kind kind = Kind::failure;
  Json content;
  std::string text;  // first line: what happened; details on lines of their own
};

class WorkerProcess {
 public:
  // Starts a worker, loads the engine and reads its description. Throws UnusableEngine
  // (adapter_library.h) with one clear line when the engine cannot work.
  explicit WorkerProcess(const WorkerOptions& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const Description& description() const { return description_; }

  // Sends a scenario, without waiting for anything; `about` names it in messages. The caller can do
  // other work before it takes the answer.
  void send(std::string_view scenario_json, std::string about);
  WorkerAnswer receive();

  pid_t process() const { return process_; }
  // Whether no scenario was sent to it yet.
  bool is_fresh() const { return fresh_; }
  // False once the process ended. A worker that ended may not be used again.
  bool alive();
  // Why it ended, as WorkerAnswer::text for a crash; for a worker that is not alive.
  std::string obituary();

  // Hangs up and waits for the worker to leave as a program leaves: empty when it did, else what
  // went wrong instead. The worker is gone in any case.
  std::string close();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Event { line, death, timeout, too_long };

  void start(const WorkerOptions& options);
  void handshake();
  Event wait_for_line();
  void pump(int timeout_ms);
  void read_channel();
  bool write_channel();
  WorkerAnswer interpret(Event event);
  WorkerAnswer end_after_hang();
  void collect_requested_stacks();
  void drain();
  void kill_and_reap();
  void reap();
  std::string how_it_ended() const;
  std::string details() const;

  WorkerOptions options_;
  TemporaryFolder temporary_;  // the worker's TMPDIR: a killed one cleans up nothing
  Description description_;
  pid_t process_ = -1;
  bool reaped_ = false;
  int wait_status_ = 0;
  FileDescriptor channel_, output_, report_, death_;
  std::string inbox_, outbox_;    // of the channel
  std::string line_;              // the last line taken
  std::string output_tail_;       // the end of what the engine printed
  std::string threads_;           // when it hung: their names and states
  std::string report_text_;       // stacks
  std::uint64_t number_ = 0;      // of the request in flight
  std::string about_, previous_;  // the request in flight, the one before
  std::string doing_;             // what the worker should be doing: "while it ran root/one"
  bool fresh_ = true;
  Patience patience_;  // with what is in flight
};

}  // namespace gradcts
