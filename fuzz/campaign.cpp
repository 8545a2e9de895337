#include "fuzz/campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "conformance/runner/patience.h"
#include "conformance/scenario/json.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"

namespace gradcts::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// In memory that parent and worker share: the case that was begun last, plus 1; 0: none yet.
struct Beacon {
  std::atomic<std::uint64_t> latest{0};
};

std::string group_of_known(const std::string& name) {
  return std::string(known_prefix).append(name);
}

// ------------------------------------------------------------------------------------------------
// In the worker

Finding compare(const Finding& own, const Finding& other) {
  if (own.kind == Finding::Kind::not_judged || own.kind == Finding::Kind::unsupported) return own;
  if (other.kind == Finding::Kind::not_judged || other.kind == Finding::Kind::unsupported)
    return other;
  if (own.clause == other.clause) return {};
  const auto name = [](const Finding& finding) {
    return finding.clause.empty() ? std::string("pass") : finding.clause;
  };
  const std::string& detail = own.clause.empty() ? other.detail : own.detail;
  return {Finding::Kind::fail, fmt::format("{} against {}", name(own), name(other)), detail, {}};
}

class Worker {
 public:
  Worker(const CampaignOptions& options, Beacon& beacon)
      : options_(options), beacon_(beacon), engine_(open_engine(options.engine)) {
    if (!options.against.empty()) against_ = open_engine(options.against);
  }

  ChunkResult run(std::uint64_t chunk, const std::vector<std::uint64_t>& skip) {
    ChunkResult result;
    result.chunk = chunk;
    const std::uint64_t first = chunk * chunk_size;
    const std::uint64_t end =
        std::min(first + chunk_size, options_.cases.value_or(~std::uint64_t{0}));
    for (std::uint64_t number = first; number < end; ++number) {
      if (std::find(skip.begin(), skip.end(), number) == skip.end()) run_case(number, result);
    }
    return result;
  }

 private:
  void run_case(std::uint64_t number, ChunkResult& result) {
    beacon_.latest = number + 1;
    const Scenario scenario = options_.scenario_of(number);
    const Finding finding = judge(scenario);
    switch (finding.kind) {
      case Finding::Kind::pass:
        ++result.passed;
        break;
      case Finding::Kind::unsupported:
        ++result.unsupported;
        break;
      case Finding::Kind::not_judged:
        ++result.not_judged;
        ++result.reasons[finding.detail];
        break;
      case Finding::Kind::fail:
        result.failures.push_back({number, finding.clause, finding.detail, size_of(scenario)});
    }
  }

  // Whatever escapes from an engine or the oracle is a failure of this case alone.
  Finding judge(const Scenario& scenario) {
    try {
      const std::string known = left_out_as(options_.known, scenario);
      if (!known.empty()) {
        return {Finding::Kind::not_judged, "", fmt::format("not run: {}", known), {}};
      }
      const Finding finding = engine_->run(scenario);
      return against_ ? compare(finding, against_->run(scenario)) : recognised(finding, scenario);
    } catch (const std::exception& error) {
      return {Finding::Kind::fail, "error", error.what(), {}};
    }
  }

  Finding recognised(Finding finding, const Scenario& scenario) {
    if (finding.kind != Finding::Kind::fail || options_.known.empty()) return finding;
    const Expectation expectation = expect(scenario, engine_->dialect());
    const std::string name =
        known_as(options_.known, finding.clause, finding.texts, scenario, &expectation);
    if (!name.empty()) finding.clause = group_of_known(name);
    return finding;
  }

  const CampaignOptions& options_;
  Beacon& beacon_;
  std::unique_ptr<Engine> engine_, against_;
};

Json to_json(const ChunkResult& result) {
  Json failures = Json::array();
  for (const FailedCase& failed : result.failures) {
    failures.push_back({failed.number, failed.clause, failed.detail, failed.size});
  }
  return {{"chunk", result.chunk},
          {"passed", result.passed},
          {"unsupported", result.unsupported},
          {"not_judged", result.not_judged},
          {"failures", std::move(failures)},
          {"reasons", result.reasons}};
}

ChunkResult from_json(const Json& json) {
  ChunkResult result;
  result.chunk = json["chunk"];
  result.passed = json["passed"];
  result.unsupported = json["unsupported"];
  result.not_judged = json["not_judged"];
  for (const Json& failed : json["failures"]) {
    result.failures.push_back({failed[0], failed[1], failed[2], failed[3]});
  }
  result.reasons = json["reasons"].get<std::map<std::string, std::uint64_t>>();
  return result;
}

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) _exit(0);  // the parent is gone
    done += static_cast<std::size_t>(wrote);
  }
}

// Reads one line; empty at the end of the pipe.
std::string read_line(int file) {
  std::string line;
  char c = 0;
  while (true) {
    const ssize_t got = read(file, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    if (c == '\n') return line;
    line += c;
  }
}

// Requests are {"chunk", "skip"}, answers a ChunkResult, or {"problem"} when the engine cannot
// work.
[[noreturn]] void worker_main(const CampaignOptions& options, Beacon& beacon, int requests,
                              int answers) {
  std::signal(SIGINT, SIG_IGN);  // the parent decides
  try {
    Worker worker(options, beacon);
    for (std::string line = read_line(requests); !line.empty(); line = read_line(requests)) {
      const Json request = Json::parse(line);
      const ChunkResult result =
          worker.run(request["chunk"], request["skip"].get<std::vector<std::uint64_t>>());
      const std::string answer =
          to_json(result).dump(-1, ' ', true, Json::error_handler_t::replace);
      write_all(answers, answer + "\n");
    }
  } catch (const std::exception& problem) {
    write_all(answers, Json{{"problem", problem.what()}}.dump() + "\n");
  }
  _exit(0);
}

// ------------------------------------------------------------------------------------------------
// In the parent

// A worker process and the chunk that it runs.
class Process {
 public:
  Process(const CampaignOptions& options, int index) : options_(options), index_(index) {
    void* shared =
        mmap(nullptr, sizeof(Beacon), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::runtime_error("no memory to share with a worker");
    beacon_ = new (shared) Beacon;
  }
  ~Process() {
    end();
    munmap(beacon_, sizeof(Beacon));
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool is_idle() const { return !busy_; }
  int answers() const { return answers_; }

  void give(std::uint64_t chunk) {
    busy_ = true;
    chunk_ = chunk;
    lost_.clear();
    send();
  }

  // What can be read. A result when the chunk is done.
  std::optional<ChunkResult> take() {
    char bytes[65536];
    const ssize_t got = read(answers_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
    if (got <= 0) return lose_case("crash");
    inbox_.append(bytes, static_cast<std::size_t>(got));
    if (inbox_.back() != '\n') return std::nullopt;
    const Json answer = Json::parse(std::exchange(inbox_, ""));
    if (answer.contains("problem")) throw std::runtime_error(answer["problem"]);
    return finish(from_json(answer));
  }

  // Called now and then: a worker whose case has not changed for too long is ended.
  std::optional<ChunkResult> look_at_clock() {
    const std::uint64_t latest = beacon_->latest;
    if (!busy_ || latest != seen_ || latest == 0) {
      seen_ = latest;
      patience_.start(process_, options_.timeout);
      return std::nullopt;
    }
    if (patience_.left_ms() > 0) return std::nullopt;
    return lose_case("hang");
  }

  void end() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    reap();
  }

 private:
  void start() {
    int requests[2], answers[2];
    if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
      throw std::runtime_error("cannot make a pipe");
    }
    beacon_->latest = 0;
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("cannot fork a worker");
    if (process_ == 0) {
      close(requests[1]);
      close(answers[0]);
      redirect();
      worker_main(options_, *beacon_, requests[0], answers[1]);
    }
    close(requests[0]);
    close(answers[1]);
    requests_ = requests[1];
    answers_ = answers[0];
    inbox_.clear();
    seen_ = 0;
    patience_.start(process_, options_.timeout);
  }

  // What the engine prints goes to a file, which begins anew with each worker.
  void redirect() const {
    const std::string file = fmt::format("{}/worker-{}.log", options_.folder, index_);
    const int log = open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (log < 0) return;
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
  }

  void send() {
    if (process_ < 0) start();
    std::vector<std::uint64_t> skip;
    for (const FailedCase& failed : lost_) skip.push_back(failed.number);
    const std::string line = Json{{"chunk", chunk_}, {"skip", skip}}.dump() + "\n";
    const ssize_t wrote = write(requests_, line.data(), line.size());
    static_cast<void>(wrote);  // a worker that is gone shows when its answer is read
    seen_ = 0;
    patience_.start(process_, options_.timeout);
  }

  // The worker died, or is made to. That is a failure of the case that was begun last, also when it
  // had ended: threads of the engine may live on and die later.
  std::optional<ChunkResult> lose_case(const char* how) {
    const std::uint64_t latest = beacon_->latest;
    if (std::string_view(how) == "hang") kill(process_, SIGKILL);
    const int status = reap();
    if (latest == 0)
      throw std::runtime_error(
          fmt::format("a worker ended by itself, see {}/worker-{}.log", options_.folder, index_));
    const std::string detail = std::string_view(how) == "hang"
                                   ? fmt::format("no end after {} ms", options_.timeout.count())
                               : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                     : fmt::format("exit {}", WEXITSTATUS(status));
    const std::uint64_t number = latest - 1;
    const Scenario scenario = options_.scenario_of(number);
    const std::string known = known_as(options_.known, how, {detail}, scenario, nullptr);
    const std::string clause = known.empty() ? how : group_of_known(known);
    lost_.push_back({number, clause, detail, size_of(scenario)});
    send();
    return std::nullopt;
  }

  ChunkResult finish(ChunkResult result) {
    busy_ = false;
    result.failures.insert(result.failures.end(), lost_.begin(), lost_.end());
    return result;
  }

  int reap() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    close(requests_);
    close(answers_);
    process_ = -1;
    return status;
  }

  const CampaignOptions& options_;
  const int index_;
  Beacon* beacon_ = nullptr;
  pid_t process_ = -1;
  int requests_ = -1, answers_ = -1;
  std::string inbox_;
  bool busy_ = false;
  std::uint64_t chunk_ = 0;
  std::vector<FailedCase> lost_;  // cases of the chunk that ended a worker
  std::uint64_t seen_ = 0;
  Patience patience_;  // with the case that is seen
};

class Campaign {
 public:
  Campaign(const CampaignOptions& options, Store& store,
           const std::function<void(const Progress&)>& on_progress)
      : options_(options), store_(store), on_progress_(on_progress), next_(options.shard - 1) {
    for (int i = 0; i < options.jobs; ++i) {
      workers_.push_back(std::make_unique<Process>(options_, i));
    }
  }

  Progress run() {
    while (hand_out() > 0) {
      wait();
      for (const auto& worker : workers_) {
        if (!worker->is_idle()) note(worker->look_at_clock());
      }
      progress_.seconds = seconds();
      on_progress_(progress_);
      if (is_stopped()) break;
    }
    progress_.seconds = seconds();
    return progress_;
  }

 private:
  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_over(std::uint64_t chunk) const {
    if (is_stopped()) return true;
    if (options_.cases && chunk * chunk_size >= *options_.cases) return true;
    return options_.time && Clock::now() - start_ >= *options_.time;
  }

  // Gives idle workers their next chunk; how many are busy then.
  std::size_t hand_out() {
    std::size_t busy = 0;
    for (const auto& worker : workers_) {
      if (worker->is_idle()) {
        while (!is_over(next_) && store_.has(next_)) next_ += options_.shards;
        if (!is_over(next_)) {
          worker->give(next_);
          next_ += options_.shards;
        }
      }
      busy += worker->is_idle() ? 0 : 1;
    }
    return busy;
  }

  void wait() {
    std::vector<pollfd> files;
    std::vector<Process*> owners;
    for (const auto& worker : workers_) {
      if (worker->is_idle()) continue;
      files.push_back({worker->answers(), POLLIN, 0});
      owners.push_back(worker.get());
    }
    constexpr int look_every = 200;  // milliseconds, at the clock and the signal
    if (poll(files.data(), files.size(), look_every) <= 0) return;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) note(owners[i]->take());
    }
  }

  void note(const std::optional<ChunkResult>& result) {
    if (!result) return;
    store_.add(*result);
    ++progress_.chunks;
    progress_.failures += result->failures.size();
    progress_.cases +=
        result->passed + result->unsupported + result->not_judged + result->failures.size();
  }

  const CampaignOptions& options_;
  Store& store_;
  const std::function<void(const Progress&)>& on_progress_;
  const Clock::time_point start_ = Clock::now();
  std::uint64_t next_;
  std::vector<std::unique_ptr<Process>> workers_;
  Progress progress_;
};

}  // namespace

Progress run_campaign(const CampaignOptions& options, Store& store,
                      const std::function<void(const Progress&)>& on_progress) {
  std::signal(SIGPIPE, SIG_IGN);
  return Campaign(options, store, on_progress).run();
}

}  // namespace gradcts::fuzz
