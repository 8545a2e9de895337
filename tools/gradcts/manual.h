// The manual page and the completion for shells, both made of what `--help` says.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace gradcts {

// The page gradcts(1), for man.
std::string manual_page(const CLI::App& program);

// What may stand in place of the last of `words`, those after "gradcts": commands, options, and the
// names of engines, clauses and scenarios. Scenarios come level by level, as folders do. Empty
// where a file or free text is expected.
std::vector<std::string> completions(const CLI::App& program,
                                     const std::vector<std::string>& words);

// For bash: asks `gradcts complete` for the words.
std::string bash_completion();

}  // namespace gradcts
