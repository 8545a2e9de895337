// What the engine knows of a compiler of passes: somebody else may plan a pass, and run its nodes.
// The one that there is lies in compiled/.
#pragma once

#include <vector>

namespace gradcts::reference {

class GraphTask;
class Node;
struct Target;

// A planned pass that needs no table of states, and no ready queue for its nodes. Used by the one
// thread that runs the pass: the caller's, or the worker of the one device on which all nodes run.
class CompiledPass {
 public:
  virtual ~CompiledPass() = default;

  // Where the seeds go, once, before run(). Throws what a sum of seeds throws.
  virtual void deliver_seeds(GraphTask& task) = 0;

  // Runs the nodes. What a node throws becomes the error of the pass.
  virtual void run(GraphTask& task) = 0;

  // Is the node run or captured in the pass; is it run?
  virtual bool takes_part(const Node& node) const = 0;
  virtual bool runs(const Node& node) const = 0;

  // The first of these for an address, which is not looked into, and need not be that of a node.
  virtual bool visits(const Node* address) const = 0;
};

class PassCompiler {
 public:
  virtual ~PassCompiler() = default;

  // Plans a pass that has its roots, and captures: either sets `task.compiled`, or plans it as
  // usual (plan.h). Without `targets`, everything that the roots reach runs.
  virtual void plan(GraphTask& task, const std::vector<Target>* targets) = 0;
};

}  // namespace gradcts::reference
