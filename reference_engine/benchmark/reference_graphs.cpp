#include "reference_engine/benchmark/graphs.h"
#include "reference_engine/compiled/capture.h"
#include "reference_engine/compiled/compiler.h"
#include "reference_engine/compiled/replay.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/graph/accumulation.h"
#include "reference_engine/graph/recording.h"

namespace gradcts::reference::benchmark {

GraphShape chain(std::size_t nodes) {
  GraphShape shape{std::vector<std::vector<std::size_t>>(nodes)};
  for (std::size_t i = 0; i + 1 < nodes; ++i) shape.edges[i] = {i + 1};
  return shape;
}

GraphShape fan(std::size_t width) {
  GraphShape shape{std::vector<std::vector<std::size_t>>(width + 2)};
  for (std::size_t i = 1; i <= width; ++i) {
    shape.edges[0].push_back(i);
    shape.edges[i] = {width + 1};
  }
  return shape;
}

GraphShape layers(std::size_t count, std::size_t width) {
  GraphShape shape{std::vector<std::vector<std::size_t>>(1 + count * width)};
  for (std::size_t i = 0; i < width; ++i) shape.edges[0].push_back(1 + i);
  for (std::size_t layer = 0; layer + 1 < count; ++layer) {
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        shape.edges[1 + layer * width + i].push_back(1 + (layer + 1) * width + j);
      }
    }
  }
  return shape;
}

GraphShape ladder(std::size_t rungs) {
  GraphShape shape{std::vector<std::vector<std::size_t>>(rungs)};
  for (std::size_t i = 0; i + 1 < rungs; ++i) shape.edges[i] = {i + 1, i + 1};
  return shape;
}

namespace {

class PassOn : public Node {
 public:
  Gradients apply(Gradients&& gradients) override {
    const std::size_t count = next_edges().size();
    if (count == 1) return std::move(gradients);
    return Gradients(count, gradients[0]);
  }
  std::string name() const override { return "PassOn"; }
};

Root root_at(const NodePointer& node) {
  Root root;
  root.edge.node = node;
  root.seed = ones({1});
  return root;
}

InputMetadata metadata() {
  return InputMetadata(ones({1}));
}

std::vector<NodePointer> make_nodes(const GraphShape& shape) {
  std::vector<NodePointer> nodes(shape.nodes());
  for (std::size_t i = shape.nodes(); i-- > 0;) {
    Edges edges;
    for (std::size_t target : shape.edges[i]) edges.push_back({nodes[target], 0});
    nodes[i] = make_node<PassOn>();
    nodes[i]->set_next_edges(std::move(edges));
    nodes[i]->add_slot(metadata());
  }
  return nodes;
}

class ReferenceGraph : public Graph {
 public:
  explicit ReferenceGraph(const GraphShape& shape, Engine& engine = Engine::default_engine())
      : engine_(engine), nodes_(make_nodes(shape)) {}

  void backward() override {
    const Root root = root_at(nodes_[0]);
    engine_.backward({&root, 1}, {.keep_graph = true});
  }
  void grad(std::size_t node) override {
    const Root root = root_at(nodes_[0]);
    const Capture capture{{nodes_[node], 0}, {}};
    engine_.grad({&root, 1}, {&capture, 1}, {.keep_graph = true});
  }
  void add_hook(std::size_t node) override {
    nodes_[node]->add_pre_hook([](const Gradients&) { return std::nullopt; });
  }

 private:
  Engine& engine_;
  std::vector<NodePointer> nodes_;
};

class CompiledGraph : public Graph {
 public:
  CompiledGraph(const GraphShape& shape, std::shared_ptr<PassCompiler> compiler)
      : graph_(shape, engine_) {
    engine_.set_compiler(std::move(compiler));
  }
  void backward() override { graph_.backward(); }
  void grad(std::size_t node) override { graph_.grad(node); }
  void add_hook(std::size_t node) override { graph_.add_hook(node); }

 private:
  Engine engine_;
  ReferenceGraph graph_;
};

// Knows one program, and that it fits.
class FixedProgram : public PassCompiler {
 public:
  void plan(GraphTask& task, const std::vector<Target>* targets) override {
    if (!program_) compile(task, targets);
    task.compiled = std::make_unique<Replay>(program_, nodes_, walk_);
  }

 private:
  void compile(GraphTask& task, const std::vector<Target>* targets) {
    LockGuard lock(GraphWalk::mutex());
    GraphWalk walk(task, targets);
    ProgramCache(1).find(walk, targets, false);
    program_ = make_program(task, targets, walk);
    nodes_ = walk.nodes();
    walk_ = walk.id();
  }

  ProgramPointer program_;
  NumberedNodes nodes_;
  std::uint32_t walk_ = 0;
};

// Finds programs, and runs nothing.
class LookUp : public PassCompiler {
 public:
  void plan(GraphTask& task, const std::vector<Target>* targets) override {
    compiler_.plan(task, targets);
    task.compiled = std::make_unique<Nothing>();
  }

 private:
  class Nothing : public CompiledPass {
    void deliver_seeds(GraphTask&) override {}
    void run(GraphTask&) override {}
    bool takes_part(const Node&) const override { return false; }
    bool runs(const Node&) const override { return false; }
    bool visits(const Node*) const override { return false; }
  };

  Compiler compiler_;
};

class Forgetful : public PassCompiler {
 public:
  void plan(GraphTask& task, const std::vector<Target>* targets) override {
    compiler_.clear();
    compiler_.plan(task, targets);
  }

 private:
  Compiler compiler_;
};

class FloorGraph : public Graph {
 public:
  explicit FloorGraph(const GraphShape& shape)
      : nodes_(make_nodes(shape)), shape_(shape), buffers_(shape.nodes()) {}

  void backward() override {
    const RecordingGuard guard(false);
    buffers_[0].push_back(ones({1}));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Gradients outputs = nodes_[i]->apply(std::move(buffers_[i]));
      buffers_[i].clear();
      for (std::size_t e = 0; e < shape_.edges[i].size(); ++e) {
        add(buffers_[shape_.edges[i][e]], std::move(outputs[e]));
      }
    }
  }
  void grad(std::size_t) override {}
  void add_hook(std::size_t) override {}

 private:
  static void add(Gradients& buffer, Tensor gradient) {
    if (buffer.empty()) {
      buffer.push_back(std::move(gradient));
    } else {
      buffer[0] = accumulate(std::move(buffer[0]), std::move(gradient));
    }
  }

  std::vector<NodePointer> nodes_;
  GraphShape shape_;
  std::vector<Gradients> buffers_;
};

class Nest : public Node {
 public:
  explicit Nest(const Root* inner) : inner_(inner) { add_slot(metadata()); }
  Gradients apply(Gradients&&) override {
    if (inner_) Engine::default_engine().backward({inner_, 1}, {.keep_graph = true});
    return {};
  }
  std::string name() const override { return "Nest"; }

 private:
  const Root* const inner_;
};

class NestedReference : public Graph {
 public:
  explicit NestedReference(int depth) : roots_(static_cast<std::size_t>(depth)) {
    const Root* inner = nullptr;
    for (Root& root : roots_) {
      root = root_at(make_node<Nest>(inner));
      inner = &root;
    }
  }
  void backward() override {
    Engine::default_engine().backward({&roots_.back(), 1}, {.keep_graph = true});
  }
  void grad(std::size_t) override {}
  void add_hook(std::size_t) override {}

 private:
  std::vector<Root> roots_;  // the innermost first
};

}  // namespace

std::unique_ptr<Graph> make_reference_graph(const GraphShape& shape) {
  return std::make_unique<ReferenceGraph>(shape);
}

std::unique_ptr<Graph> make_compiled_graph(const GraphShape& shape) {
  return std::make_unique<CompiledGraph>(shape, std::make_shared<Compiler>());
}

std::unique_ptr<Graph> make_looked_up_graph(const GraphShape& shape) {
  return std::make_unique<CompiledGraph>(shape, std::make_shared<LookUp>());
}

std::unique_ptr<Graph> make_replayed_graph(const GraphShape& shape) {
  return std::make_unique<CompiledGraph>(shape, std::make_shared<FixedProgram>());
}

std::unique_ptr<Graph> make_captured_graph(const GraphShape& shape) {
  return std::make_unique<CompiledGraph>(shape, std::make_shared<Forgetful>());
}

std::unique_ptr<Graph> make_floor_graph(const GraphShape& shape) {
  return std::make_unique<FloorGraph>(shape);
}

std::unique_ptr<Graph> make_nested_reference(int depth) {
  return std::make_unique<NestedReference>(depth);
}

}  // namespace gradcts::reference::benchmark
