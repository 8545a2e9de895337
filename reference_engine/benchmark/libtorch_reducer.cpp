// The same on libtorch's reducer, over the same Gloo.
#ifndef NDEBUG
#define NDEBUG  // as libtorch was built, whose classes are others without it
#endif
#include <ATen/record_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <atomic>
#include <filesystem>

#include "reference_engine/benchmark/reducers.h"

namespace gradcts::reference::benchmark {
namespace {

using Clock = std::chrono::steady_clock;
using torch::autograd::Edge;
using torch::autograd::Engine;
using torch::autograd::Node;
using torch::autograd::variable_list;

class Layer : public Node {
 public:
  Layer(std::int64_t size, Clock::time_point& ran) : size_(size), ran_(ran) {}
  variable_list apply(variable_list&& gradients) override {
    variable_list results{torch::ones({size_})};
    if (num_outputs() > 1) results.push_back(gradients[0]);
    ran_ = Clock::now();
    return results;
  }

 private:
  const std::int64_t size_;
  Clock::time_point& ran_;
};

// Buckets are filled by a multiplication, which divides on the way, and emptied by a copy. Copies
// of single numbers are something else.
std::atomic<std::int64_t> bytes_copied{0};

std::unique_ptr<at::ObserverContext> count_copy(const at::RecordFunction& function) {
  const std::string name = function.name();
  const bool fills = name == "aten::mul" && function.inputs().size() == 3;  // mul.out
  if (fills || name == "aten::copy_") {
    const at::Tensor& tensor = function.inputs()[0].toTensor();
    if (tensor.numel() > 1) bytes_copied += static_cast<std::int64_t>(tensor.nbytes());
  }
  return nullptr;
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> make_group(int rank, const std::string& folder) {
  std::filesystem::create_directories(folder);
  auto store = c10::make_intrusive<c10d::FileStore>(folder + "/store", rank_count);
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, rank_count, options);
}

class LibtorchTrainer : public Trainer {
 public:
  LibtorchTrainer(const ModelShape& shape, int rank, const std::string& folder, bool as_views)
      : seed_(torch::ones({1})) {
    std::vector<torch::Tensor> parameters;
    for (std::size_t i = 0; i < shape.parameters; ++i) {
      parameters.push_back(torch::ones({shape.each}, torch::requires_grad()));
    }
    for (std::size_t i = shape.parameters; i-- > 0;) {
      auto node = std::make_shared<Layer>(shape.each, last_ran_);
      node->add_next_edge(torch::autograd::impl::gradient_edge(parameters[i]));
      if (root_) node->add_next_edge(Edge(root_, 0));
      node->add_input_metadata(seed_);
      root_ = std::move(node);
    }
    last_ = parameters.back();
    auto [buckets, limits] =
        c10d::compute_bucket_assignment_by_size(parameters, {first_bucket_bytes, bucket_bytes});
    reducer_ = std::make_unique<c10d::Reducer>(
        parameters, buckets, limits, make_group(rank, folder),
        std::vector<bool>(parameters.size(), false), static_cast<std::int64_t>(bucket_bytes), false,
        as_views, std::unordered_map<std::size_t, std::string>(),
        static_cast<std::int64_t>(first_bucket_bytes));
  }

  std::chrono::nanoseconds step() override {
    reducer_->prepare_for_forward();
    reducer_->prepare_for_backward({});
    Engine::get_default_engine().execute({Edge(root_, 0)}, {seed_.clone()}, true, false, true);
    return Clock::now() - last_ran_;
  }

  std::int64_t bytes_copied_in_a_step() override {
    bytes_copied = 0;
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(count_copy)
                                                  .needsInputs(true)
                                                  .scopes({at::RecordScope::FUNCTION}));
    step();
    at::removeCallback(handle);
    return bytes_copied;
  }

  double average() override { return last_.grad()[0].item<double>(); }

 private:
  std::shared_ptr<Node> root_;
  torch::Tensor last_;
  torch::Tensor seed_;
  Clock::time_point last_ran_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<Trainer> make_libtorch_trainer(const ModelShape& shape, int rank,
                                               const std::string& folder, bool as_views) {
  return std::make_unique<LibtorchTrainer>(shape, rank, folder, as_views);
}

}  // namespace gradcts::reference::benchmark
