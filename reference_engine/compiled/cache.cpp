#include "reference_engine/compiled/cache.h"

#include <algorithm>

namespace gradcts::reference {

// A run of keys, and what comes after it: other runs, or the programs of the graphs that end there.
// A graph's last key is the end of every graph with these keys, so it is never both.
struct ProgramCache::Branch {
  Branch* parent = nullptr;
  KeyRun keys;
  std::vector<std::unique_ptr<Branch>> children;
  std::vector<std::list<Entry>::iterator> programs;
};

namespace {

using Branch = ProgramCache::Branch;

const char* words_of(MissCause cause) {
  switch (cause) {
    case MissCause::asked:
      return "a known graph, of which other gradients are asked for";
    case MissCause::order:
      return "a known graph, whose nodes were made in another order";
    default:
      return "no program is known";
  }
}

}  // namespace

ProgramCache::ProgramCache(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

ProgramCache::~ProgramCache() = default;

ProgramCache::Found ProgramCache::find(GraphWalk& walk, const std::vector<Target>* targets,
                                       bool with_reason) {
  if (!root_) root_ = std::make_unique<Branch>();
  Found found;
  Branch* branch = root_.get();
  std::size_t position = 0;
  std::size_t edge = 0;
  std::uint32_t number = 0;
  for (; number < walk.nodes().size(); ++number) {
    if (position == branch->keys.nodes.size()) {
      const auto next =
          std::find_if(branch->children.begin(), branch->children.end(), [&](const auto& child) {
            return walk.match(number, child->keys.nodes[0], child->keys.edges.data());
          });
      if (next == branch->children.end()) break;
      branch = next->get();
      position = 0;
      edge = 0;
    } else if (!walk.match(number, branch->keys.nodes[position],
                           branch->keys.edges.data() + edge)) {
      break;
    }
    edge += branch->keys.nodes[position++].edges;
  }
  found.branch = branch;
  found.nodes = position;
  found.edges = edge;
  if (number == walk.nodes().size()) {
    for (const auto& entry : branch->programs) {
      if (const std::optional<MissCause> cause = misfit(*entry->program, walk, targets)) {
        found.cause = *cause;
        continue;
      }
      programs_.splice(programs_.begin(), programs_, entry);
      found.program = entry->program;
      return found;
    }
  }
  explain(found, walk, number, with_reason);
  for (; found.is_on_one_device && number < walk.nodes().size(); ++number) {
    found.is_on_one_device = walk.record(number, found.rest);
  }
  return found;
}

// The walk ended before that node, or at the end of a known graph.
void ProgramCache::explain(Found& found, GraphWalk& walk, std::uint32_t number, bool with_reason) {
  const bool is_known_graph = found.cause != MissCause::none_known;
  const bool at_end = found.nodes == found.branch->keys.nodes.size();
  const Branch* known = found.branch;
  if (at_end) known = known->children.empty() ? nullptr : known->children[0].get();
  if (is_known_graph || known == nullptr) {
    if (with_reason) found.reason = words_of(found.cause);
    return;
  }
  const NodeKey& key = known->keys.nodes[at_end ? 0 : found.nodes];
  found.cause = walk.is_of_another_kind(number, key) ? MissCause::node : MissCause::edges;
  if (!with_reason) return;
  found.reason =
      walk.difference(number, key, known->keys.edges.data() + (at_end ? 0 : found.edges));
}

// The part of the branch after that many keys becomes a branch of its own.
void ProgramCache::split(Branch& branch, std::size_t nodes, std::size_t edges) {
  auto tail = std::make_unique<Branch>();
  const auto node = branch.keys.nodes.begin() + static_cast<std::ptrdiff_t>(nodes);
  const auto edge = branch.keys.edges.begin() + static_cast<std::ptrdiff_t>(edges);
  tail->keys.nodes.assign(node, branch.keys.nodes.end());
  tail->keys.edges.assign(edge, branch.keys.edges.end());
  std::vector<std::unique_ptr<Branch>> children;
  children.reserve(2);
  // Nothing below throws.
  branch.keys.nodes.erase(node, branch.keys.nodes.end());
  branch.keys.edges.erase(edge, branch.keys.edges.end());
  tail->children.swap(branch.children);
  tail->programs.swap(branch.programs);
  for (const auto& entry : tail->programs) entry->branch = tail.get();
  for (const auto& child : tail->children) child->parent = tail.get();
  tail->parent = &branch;
  children.push_back(std::move(tail));
  branch.children.swap(children);
}

std::size_t ProgramCache::insert(Found found, ProgramPointer program) {
  Branch* branch = found.branch;
  std::list<Entry> entry{{std::move(program), branch}};
  if (!found.rest.nodes.empty()) {
    auto made = std::make_unique<Branch>();
    made->keys = std::move(found.rest);
    made->programs.push_back(entry.begin());
    if (found.nodes < branch->keys.nodes.size()) split(*branch, found.nodes, found.edges);
    made->parent = branch;
    entry.front().branch = made.get();
    branch->children.push_back(std::move(made));
  } else {
    branch->programs.push_back(entry.begin());
  }
  programs_.splice(programs_.begin(), entry);
  std::size_t removed = 0;
  for (; programs_.size() > most_; ++removed) remove(std::prev(programs_.end()));
  return removed;
}

// Branches that lead to no program any more go with it.
void ProgramCache::remove(std::list<Entry>::iterator entry) {
  Branch* branch = entry->branch;
  std::erase(branch->programs, entry);
  programs_.erase(entry);
  while (branch->parent && branch->programs.empty() && branch->children.empty()) {
    Branch* parent = branch->parent;
    std::erase_if(parent->children, [&](const auto& child) { return child.get() == branch; });
    branch = parent;
  }
}

void ProgramCache::clear() {
  programs_.clear();
  root_.reset();
}

}  // namespace gradcts::reference
