// The option --known of `fuzz` and `shrink`.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "fuzz/known.h"

namespace gradcts {

void add_known_option(CLI::App& command, std::string& file);

// What the engine is known to get wrong: the file that is named, or the one beside the engine's
// expectations; none if there is neither. WrongUse if it cannot be used.
fuzz::KnownFindings known_findings(const std::string& file, const std::string& engine);

}  // namespace gradcts
