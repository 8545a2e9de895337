// A result in full, for people: what was expected, what was observed, the graph, and how to see it
// again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conformance/runner/result.h"

namespace gradcts {

// Colours for a terminal; without them text stays as it is.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string red(std::string_view text) const { return code("31;1", text); }
  std::string green(std::string_view text) const { return code("32", text); }
  std::string yellow(std::string_view text) const { return code("33", text); }
  std::string bold(std::string_view text) const { return code("1", text); }
  std::string dim(std::string_view text) const { return code("2", text); }

 private:
  std::string code(std::string_view number, std::string_view text) const;
  bool on_;
};

// "gradcts replay root/one --engine reference", ready for a shell.
std::string replay_command(const RunHeader& header, const std::string& id);

// Brief: a screen of 24 lines, unless the clause is very long; what is left out is counted.
enum class Length : std::uint8_t { brief, full };
std::string failure_text(const ScenarioResult& result, const RunHeader& header, const Paint& paint,
                         Length length = Length::full);
// The same with another command that shows it again.
std::string failure_text(const ScenarioResult& result, const std::string& replay,
                         const Paint& paint, Length length = Length::full);

// A word as a shell takes it.
std::string shell_word(const std::string& word);

// Words put on lines of at most `width` columns, each beginning with `indent`.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width = 100);

// Each line of a text, with `indent` before it.
std::string indented(std::string_view text, std::string_view indent);

}  // namespace gradcts
