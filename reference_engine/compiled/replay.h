// A pass that is replayed with a program: no ready queue, no table of states, no lock.
//
// Where all nodes run on a device, its worker replays the pass as one entry of its queue. Then
// gradients are put down and added up as they are in a pass from a queue (deliveries.h): nodes have
// streams, which have to wait for each other (STREAM-2).
#pragma once

#include "absl/container/flat_hash_map.h"
#include "reference_engine/compiled/graph_walk.h"
#include "reference_engine/compiled/program.h"
#include "reference_engine/engine/pass_compiler.h"

namespace gradcts::reference {

class Replay final : public CompiledPass {
 public:
  // `nodes` are those of a walk that the program fits.
  Replay(ProgramPointer program, NumberedNodes nodes, std::uint32_t walk)
      : program_(std::move(program)),
        nodes_(std::move(nodes)),
        walk_(walk),
        places_(program_->places) {}  // of the CPU; for a device they are made with the seeds

  void deliver_seeds(GraphTask& task) override;
  void run(GraphTask& task) override;
  bool takes_part(const Node& node) const override { return role(node) != Program::Role::none; }
  bool runs(const Node& node) const override { return role(node) == Program::Role::runs; }
  bool visits(const Node* address) const override;

 private:
  // What steps work on, looked up once.
  struct Tables {
    Node* const* nodes;
    Gradients* places;
    const PlannedDelivery* deliveries;
  };
  template <typename RunStep>
  void run_steps(GraphTask& task, RunStep&& run_step);
  void run_on_device(GraphTask& task, const ProgramStep& step);
  void put_down_outputs(const Node& node, Gradients& outputs, const ProgramStep& step);
  static void run_step(GraphTask& task, const ProgramStep& step, const Tables& tables);
  static void deliver(const Node& node, Gradients& outputs, const ProgramStep& step,
                      const Tables& tables);
  Program::Role role(const Node& node) const;
  Program::Role role_of_address(const Node* address) const;

  const ProgramPointer program_;
  const NumberedNodes nodes_;
  const std::uint32_t walk_;
  absl::InlinedVector<Gradients, 4> places_;
  std::vector<std::vector<Delivery>> deliveries_;  // by place, where a device runs the nodes
  mutable absl::flat_hash_map<const Node*, std::uint32_t> numbers_;  // made when first needed
};

}  // namespace gradcts::reference
