// What a pass costs a node: the reference engine, libtorch where it was found, and the floor, on
// the same graphs in one process. ci/bench makes a table of what this prints as JSON.
//
// A benchmark is called WHAT/ENGINE. Its counters are what the table is made of: `ns_a_node` (or
// level), `passes_a_second`, `bytes_a_node`.
#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <thread>

#include "reference_engine/benchmark/graphs.h"
#include "reference_engine/benchmark/memory_meter.h"

namespace gradcts::reference::benchmark {
namespace {

using ::benchmark::Counter;
using ::benchmark::State;
using MakeGraph = std::function<std::unique_ptr<Graph>()>;

// Google benchmark calls a benchmark several times; a graph of 10^7 nodes is made once. Nothing is
// freed: the process ends.
Graph& graph_of(const std::string& benchmark, const MakeGraph& make) {
  static auto& graphs = *new std::map<std::string, std::unique_ptr<Graph>>;
  std::unique_ptr<Graph>& graph = graphs[benchmark];
  if (!graph) {
    graph = make();
    graph->backward();
  }
  return *graph;
}

Counter ns_each(std::size_t things) {
  return Counter(static_cast<double>(things) * 1e-9,
                 Counter::kIsIterationInvariantRate | Counter::kInvert);
}

::benchmark::internal::Benchmark* add_passes(const std::string& name, std::size_t nodes,
                                             const MakeGraph& make) {
  return ::benchmark::RegisterBenchmark(name.c_str(), [name, nodes, make](State& state) {
    Graph& graph = graph_of(name, make);
    for (auto _ : state) graph.backward();
    state.counters["ns_a_node"] = ns_each(nodes);
  });
}

struct NamedShape {
  std::string name;
  GraphShape (*make)();
};

const std::vector<NamedShape>& shapes() {
  static const std::vector<NamedShape> all = {
      {"chain_10", [] { return chain(10); }},
      {"chain_10000", [] { return chain(10'000); }},
      {"fan_10000", [] { return fan(10'000); }},
      {"layers_20x50", [] { return layers(20, 50); }},
      {"ladder_1000", [] { return ladder(1'000); }},
  };
  return all;
}

struct Contestant {
  std::string name;
  std::unique_ptr<Graph> (*make)(const GraphShape&);
};

void add_shapes(const Contestant& engine) {
  for (const NamedShape& shape : shapes()) {
    add_passes(shape.name + "/" + engine.name, shape.make().nodes(),
               [&shape, make = engine.make] { return make(shape.make()); });
  }
}

void add_with_hooks(const Contestant& engine) {
  constexpr std::size_t nodes = 10'000;
  add_passes("hooks_10000/" + engine.name, nodes, [make = engine.make] {
    auto graph = make(chain(nodes));
    for (std::size_t i = 0; i < nodes; i += 4) graph->add_hook(i);
    return graph;
  });
}

void add_grad_near_root(const Contestant& engine) {
  const std::string name = "grad_near_root/" + engine.name;
  ::benchmark::RegisterBenchmark(name.c_str(), [name, make = engine.make](State& state) {
    Graph& graph = graph_of(name, [make] { return make(chain(100'000)); });
    for (auto _ : state) graph.grad(3);
    state.counters["ns_a_pass"] = ns_each(1);
  });
}

// Each caller runs a graph of its own.
void add_callers(const Contestant& engine, int callers) {
  constexpr int passes = 20;
  const std::string name = "callers_" + std::to_string(callers) + "/" + engine.name;
  const auto run = [name, callers, make = engine.make](State& state) {
    std::vector<Graph*> graphs;
    for (int i = 0; i < callers; ++i) {
      graphs.push_back(&graph_of(name + std::to_string(i), [make] { return make(chain(10'000)); }));
    }
    for (auto _ : state) {
      std::vector<std::thread> threads;
      for (Graph* graph : graphs) {
        threads.emplace_back([graph] {
          for (int i = 0; i < passes; ++i) graph->backward();
        });
      }
      for (auto& thread : threads) thread.join();
    }
    state.counters["passes_a_second"] =
        Counter(static_cast<double>(callers * passes), Counter::kIsIterationInvariantRate);
  };
  ::benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime();
}

void add_nested(const std::string& engine, int depth, std::unique_ptr<Graph> (*make)(int)) {
  const std::string name = "nested_" + std::to_string(depth) + "/" + engine;
  const auto run = [name, depth, make](State& state) {
    Graph& graph = graph_of(name, [make, depth] { return make(depth); });
    for (auto _ : state) graph.backward();
    state.counters["ns_a_level"] = ns_each(static_cast<std::size_t>(depth));
  };
  // Of all threads, one of which runs at a time.
  ::benchmark::RegisterBenchmark(name.c_str(), run)->MeasureProcessCPUTime();
}

// Beyond the gradients, which the graph's one tensor is shared for.
void add_memory(const std::string& name, GraphShape (*shape)()) {
  ::benchmark::RegisterBenchmark(name.c_str(), [name, shape](State& state) {
    Graph& graph = graph_of(name, [shape] { return make_reference_graph(shape()); });
    std::size_t bytes = 0;
    for (auto _ : state) bytes = peak_bytes([&] { graph.backward(); });
    state.counters["bytes_a_node"] =
        static_cast<double>(bytes) / static_cast<double>(shape().nodes());
  })->Iterations(1);
}

void add_engine(const Contestant& engine) {
  add_shapes(engine);
  add_with_hooks(engine);
  add_grad_near_root(engine);
  for (int callers : {1, 2, 8}) add_callers(engine, callers);
}

void register_all() {
  add_engine({"reference", make_reference_graph});
  add_shapes({"floor", make_floor_graph});
  add_shapes({"compiled", make_compiled_graph});
  add_shapes({"looked_up", make_looked_up_graph});
  add_shapes({"replayed", make_replayed_graph});
  add_shapes({"captured", make_captured_graph});
  add_with_hooks({"compiled", make_compiled_graph});
  for (int callers : {1, 2}) add_callers({"compiled", make_compiled_graph}, callers);
  add_nested("reference", 50, make_nested_reference);
  add_nested("reference", 1000, make_nested_reference);
  add_passes("chain_10000000/reference", 10'000'000, [] {
    return make_reference_graph(chain(10'000'000));
  })->Iterations(1);
  add_memory("memory_chain_1000000/reference", [] { return chain(1'000'000); });
  add_memory("memory_fan_1000000/reference", [] { return fan(1'000'000); });
  if (!make_libtorch_graph(chain(1))) return;
  add_engine({"libtorch", make_libtorch_graph});
  add_nested("libtorch", 50, make_nested_libtorch);
  add_nested("libtorch", 1000, make_nested_libtorch);
}

}  // namespace
}  // namespace gradcts::reference::benchmark

int main(int argc, char** argv) {
  ::benchmark::Initialize(&argc, argv);
  if (::benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  gradcts::reference::benchmark::register_all();
  return ::benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
}
