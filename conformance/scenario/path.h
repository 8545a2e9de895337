// A place inside a JSON document, as a chain of frames on the stack: it costs nothing until an
// error turns it into text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradcts {

// A frame refers to its parent: keep parents in named variables, or use a chain within one
// expression.
class Path {
 public:
  Path() = default;  // the document itself
  Path(const Path& parent, std::string_view field) : parent_(&parent), field_(field) {}
  Path(const Path& parent, std::size_t index) : parent_(&parent), index_(index) {}

  Path operator/(std::string_view field) const { return Path(*this, field); }
  Path operator[](std::size_t index) const { return Path(*this, index); }

  std::string text() const;  // "nodes[3].inputs[0]"

 private:
  const Path* parent_ = nullptr;
  std::string_view field_;  // empty: an index
  std::size_t index_ = 0;
};

// Throws FormatError.
[[noreturn]] void fail(const Path& path, const std::string& problem);

// "; did you mean 'inputs'?" when one of the candidates is close to the word, else "".
template <typename Candidates>
std::string suggestion(std::string_view word, const Candidates& candidates);

// ------------------------------------------------------------------------------------------------

namespace internal {
// Single letters added, removed, changed or swapped to get from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
}  // namespace internal

template <typename Candidates>
std::string suggestion(std::string_view word, const Candidates& candidates) {
  std::size_t best_distance = word.size() < 4 ? 2 : 3;  // exclusive
  std::string_view best;
  for (const auto& candidate : candidates) {
    const std::size_t distance = internal::edit_distance(word, candidate);
    if (distance >= best_distance || distance >= word.size()) continue;
    best_distance = distance;
    best = candidate;
  }
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace gradcts
