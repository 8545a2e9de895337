// Operation: the node of every built-in differentiable operation.
//
// One class for all, with what tells operations apart as data: a kind (a name and a function),
// saved tensors, and parameters. So whoever walks a graph to print, compare or compile it sees the
// same few fields everywhere.
#pragma once

#include <array>
#include <initializer_list>

#include "reference_engine/graph/node.h"
#include "reference_engine/graph/saved_tensor.h"
#include "reference_engine/graph/view.h"

namespace gradcts::reference {

class Operation;

struct OperationKind {
  const char* name;

  // One gradient an edge, from one a slot, of which at least one is defined. Written with
  // differentiable operations, so that it can be recorded.
  Gradients (*backward)(Operation& operation, const Gradients& gradients);

  // Gradients may come as they are; otherwise sparse ones are made dense first.
  bool takes_sparse = false;
};

struct OperationParameters {
  double first = 0;
  double second = 0;
  Shape numbers;
  ViewSteps steps;
};

class Operation final : public Node {
 public:
  static constexpr std::size_t max_saved = 3;

  Operation(const OperationKind& kind, Edges edges);

  Gradients apply(Gradients&& gradients) override;
  std::string name() const override { return kind_.name; }
  void release_saved() override;

  const OperationKind& kind() const { return kind_; }

  // A node that this one is a part of, and that lets go of it first: the output stands where that
  // one says (in_place.h). Null: nobody does.
  class Whole {
   public:
    virtual Edge place_of_part() = 0;

   protected:
    ~Whole() = default;
  };
  void set_whole(Whole* whole) { whole_ = whole; }
  Edge output_place(std::uint32_t slot) override {
    return whole_ ? whole_->place_of_part() : Node::output_place(slot);
  }

  // To be set before the node is used.
  OperationParameters parameters;

  void save(std::size_t index, const Tensor& tensor) { saved_[index].save(tensor); }
  void save_output(std::size_t index, const Tensor& output) { saved_[index].save_output(output); }

  // ---- For backward functions ----

  Tensor saved(std::size_t index) { return saved_[index].unpack(*this); }
  bool needs(std::uint32_t edge) const;

  // The forward input that the edge belongs to.
  const InputMetadata& input(std::uint32_t edge) const;

  // The gradient, summed and cast to what the forward input was before it was broadcast and
  // promoted.
  Tensor fit(std::uint32_t edge, const Tensor& gradient) const;

 private:
  const OperationKind& kind_;
  Whole* whole_ = nullptr;
  std::array<SavedTensor, max_saved> saved_;
};

using OperationPointer = IntrusivePointer<Operation>;

// The gradients of a node with one edge.
inline Gradients one(Tensor gradient) {
  Gradients gradients;
  gradients.push_back(std::move(gradient));
  return gradients;
}

// Records the operation as the producer of its result; null where nothing is to be recorded.
OperationPointer record(const OperationKind& kind, const Tensor& result,
                        std::initializer_list<Tensor> inputs);
OperationPointer record(const OperationKind& kind, const Tensor& result,
                        absl::Span<const Tensor> inputs);

}  // namespace gradcts::reference
