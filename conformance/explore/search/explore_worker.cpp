#include "conformance/explore/search/explore_worker.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "conformance/explore/search/controlled_engine.h"
#include "conformance/explore/search/explore_request.h"
#include "conformance/explore/search/search.h"
#include "conformance/runner/judge.h"
#include "conformance/runner/stack_reporter.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> explore_stop_asked{false};

void ask_exploration_to_stop(int) {
  explore_stop_asked = true;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) _exit(0);  // nobody listens any more
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

// One thread runs at a time: on one core, handing over is cheapest.
void stay_on_one_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(std::max(sched_getcpu(), 0)), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

class Worker {
 public:
  Worker(ExploreRequest request, int answers, char* taking)
      : request_(std::move(request)),
        scenario_text_(request_.scenario.dump()),
        scenario_(read_scenario(request_.scenario)),
        engine_(request_.engine),
        expectation_(expect_safely(scenario_, engine_.description().make_dialect())),
        answers_(answers),
        taking_(taking) {}

  // An exception of it is one clear line.
  void run() {
    warm_up();
    began_ = Clock::now();
    if (request_.strategy == "exhaustive") {
      search();
    } else if (request_.strategy == "replay") {
      take(replay_of(request_.schedule), "--schedule '" + request_.schedule + "'");
    } else {
      sample();
    }
    ExploreAnswer answer;
    answer.kind = ExploreAnswer::Kind::ended;
    write(answer);
  }

  [[noreturn]] void fail(ExploreAnswer answer) {
    answer.kind = ExploreAnswer::Kind::failed;
    write(answer);
    _exit(0);
  }

 private:
  gradcts_schedule_options options() {
    gradcts_schedule_options options = {};
    options.version = GRADCTS_SCHEDULE_VERSION;
    options.step_bound = request_.step_bound;
    options.on_report = [](const gradcts_schedule_result* result, void* worker) {
      static_cast<Worker*>(worker)->could_not_end(*result);
    };
    options.context = this;
    return options;
  }

  gradcts_schedule_options replay_of(const std::string& schedule) {
    gradcts_schedule_options replay = options();
    replay.strategy = GRADCTS_SCHEDULE_REPLAY;
    replay.schedule = schedule.c_str();
    return replay;
  }

  // The first schedule of a process also makes what is made once in it.
  void warm_up() {
    static const std::string nothing;
    for (int i = 0; i < 2; ++i) take(replay_of(nothing), "the first schedule of a process");
    counts_ = {};
    meanings_.clear();
  }

  void search() {
    const SearchBounds bounds{request_.bound, request_.spurious};
    search_ =
        request_.frontier.empty() ? Search(bounds) : Search::resume(bounds, request_.frontier);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {  // to know what is shared before it begins
      gradcts_schedule_options random = options();
      random.seed = seed;
      search_->learn_shared(take(random, fmt::format("--strategy random --seed {}", seed)));
    }
    counts_ = {};
    meanings_.clear();
    while (!is_enough()) {
      const std::optional<std::string> schedule = search_->next();
      if (!schedule) return;
      search_->took(take(replay_of(*schedule), "--schedule '" + *schedule + "'"));
    }
  }

  void sample() {
    const std::uint64_t steps = last_steps_;
    for (std::uint64_t i = 0; !is_enough(); ++i) {
      gradcts_schedule_options sample = options();
      sample.seed = request_.seed + i;
      sample.depth = request_.bound;
      sample.expected_steps = std::max<std::uint64_t>(std::max(steps, counts_.most_steps), 1);
      sample.spurious_limit = request_.spurious;
      sample.spurious_per_mille = request_.spurious > 0 ? 20 : 0;
      sample.strategy = request_.strategy == "pct"   ? GRADCTS_SCHEDULE_PCT
                        : request_.strategy == "pos" ? GRADCTS_SCHEDULE_POS
                                                     : GRADCTS_SCHEDULE_RANDOM;
      take(sample,
           fmt::format("--strategy {} --seed {} --schedules 1", request_.strategy, sample.seed));
    }
  }

  bool is_enough() const {
    return explore_stop_asked ||
           (request_.schedules != 0 && counts_.schedules >= request_.schedules) ||
           (request_.seconds != 0 && seconds() >= request_.seconds);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  // Takes one, judges what came out, and fails if that is wrong.
  const gradcts_schedule_result& take(const gradcts_schedule_options& options,
                                      const std::string& how) {
    const std::size_t size = std::min<std::size_t>(how.size(), taking_page_size - 1);
    std::memcpy(taking_, how.data(), size);
    taking_[size] = '\0';
    result_ = {};
    const AdapterLibrary::Reply reply = engine_.take(options, scenario_text_, result_);
    count();
    if (result_.meaning == 0 || ++meanings_[result_.meaning] == 1) judge_reply(reply);
    show_progress();
    return result_;
  }

  void count() {
    ++counts_.schedules;
    counts_.steps += result_.steps;
    counts_.most_steps = std::max(counts_.most_steps, result_.steps);
    counts_.most_threads = std::max<std::uint64_t>(counts_.most_threads, result_.threads);
    counts_.outside += result_.threads_outside > 0;
    last_steps_ = result_.steps;
  }

  // Schedules that mean the same have the same outcome, and of others most have one that is known.
  void judge_reply(const AdapterLibrary::Reply& reply) {
    if (reply.ok && judged_.contains(reply.text)) return;
    WorkerAnswer answer;
    answer.kind = reply.ok ? WorkerAnswer::Kind::outcome : WorkerAnswer::Kind::failure;
    if (reply.ok) {
      answer.content = parse_json(reply.text);
    } else {
      answer.text = reply.text;
    }
    const Judgement judgement = judge(scenario_, expectation_, answer);
    if (judgement.verdict.kind == VerdictKind::pass) return remember(reply.text);
    if (judgement.verdict.kind != VerdictKind::fail) {
      throw std::runtime_error(judgement.verdict.detail);
    }
    ExploreAnswer failure;
    failure.how = "outcome";
    failure.outcome = std::move(answer.content);
    describe_schedule(result_, failure);
    fail(std::move(failure));
  }

  // Outcomes are some kilobytes long, and where threads meet there may be very many.
  void remember(std::string outcome) {
    if (judged_.size() == 1000) judged_.clear();
    judged_.insert(std::move(outcome));
  }

  void could_not_end(const gradcts_schedule_result& result) {
    ExploreAnswer failure;
    failure.how = result.outcome == GRADCTS_SCHEDULE_DEADLOCK     ? "deadlock"
                  : result.outcome == GRADCTS_SCHEDULE_STEP_BOUND ? "step bound"
                                                                  : "stall";
    failure.text = result.report;
    describe_schedule(result, failure);
    ++counts_.schedules;
    fail(std::move(failure));
  }

  void describe_schedule(const gradcts_schedule_result& result, ExploreAnswer& answer) {
    answer.schedule = result.schedule;
    answer.steps = result.steps;
  }

  void show_progress() {
    const Clock::time_point now = Clock::now();
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    write({});
  }

  void write(ExploreAnswer answer) {
    answer.counts = counts_;
    answer.counts.seconds = seconds();
    if (answer.kind != ExploreAnswer::Kind::progress) {
      answer.counts.meanings = meanings_.size();
      for (const auto& [meaning, times] : meanings_) answer.counts.seen_once += times == 1;
    }
    if (search_) {
      const Search::Counts counts = search_->counts();
      answer.counts.states = counts.states;
      answer.counts.seen_before = counts.seen_before;
      answer.counts.beginnings = counts.beginnings;
      answer.counts.open = counts.open;
      answer.counts.complete_to = search_->complete_to();
      if (request_.keeps_frontier && answer.kind != ExploreAnswer::Kind::progress &&
          (counts.open > 0 || !answer.how.empty())) {
        answer.frontier = search_->frontier();
      }
    }
    write_all(answers_,
              write_answer(answer).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const ExploreRequest request_;
  const std::string scenario_text_;
  const Scenario scenario_;
  const ControlledEngine engine_;
  const Expectation expectation_;
  const int answers_;
  char* const taking_;
  gradcts_schedule_result result_ = {};
  ExploreCounts counts_;
  std::uint64_t last_steps_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> meanings_;  // how often each
  std::unordered_set<std::string> judged_;                     // outcomes that passed
  std::optional<Search> search_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
};

}  // namespace

bool is_explore_worker_call(int argc, char** argv) {
  return argc == 6 && std::string_view(argv[1]) == "explore-worker";
}

int explore_worker_main(char** argv) {
  const int request = std::atoi(argv[2]), answers = std::atoi(argv[3]);
  void* page =
      mmap(nullptr, taking_page_size, PROT_READ | PROT_WRITE, MAP_SHARED, std::atoi(argv[4]), 0);
  if (page == MAP_FAILED) return 3;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != static_cast<pid_t>(std::atoi(argv[5]))) return 3;
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  install_stack_reporter(STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, ask_exploration_to_stop);
  stay_on_one_core();
  try {
    Worker worker(read_request(parse_json(read_all(request))), answers, static_cast<char*>(page));
    worker.run();
  } catch (const std::exception& problem) {
    ExploreAnswer answer;
    answer.kind = ExploreAnswer::Kind::unusable;
    answer.text = problem.what();
    write_all(answers, write_answer(answer).dump() + "\n");
  }
  _exit(0);  // without the exit handlers of the engine
}

}  // namespace gradcts
