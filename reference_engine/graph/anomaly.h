// Anomaly mode: finding out which step of the forward made a bad gradient.
//
// While it is on for a thread, every node that is made remembers where: the calls on the stack, and
// the node whose backward made it, if one did (so the chain goes up through derivatives). A pass
// that is called in the mode checks what each node returns for NaN, unless told not to, and where a
// node throws, its origin is printed to the standard error stream. The mode is carried to all
// threads of the pass.
//
// What is remembered is text and addresses; it keeps no node and no tensor alive (ANOM-3).
#pragma once

#include <memory>
#include <string>

namespace gradcts::reference {

class Node;
class NodeOrigin;
using NodeOriginPointer = std::shared_ptr<const NodeOrigin>;

struct AnomalyMode {
  bool is_enabled = false;
  bool checks_nan = false;
};

const AnomalyMode& anomaly_mode();  // of this thread

// Modes nest; the one before comes back (ANOM-3).
class AnomalyGuard {
 public:
  explicit AnomalyGuard(bool enabled, bool check_nan = true);
  ~AnomalyGuard();
  AnomalyGuard(const AnomalyGuard&) = delete;
  AnomalyGuard& operator=(const AnomalyGuard&) = delete;

 private:
  AnomalyMode previous_;
};

// What a node that is made now remembers; null outside of the mode.
NodeOriginPointer current_origin();

// "node Mul was made by: ..., in the backward of node Exp, which was made by: ..."; says so where
// nothing is known.
std::string describe_origin(const Node& node);

}  // namespace gradcts::reference
