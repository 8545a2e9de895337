// The clauses and dialects as data: clauses.json and dialects.json beside this file, compiled in;
// and what shows that a wrong engine fails a clause, from conformance/mutants/kills.json.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradcts {

struct Clause {
  std::string id;     // "ROOT-2"; permanent
  std::string area;   // "ROOT"
  std::string level;  // "MUST" or "SHOULD"
  std::string text;
  // Empty for most. Else the choices, the first being what the reference engine follows.
  std::vector<std::string> alternatives;
  std::vector<std::string> reports;  // bugs.md ids that the clause cites
  std::string unproven;              // why no wrong engine fails it; empty for nearly all
};

// A known mistake in the engine, and a scenario of the clause that notices it (docs/mutants.md).
struct Proof {
  std::string clause;
  std::string mutant;
  std::string scenario;
};

// A named choice of one alternative for each clause that has several.
struct Dialect {
  std::string name;
  std::map<std::string, std::string, std::less<>> choices;  // clause id to alternative

  bool follows(std::string_view clause, std::string_view alternative) const;
};

struct Area {
  std::string id;     // "ROOT"
  std::string title;  // "roots and seeds"
};

std::span<const Area> all_areas();
std::span<const Clause> all_clauses();           // in the order of behaviours.md
const Clause* find_clause(std::string_view id);  // null when there is none
std::span<const Proof> all_proofs();             // by mutant
std::span<const Dialect> all_dialects();         // "reference" first
// The named dialect with single choices replaced. Throws std::invalid_argument with one clear line
// for an unknown dialect, clause or alternative.
Dialect make_dialect(std::string_view name,
                     const std::map<std::string, std::string, std::less<>>& overrides = {});

}  // namespace gradcts
