#include "reference_engine/benchmark/reducers.h"
#include "reference_engine/distributed/gloo_group.h"
#include "reference_engine/distributed/reducer.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/graph/accumulation.h"
#include "reference_engine/graph/autograd.h"

namespace gradcts::reference::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

class Layer : public Node {
 public:
  Layer(std::int64_t size, Clock::time_point& ran) : size_(size), ran_(ran) {}
  Gradients apply(Gradients&& gradients) override {
    Gradients results{ones({size_})};
    if (next_edges().size() > 1) results.push_back(gradients[0]);
    ran_ = Clock::now();
    return results;
  }
  std::string name() const override { return "Layer"; }

 private:
  const std::int64_t size_;
  Clock::time_point& ran_;
};

class ReferenceTrainer : public Trainer {
 public:
  ReferenceTrainer(const ModelShape& shape, int rank, const std::string& folder, bool as_views) {
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < shape.parameters; ++i) {
      parameters.push_back({ones({shape.each}), ""});
      set_requires_grad(parameters.back().leaf, true);
    }
    // The last parameter's node is the last of the chain.
    for (std::size_t i = shape.parameters; i-- > 0;) {
      auto node = make_node<Layer>(shape.each, last_ran_);
      Edges edges{gradient_edge(parameters[i].leaf)};
      if (root_) edges.push_back({root_, 0});
      node->set_next_edges(std::move(edges));
      node->add_slot(InputMetadata(ones({1})));
      root_ = std::move(node);
    }
    last_ = parameters.back().leaf;
    reducer_ = std::make_unique<Reducer>(
        std::move(parameters), make_gloo_group(rank, rank_count, folder, {std::chrono::minutes(1)}),
        ReducerOptions{.bucket_bytes = {first_bucket_bytes, bucket_bytes},
                       .gradients_as_views = as_views});
  }

  std::chrono::nanoseconds step() override {
    reducer_->prepare();
    Root root;
    root.edge.node = root_;
    root.seed = ones({1});
    Engine::default_engine().backward({&root, 1}, {.keep_graph = true});
    return Clock::now() - last_ran_;
  }

  std::int64_t bytes_copied_in_a_step() override {
    const std::int64_t before = reducer_->statistics().bytes_copied;
    step();
    return reducer_->statistics().bytes_copied - before;
  }

  double average() override { return to_values(gradient(last_)).front(); }

 private:
  NodePointer root_;
  Tensor last_;
  Clock::time_point last_ran_;
  std::unique_ptr<Reducer> reducer_;
};

}  // namespace

std::unique_ptr<Trainer> make_reference_trainer(const ModelShape& shape, int rank,
                                                const std::string& folder, bool as_views) {
  return std::make_unique<ReferenceTrainer>(shape, rank, folder, as_views);
}

}  // namespace gradcts::reference::benchmark
