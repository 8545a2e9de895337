// The compiled engine: a pass is planned once, and replayed wherever a graph of the same form comes
// again. Results, errors, hooks, callbacks and their order are those of the engine, bit for bit
// (COMP-1).
//
//   auto compiler = std::make_shared<Compiler>();
//   engine.set_compiler(compiler);
//
// A *program* (program.h) is what the engine finds out about a pass before and while it runs it:
// who takes part, in which order, where each gradient goes, who waits for what. It holds no node,
// no tensor, no size, no number and no hook: these are the inputs of a replay, found again by
// walking the graph. `docs/compiled.md` has the picture.
//
// Passes that are not compiled run as without a compiler: those with a node on another device than
// the CPU, and those that wait for gradients from outside (ASYNC-1).
//
// Thread safety: all functions may be called from any thread, also inside nodes, hooks and
// callbacks. Programs are shared; passes nest and run side by side (COMP-7). A lock is held while a
// graph is walked; no user code runs meanwhile, and none while a pass is replayed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference_engine/compiled/cache.h"
#include "reference_engine/engine/pass_compiler.h"

namespace gradcts::reference {

struct CompilerStatistics {
  std::uint64_t hits = 0;      // passes replayed with a program that was there
  std::uint64_t compiles = 0;  // programs made: as many passes missed
  std::array<std::uint64_t, miss_cause_count> compiles_by_cause{};  // by MissCause
  std::uint64_t evictions = 0;     // programs let go because there were too many
  std::uint64_t not_compiled = 0;  // passes whose nodes run on several devices
  std::uint64_t programs = 0;      // held now
};

class Compiler final : public PassCompiler {
 public:
  // Holds as many programs at most, at least 1; the one that was not used for the longest time goes
  // first.
  explicit Compiler(std::size_t most_programs = 1024) : cache_(most_programs) {}

  // Gets a line for each pass that is compiled, and why no program fitted, or that is not compiled,
  // and why not: "compiled a program of 3 steps: at node 2, Exp: a new kind of node; known graphs
  // have Mul" (COMP-8). Called on the thread of the pass, before it runs, outside of locks. Set
  // before passes run.
  using Log = std::function<void(const std::string& line)>;
  void set_log(Log log) { log_ = std::move(log); }

  // Gets the text of each program that is made: program_text.h. Otherwise as the log.
  void set_program_log(Log log) { program_log_ = std::move(log); }

  void clear();        // forgets all programs; those that run are not concerned
  bool empty() const;  // holds no program
  CompilerStatistics statistics() const;

  void plan(GraphTask& task, const std::vector<Target>* targets) override;

 private:
  Log log_;
  Log program_log_;
  ProgramCache cache_;  // guarded by the lock of all walks: Note [Marks] in graph_walk.h
  CompilerStatistics statistics_;
};

}  // namespace gradcts::reference
