// A program: one pass as a list of steps over numbered nodes and places (COMP-1). It refers to no
// graph; the nodes of a replay come from a walk. Never changed once it is made, so several passes
// may replay it at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gradcts::reference {

class GraphTask;
class GraphWalk;
struct Target;

// Where a gradient goes: into a slot of what waits, in a place, for a node.
struct PlannedDelivery {
  std::uint32_t node = 0;  // 0: nowhere, nobody wants it
  std::uint32_t place = 0;
  std::uint32_t slot = 0;
};

struct ProgramStep {
  std::uint32_t node;
  std::uint32_t place;               // where its inputs wait; empty and free after the step
  std::uint32_t first_capture;       // as in NodeState
  std::uint32_t first_delivery = 0;  // in Program::deliveries, one for each of the node's edges
  std::uint32_t deliveries = 0;
  bool runs = false;        // otherwise it is only captured
  bool hands_over = false;  // all that it returns is all that the node of its one edge waits for
};

struct Program {
  std::vector<PlannedDelivery> seeds;  // one a root
  std::vector<ProgramStep> steps;
  std::vector<PlannedDelivery> deliveries;
  std::uint32_t places = 0;

  // By step, the place of its node in the engine's plan: on a device sums are made in this order
  // (ACC-5).
  std::vector<std::uint32_t> planned;

  enum class Role : std::uint8_t { none, captured, runs };
  std::vector<Role> roles;  // by the node's number

  // ---- What a pass must be like, beside its graph, to fit --------------------------------------

  // The nodes with steps, accumulators aside, from the one that was made last. The order of steps
  // depends on it, and on nothing else that is not in the graph (ORDER-1).
  struct Made {
    std::uint32_t node : 31;
    std::uint32_t with_the_last : 1;  // has the sequence number of the one before: another thread's
  };
  std::vector<Made> made;

  struct Asked {
    std::uint32_t node;  // 0: the roots do not reach it
    bool run;
    bool capture;
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  bool asks = false;
  std::vector<Asked> asked;
  std::vector<std::uint32_t> next_captures;  // PlannedCapture::next, of each capture
};

using ProgramPointer = std::shared_ptr<const Program>;

// Why no program fitted a pass (COMP-8): in what it differs from the graph that is most like it. A
// size or a number is never a cause (COMP-3).
enum class MissCause : std::uint8_t {
  none_known,  // no program is known at all
  node,        // another kind of node
  edges,       // the same nodes, connected otherwise
  order,       // the same graph, made in another order
  asked,       // the same graph, of which other gradients are asked for
};
inline constexpr std::size_t miss_cause_count = 5;

// Nothing if the program fits a pass whose graph, as the walk found it, is that of the program.
std::optional<MissCause> misfit(const Program& program, const GraphWalk& walk,
                                const std::vector<Target>* targets);

}  // namespace gradcts::reference
