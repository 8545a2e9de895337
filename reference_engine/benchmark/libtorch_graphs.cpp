// The same graphs on libtorch's engine.
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/torch.h>

#include "reference_engine/benchmark/graphs.h"

namespace gradcts::reference::benchmark {
namespace {

using torch::autograd::Edge;
using torch::autograd::Engine;
using torch::autograd::Node;
using torch::autograd::variable_list;

class PassOn : public Node {
 public:
  variable_list apply(variable_list&& gradients) override {
    if (num_outputs() == 1) return std::move(gradients);
    return variable_list(num_outputs(), gradients[0]);
  }
};

class NoChange : public torch::autograd::FunctionPreHook {
 public:
  variable_list operator()(const variable_list& gradients) override { return gradients; }
};

class LibtorchGraph : public Graph {
 public:
  explicit LibtorchGraph(const GraphShape& shape) : nodes_(shape.nodes()), seed_(torch::ones({1})) {
    for (std::size_t i = shape.nodes(); i-- > 0;) {
      nodes_[i] = std::make_shared<PassOn>();
      for (std::size_t target : shape.edges[i]) nodes_[i]->add_next_edge(Edge(nodes_[target], 0));
      nodes_[i]->add_input_metadata(seed_);
    }
  }
  // The nodes form long chains of shared pointers: they are let go from the root on, one by one.
  ~LibtorchGraph() override {
    for (auto& node : nodes_) node.reset();
  }

  void backward() override {
    Engine::get_default_engine().execute({Edge(nodes_[0], 0)}, {seed_.clone()}, true, false, true);
  }
  void grad(std::size_t node) override {
    Engine::get_default_engine().execute({Edge(nodes_[0], 0)}, {seed_.clone()}, true, false, false,
                                         {Edge(nodes_[node], 0)});
  }
  void add_hook(std::size_t node) override {
    nodes_[node]->add_pre_hook(std::make_unique<NoChange>());
  }

 private:
  std::vector<std::shared_ptr<PassOn>> nodes_;
  torch::Tensor seed_;
};

void run_pass(const std::shared_ptr<Node>& node, const torch::Tensor& seed) {
  Engine::get_default_engine().execute({Edge(node, 0)}, {seed}, true, false, true);
}

class Nest : public Node {
 public:
  Nest(std::shared_ptr<Node> inner, torch::Tensor seed)
      : inner_(std::move(inner)), seed_(std::move(seed)) {
    add_input_metadata(seed_);
  }
  variable_list apply(variable_list&&) override {
    if (inner_) run_pass(inner_, seed_);
    return {};
  }

 private:
  const std::shared_ptr<Node> inner_;
  const torch::Tensor seed_;
};

class NestedLibtorch : public Graph {
 public:
  explicit NestedLibtorch(int depth) : seed_(torch::ones({1})) {
    for (int i = 0; i < depth; ++i) outermost_ = std::make_shared<Nest>(outermost_, seed_);
  }
  void backward() override { run_pass(outermost_, seed_); }
  void grad(std::size_t) override {}
  void add_hook(std::size_t) override {}

 private:
  const torch::Tensor seed_;
  std::shared_ptr<Node> outermost_;
};

}  // namespace

std::unique_ptr<Graph> make_libtorch_graph(const GraphShape& shape) {
  return std::make_unique<LibtorchGraph>(shape);
}

std::unique_ptr<Graph> make_nested_libtorch(int depth) {
  return std::make_unique<NestedLibtorch>(depth);
}

}  // namespace gradcts::reference::benchmark
