#include "conformance/explore/search/explore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "conformance/explore/search/explore_worker.h"
#include "conformance/explore/search/shrink_schedule.h"
#include "conformance/runner/engine_locator.h"
#include "conformance/runner/worker_process.h"

extern char** environ;

namespace gradcts {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("no pipe for a process that explores");
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
  }
  FileDescriptor read, write;
};

// A page that shows what the other process is doing, whatever becomes of it.
class SharedPage {
 public:
  SharedPage() : file_(memfd_create("gradcts-taking", MFD_CLOEXEC)) {
    if (!file_.is_open() || ftruncate(file_.get(), taking_page_size) != 0) fail("no shared memory");
    void* page = mmap(nullptr, taking_page_size, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (page == MAP_FAILED) fail("no shared memory");
    text_ = static_cast<const char*>(page);
  }
  ~SharedPage() { munmap(const_cast<char*>(text_), taking_page_size); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  int file() const { return file_.get(); }
  std::string text() const { return {text_, strnlen(text_, taking_page_size)}; }

 private:
  FileDescriptor file_;
  const char* text_ = nullptr;
};

class Process {
 public:
  Process(const EngineToExplore& engine, const ExploreRequest& request) {
    // The child's ends keep their numbers and must survive exec.
    for (const int file : {request_.read.get(), answers_.write.get(), taking_.file()}) {
      fcntl(file, F_SETFD, 0);
    }
    start(engine);
    request_.read.reset();
    answers_.write.reset();
    errors_.write.reset();
    send(write_request(request).dump());
  }
  ~Process() {
    if (process_ > 0) end();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Exploration follow(const OnProgress& on_progress, std::chrono::milliseconds patience,
                     const std::atomic<bool>* stop) {
    Exploration exploration;
    bool silent = false;
    while (answers_.read.is_open()) {
      std::array<pollfd, 2> files{
          {{answers_.read.get(), POLLIN, 0}, {errors_.read.get(), POLLIN, 0}}};
      // From a terminal the signal reached the worker too; to hear it twice does no harm.
      if (stop && *stop) kill(process_, SIGINT);
      const int ready = poll(files.data(), files.size(), static_cast<int>(patience.count()));
      if (ready < 0 && errno == EINTR) continue;
      if ((silent = ready == 0)) break;
      if (files[1].revents != 0) read_into(errors_.read, said_);
      if (files[0].revents == 0) continue;
      read_into(answers_.read, lines_);
      take_lines(exploration, on_progress);
    }
    if (silent) kill(process_, SIGKILL);
    while (errors_.read.is_open()) read_into(errors_.read, said_);
    const int status = end();
    if (exploration.answer.kind == ExploreAnswer::Kind::progress) {
      exploration.taking = taking_.text();
      exploration.crash = silent ? "no schedule ended in time: a wait that is no step, or a long "
                                   "computation\n"
                                 : how_it_ended(status);
      exploration.crash += said_;
    }
    return exploration;
  }

 private:
  void start(const EngineToExplore& engine) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, errors_.write.get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors_.write.get(), STDOUT_FILENO);
    std::vector<std::string> words = {"gradcts",
                                      "explore-worker",
                                      std::to_string(request_.read.get()),
                                      std::to_string(answers_.write.get()),
                                      std::to_string(taking_.file()),
                                      std::to_string(getpid())};
    std::vector<std::string> settings;
    for (char** each = environ; *each != nullptr; ++each) settings.emplace_back(*each);
    if (!engine.preload.empty()) {
      settings.push_back("LD_PRELOAD=" + engine.preload);
      settings.push_back("OMP_NUM_THREADS=1");
    }
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> result;
      for (std::string& text : texts) result.push_back(text.data());
      result.push_back(nullptr);
      return result;
    };
    const int error = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr,
                                  pointers(words).data(), pointers(settings).data());
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    if (error != 0) fail("no process that explores");
  }

  void send(std::string_view text) {
    std::signal(SIGPIPE, SIG_IGN);
    while (!text.empty()) {
      const ssize_t size = write(request_.write.get(), text.data(), text.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;  // it died: how, is told by its end
      text.remove_prefix(static_cast<std::size_t>(size));
    }
    request_.write.reset();
  }

  static void read_into(FileDescriptor& file, std::string& text) {
    std::array<char, 65536> block;
    const ssize_t size = read(file.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) return;
    if (size <= 0) return file.reset();
    text.append(block.data(), static_cast<std::size_t>(size));
  }

  void take_lines(Exploration& exploration, const OnProgress& on_progress) {
    for (std::size_t end; (end = lines_.find('\n', looked_at_)) != std::string::npos;
         lines_.erase(0, end + 1)) {
      looked_at_ = 0;
      exploration.answer = read_answer(parse_json(lines_.substr(0, end)));
      if (exploration.answer.kind == ExploreAnswer::Kind::progress) {
        on_progress(exploration.answer.counts);
      }
    }
    looked_at_ = lines_.size();
  }

  int end() {
    int status = 0;
    answers_.read.reset();
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  static std::string how_it_ended(int status) {
    if (!WIFSIGNALED(status)) {
      return fmt::format("the process ended with status {} and no answer\n", WEXITSTATUS(status));
    }
    return fmt::format("the process died of signal {} ({})\n", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }

  Pipe request_, answers_, errors_;
  SharedPage taking_;
  pid_t process_ = -1;
  std::string lines_, said_;
  std::size_t looked_at_ = 0;  // of lines_: no end of a line there
};

}  // namespace

EngineToExplore find_engine_to_explore(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  if (name_or_path.find('/') != std::string::npos) {
    const std::string path = find_engine(name_or_path).path;
    if (fs::path(path).parent_path().filename() == "rebuilt") return {path, ""};
  }
  std::vector<std::string> rebuilt;
  std::string preload;
  for (const std::string& folder : engine_folders()) {
    rebuilt.push_back(folder + "/rebuilt");
    const std::string library = folder + "/preload/libgradcts-schedule.so";
    std::error_code ignored;
    if (preload.empty() && fs::exists(library, ignored)) preload = fs::canonical(library);
  }
  for (const EngineFile& engine : all_engines(rebuilt)) {
    if (engine.name == name_or_path) return {engine.path, ""};
  }
  const EngineFile engine = find_engine(name_or_path);
  if (preload.empty()) {
    throw UnknownEngine(
        fmt::format("engine {} was not rebuilt for controlled schedules, and there is no "
                    "libgradcts-schedule.so",
                    engine.name));
  }
  return {engine.path, preload};
}

Exploration explore(const EngineToExplore& engine, const ExploreRequest& request,
                    const OnProgress& on_progress, std::chrono::milliseconds patience,
                    const std::atomic<bool>* stop) {
  return Process(engine, request).follow(on_progress, patience, stop);
}

Exploration shrink_exploration(const EngineToExplore& engine, const ExploreRequest& request,
                               const Exploration& failure,
                               const std::function<bool(const Exploration&)>& fails_the_same) {
  Exploration best = failure;
  ExploreRequest replay = request;
  replay.strategy = "replay";
  std::optional<Exploration> last;
  const StillFails still_fails = [&](const std::string& schedule) -> std::optional<std::string> {
    replay.schedule = schedule;
    last = explore(
        engine, replay, [](const ExploreCounts&) {}, std::chrono::seconds(30));
    if (!last->failed() || !fails_the_same(*last)) return std::nullopt;
    if (switches_in(last->answer.schedule) < switches_in(best.answer.schedule)) best = *last;
    return last->answer.schedule;
  };
  shrink_schedule(failure.answer.schedule, still_fails);
  return best;
}

}  // namespace gradcts
