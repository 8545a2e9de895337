#include "reference_engine/compiled/compiler.h"

#include "reference_engine/compiled/capture.h"
#include "reference_engine/compiled/program_text.h"
#include "reference_engine/compiled/replay.h"

namespace gradcts::reference {

// The node under which captures hang is the program's; where they are is the pass's.
static void link_captures(GraphTask& task, const Program& program) {
  for (std::size_t i = 0; i < task.captures.size(); ++i) {
    task.captures[i].next = program.next_captures[i];
  }
}

void Compiler::plan(GraphTask& task, const std::vector<Target>* targets) {
  std::string line;
  bool is_new = false;
  ProgramPointer program;
  std::uint32_t walk_id;
  Device device;
  NumberedNodes nodes;
  {
    LockGuard lock(GraphWalk::mutex());
    GraphWalk walk(task, targets);
    ProgramCache::Found found = cache_.find(walk, targets, log_ != nullptr);
    program = found.program;
    if (program) {
      ++statistics_.hits;
    } else if (found.is_on_one_device) {
      program = make_program(task, targets, walk);
      if (log_) line = compiled_line(*program, found.reason);
      ++statistics_.compiles_by_cause[static_cast<std::size_t>(found.cause)];
      statistics_.evictions += cache_.insert(std::move(found), program);
      ++statistics_.compiles;
      is_new = true;
    } else {
      ++statistics_.not_compiled;
      if (log_) line = "not compiled: its nodes run on several devices";
    }
    walk_id = walk.id();
    device = walk.device();
    nodes = walk.take_nodes();
  }
  if (log_ && !line.empty()) log_(line);
  if (!program) return plan_pass(task, targets);
  if (is_new && program_log_) program_log_(text_of(*program, nodes));
  task.is_pruned = targets != nullptr;
  task.is_local = device.is_cpu() || program->steps.empty();
  if (!task.is_local && !is_new) task.device_queues.emplace_back(device, nullptr);
  link_captures(task, *program);
  task.compiled = std::make_unique<Replay>(std::move(program), std::move(nodes), walk_id);
}

void Compiler::clear() {
  LockGuard lock(GraphWalk::mutex());
  cache_.clear();
}

bool Compiler::empty() const {
  LockGuard lock(GraphWalk::mutex());
  return cache_.size() == 0;
}

CompilerStatistics Compiler::statistics() const {
  LockGuard lock(GraphWalk::mutex());
  CompilerStatistics statistics = statistics_;
  statistics.programs = cache_.size();
  return statistics;
}

}  // namespace gradcts::reference
