// What a pass costs a node: the reference engine, libtorch where it was found, and the floor, on
// the same graphs in one process. Prints google benchmark's lines, and then one table of the
// figures that the engine has to reach, with the value that was measured.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <map>
#include <thread>

#include "reference_engine/benchmark/graphs.h"
#include "reference_engine/benchmark/memory_meter.h"

namespace gradcts::reference::benchmark {
namespace {

using ::benchmark::State;

// ---- Results -----------------------------------------------------------------------------------

// The fastest repetition of each benchmark, in nanoseconds a run: noise only ever adds.
class Collector : public ::benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.iterations == 0) continue;
      const double time = run.real_accumulated_time / static_cast<double>(run.iterations) * 1e9;
      auto [found, is_new] = times_.emplace(run.run_name.function_name, time);
      if (!is_new && time < found->second) found->second = time;
    }
    ConsoleReporter::ReportRuns(runs);
  }

  double operator[](const std::string& name) const {
    const auto found = times_.find(name);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, double> times_;
};

void row(const char* what, double value, const char* unit, const char* relation, double target) {
  if (value == 0) {
    std::printf("%-58s %10s\n", what, "not run");
    return;
  }
  const bool holds = *relation == '<' ? value <= target : value >= target;
  std::printf("%-58s %9.2f%s  target %s %.2f%s  %s\n", what, value, unit, relation, target, unit,
              holds ? "" : "MISSED");
}

double ratio(double a, double b) {
  return a == 0 || b == 0 ? 0 : a / b;
}

// ---- Benchmarks --------------------------------------------------------------------------------

struct NamedShape {
  std::string name;
  std::function<GraphShape()> make;
  std::size_t nodes;
};

const std::vector<NamedShape>& shapes() {
  static const std::vector<NamedShape> all = {
      {"chain_10", [] { return chain(10); }, 10},
      {"chain_10000", [] { return chain(10'000); }, 10'000},
      {"chain_10000000", [] { return chain(10'000'000); }, 10'000'000},
      {"fan_10000", [] { return fan(10'000); }, 10'002},
      {"fan_1000000", [] { return fan(1'000'000); }, 1'000'002},
      {"layers_20x50", [] { return layers(20, 50); }, 1'001},
      {"ladder_1000", [] { return ladder(1'000); }, 1'000},
  };
  return all;
}

using MakeGraph = std::unique_ptr<Graph> (*)(const GraphShape&);

void add_backward(const NamedShape& shape, const char* engine, MakeGraph make_graph) {
  const auto run = [&shape, make_graph](State& state) {
    const auto graph = make_graph(shape.make());
    graph->backward();
    for (auto _ : state) graph->backward();
    state.counters["ns_a_node"] = ::benchmark::Counter(
        static_cast<double>(shape.nodes) * 1e-9,
        ::benchmark::Counter::kIsIterationInvariantRate | ::benchmark::Counter::kInvert);
  };
  ::benchmark::RegisterBenchmark((shape.name + "/" + engine).c_str(), run)->Repetitions(3);
}

void add_with_hooks(const char* engine, MakeGraph make_graph) {
  const auto run = [make_graph](State& state) {
    const auto graph = make_graph(chain(10'000));
    for (std::size_t i = 0; i < 10'000; i += 4) graph->add_hook(i);
    for (auto _ : state) graph->backward();
  };
  ::benchmark::RegisterBenchmark((std::string("hooks_10000/") + engine).c_str(), run)
      ->Repetitions(3);
}

void add_grad_near_root(const char* engine, MakeGraph make_graph) {
  const auto run = [make_graph](State& state) {
    const auto graph = make_graph(chain(100'000));
    for (auto _ : state) graph->grad(3);
  };
  ::benchmark::RegisterBenchmark((std::string("grad_near_root/") + engine).c_str(), run)
      ->Repetitions(3);
}

// Each caller runs a graph of its own.
void add_callers(const char* engine, MakeGraph make_graph, int callers) {
  const auto run = [make_graph, callers](State& state) {
    std::vector<std::unique_ptr<Graph>> graphs;
    for (int i = 0; i < callers; ++i) graphs.push_back(make_graph(chain(10'000)));
    for (auto _ : state) {
      std::vector<std::thread> threads;
      for (auto& graph : graphs) {
        threads.emplace_back([&graph] {
          for (int i = 0; i < 100; ++i) graph->backward();
        });
      }
      for (auto& thread : threads) thread.join();
    }
  };
  const std::string name = "callers_" + std::to_string(callers) + "/" + engine;
  ::benchmark::RegisterBenchmark(name.c_str(), run)->Repetitions(3)->UseRealTime();
}

void add_nested(const char* engine, int depth, const std::function<void(int)>& nest) {
  const std::string name = "nested_" + std::to_string(depth) + "/" + engine;
  ::benchmark::RegisterBenchmark(name.c_str(),
                                 [nest, depth](State& state) {
                                   for (auto _ : state) nest(depth);
                                 })
      ->Repetitions(3)
      ->UseRealTime();
}

void add_engine(const char* engine, MakeGraph make_graph) {
  for (const NamedShape& shape : shapes()) add_backward(shape, engine, make_graph);
  add_with_hooks(engine, make_graph);
  add_grad_near_root(engine, make_graph);
  add_callers(engine, make_graph, 1);
  add_callers(engine, make_graph, 2);
}

bool has_libtorch() {
  return make_libtorch_graph(chain(1)) != nullptr;
}

void register_all() {
  add_engine("reference", make_reference_graph);
  add_nested("reference", 50, run_nested_reference);
  add_nested("reference", 1000, run_nested_reference);
  for (const NamedShape& shape : shapes()) add_backward(shape, "floor", make_floor_graph);
  if (!has_libtorch()) return;
  add_engine("libtorch", make_libtorch_graph);
  add_nested("libtorch", 50, run_nested_libtorch);
}

// ---- The table ---------------------------------------------------------------------------------

double pass_bytes_a_node(const GraphShape& shape) {
  const auto graph = make_reference_graph(shape);
  graph->backward();
  const auto bytes = static_cast<double>(peak_bytes([&] { graph->backward(); }));
  return bytes / static_cast<double>(shape.nodes());
}

void print_table(const Collector& times) {
  std::printf("\n");
  for (const char* shape : {"chain_10000", "fan_10000", "layers_20x50", "ladder_1000"}) {
    const std::string name = shape;
    const double own = times[name + "/reference"];
    row((name + ": times faster than libtorch").c_str(), ratio(times[name + "/libtorch"], own), "x",
        ">", 10);
    row((name + ": times the floor").c_str(), ratio(own, times[name + "/floor"]), "x", "<", 4);
  }
  row("cost a node, 10^7 against 10^4",
      ratio(times["chain_10000000/reference"] / 1e7, times["chain_10000/reference"] / 1e4), "x",
      "<", 1.5);
  row("two callers against one",
      2 * ratio(times["callers_1/reference"], times["callers_2/reference"]), "x", ">", 1.9);
  row("nested passes below the limit, a level", times["nested_50/reference"] / 50, "ns", "<", 500);
  row("nested passes beyond the limit, a level", times["nested_1000/reference"] / 1000, "ns", "<",
      2000);
  row("memory of a pass over a chain of 10^6, a node", pass_bytes_a_node(chain(1'000'000)), "B",
      "<", 64);
  row("memory of a pass over a fan of 10^6, a node", pass_bytes_a_node(fan(1'000'000)), "B", "<",
      64);
}

}  // namespace
}  // namespace gradcts::reference::benchmark

int main(int argc, char** argv) {
  using namespace gradcts::reference::benchmark;  // NOLINT
  benchmark::Initialize(&argc, argv);
  register_all();
  Collector times;
  benchmark::RunSpecifiedBenchmarks(&times);
  print_table(times);
}
