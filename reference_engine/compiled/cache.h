// Programs, found by what a graph looks like: a trie of keys, in which keys without a branch
// between them are one array.
//
// All of it under the lock of all walks (graph_walk.h).
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "reference_engine/compiled/graph_walk.h"
#include "reference_engine/compiled/program.h"

namespace gradcts::reference {

class ProgramCache {
 public:
  struct Branch;

  // `most` is the number of programs that are held at most; at least one is.
  explicit ProgramCache(std::size_t most);
  ~ProgramCache();
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  // How far a walk came. With a program the walk is complete, and so are its nodes.
  struct Found {
    ProgramPointer program;                   // null: none fits
    MissCause cause = MissCause::none_known;  // why
    std::string reason;                       // the same in words, if they are asked for
    bool is_on_one_device = true;             // otherwise there is no program for such a graph
    // For insert(): the keys that were known, and those that were not.
    Branch* branch = nullptr;
    std::size_t nodes = 0;  // of the branch
    std::size_t edges = 0;
    KeyRun rest;
  };
  // Completes the walk if every node of it runs on its device.
  Found find(GraphWalk& walk, const std::vector<Target>* targets, bool with_reason);

  // Puts the program where find() ended, with the cache unchanged since. Returns how many programs
  // were let go for it. Throws std::bad_alloc, and the cache is as before.
  std::size_t insert(Found found, ProgramPointer program);

  void clear();
  std::size_t size() const { return programs_.size(); }

 private:
  struct Entry {
    ProgramPointer program;
    Branch* branch;
  };

  static void explain(Found& found, GraphWalk& walk, std::uint32_t number, bool with_reason);
  void remove(std::list<Entry>::iterator entry);
  void split(Branch& branch, std::size_t nodes, std::size_t edges);

  const std::size_t most_;
  std::list<Entry> programs_;     // the one that was used last comes first
  std::unique_ptr<Branch> root_;  // without keys; null where there are no programs
};

}  // namespace gradcts::reference
