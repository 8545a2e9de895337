// What the reducer costs: two processes train one model over Gloo on the loopback interface, with
// the reference engine's reducer and with libtorch's where it was found, in turn.
//
//   gradcts_reducer_benchmark ROUNDS
//
// Prints what ci/bench makes a table of: for each round, model and contestant the median of its
// steps' times from the last gradient to the return, and the bytes copied for each element.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reference_engine/benchmark/reducers.h"

namespace gradcts::reference::benchmark {
namespace {

constexpr int steps_a_round = 15;

struct NamedModel {
  std::string name;
  ModelShape shape;
};

const std::vector<NamedModel>& models() {
  static const std::vector<NamedModel> all = {
      {"reduce_100x1000", {100, 1'000}},    // 0.4 MB, one bucket
      {"reduce_50x20000", {50, 20'000}},    // 4 MB, two buckets
      {"reduce_20x500000", {20, 500'000}},  // 40 MB, three buckets
  };
  return all;
}

struct Contestant {
  std::string name;
  std::unique_ptr<Trainer> (*make)(const ModelShape&, int, const std::string&, bool);
  bool as_views;
};

const std::vector<Contestant>& contestants() {
  static const std::vector<Contestant> all = {
      {"reference", make_reference_trainer, false},
      {"libtorch", make_libtorch_trainer, false},
      {"reference_views", make_reference_trainer, true},
      {"libtorch_views", make_libtorch_trainer, true},
  };
  return all;
}

struct Entrant {
  std::string name;
  ModelShape shape;
  std::unique_ptr<Trainer> trainer;
  double bytes_an_element;
};

// With what every step must give: both ranks have ones.
std::vector<Entrant> make_entrants(int rank, const std::string& folder) {
  std::vector<Entrant> entrants;
  for (const NamedModel& model : models()) {
    for (const Contestant& contestant : contestants()) {
      const std::string name = model.name + "/" + contestant.name;
      auto trainer = contestant.make(model.shape, rank, folder + "/" + name, contestant.as_views);
      if (!trainer) continue;
      trainer->step();  // from now on there are gradients to add to
      const std::int64_t bytes = trainer->bytes_copied_in_a_step();
      if (trainer->average() != 2) throw std::runtime_error(name + " gives a wrong average");
      entrants.push_back(
          {name, model.shape, std::move(trainer),
           static_cast<double>(bytes) / static_cast<double>(model.shape.elements())});
    }
  }
  return entrants;
}

double median_of_steps(Trainer& trainer) {
  std::vector<double> times;
  for (int i = 0; i < steps_a_round; ++i) {
    times.push_back(static_cast<double>(trainer.step().count()));
  }
  const auto middle = times.begin() + steps_a_round / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

nlohmann::json run_rank(int rank, int rounds, const std::string& folder) {
  nlohmann::json records = nlohmann::json::array();
  const std::vector<Entrant> entrants = make_entrants(rank, folder);
  for (int round = 0; round < rounds; ++round) {
    for (const Entrant& entrant : entrants) {
      const double time = median_of_steps(*entrant.trainer);
      records.push_back({{"name", entrant.name},
                         {"cpu_time", time},
                         {"ns_to_return", time},
                         {"bytes_an_element", entrant.bytes_an_element}});
    }
  }
  return {{"benchmarks", records}};
}

// Rank 1 is a child of this process, which is rank 0.
int run(int rounds) {
  std::string folder = (std::filesystem::temp_directory_path() / "gradcts-reduce-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw std::runtime_error("no folder for the ranks to meet in");
  const pid_t other = fork();
  if (other < 0) throw std::runtime_error("no process for the second rank");
  if (other == 0) {
    run_rank(1, rounds, folder);
    std::_Exit(0);
  }
  const nlohmann::json results = run_rank(0, rounds, folder);
  int status = 0;
  waitpid(other, &status, 0);
  std::filesystem::remove_all(folder);
  if (status != 0) throw std::runtime_error("the second rank failed");
  std::printf("%s\n", results.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace gradcts::reference::benchmark

int main(int count, char** arguments) {
  const int rounds = count == 2 ? std::atoi(arguments[1]) : 0;
  if (rounds < 1) {
    std::fprintf(stderr, "gradcts_reducer_benchmark: takes the number of rounds, at least 1\n");
    return 2;
  }
  try {
    return gradcts::reference::benchmark::run(rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gradcts_reducer_benchmark: %s\n", error.what());
    return 1;
  }
}
