#include "conformance/spec/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "conformance/scenario/fields.h"
#include "conformance/spec/spec_data.h"

namespace gradcts {
namespace {

struct Spec {
  std::vector<Area> areas;
  std::vector<Clause> clauses;
  std::vector<Dialect> dialects;
  std::vector<Proof> proofs;
};

std::vector<std::string> read_words(const Fields& fields, std::string_view name) {
  std::vector<std::string> words;
  fields.each(name,
              [&](const Json& json, const Path& path) { words.push_back(read_text(json, path)); });
  return words;
}

void read_clauses(Spec& spec) {
  const Json json = parse_json(clauses_json);
  const Path document;
  const Fields file(json, document, {"areas", "clauses"});
  file.each("areas", [&](const Json& entry, const Path& path) {
    const Fields fields(entry, path, {"id", "title"});
    spec.areas.push_back({fields.text("id"), fields.text("title")});
  });
  file.each("clauses", [&](const Json& entry, const Path& path) {
    const Fields fields(entry, path,
                        {"id", "area", "level", "text", "alternatives", "reports", "unproven"});
    const Json* unproven = fields.find("unproven");
    spec.clauses.push_back({fields.text("id"), fields.text("area"), fields.text("level"),
                            fields.text("text"), read_words(fields, "alternatives"),
                            read_words(fields, "reports"),
                            unproven ? unproven->get<std::string>() : ""});
  });
}

const Clause* find_in(const std::vector<Clause>& clauses, std::string_view id) {
  const auto found = std::find_if(clauses.begin(), clauses.end(),
                                  [&](const Clause& clause) { return clause.id == id; });
  return found == clauses.end() ? nullptr : &*found;
}

// Replaces one choice, after checking that clause and alternative exist.
void choose(Dialect& dialect, const std::vector<Clause>& clauses, const std::string& id,
            const std::string& alternative) {
  const Clause* clause = find_in(clauses, id);
  if (clause == nullptr) {
    std::vector<std::string> known;
    for (const Clause& c : clauses) known.push_back(c.id);
    throw std::invalid_argument("there is no clause '" + id + "'" + suggestion(id, known));
  }
  const auto& alternatives = clause->alternatives;
  if (alternatives.empty()) {
    throw std::invalid_argument("the clause " + id + " has no alternatives to choose from");
  }
  if (std::find(alternatives.begin(), alternatives.end(), alternative) == alternatives.end()) {
    throw std::invalid_argument(fmt::format("the clause {} has no alternative '{}'; expected {}",
                                            id, alternative, fmt::join(alternatives, " or ")));
  }
  dialect.choices[id] = alternative;
}

// A dialect chooses the first alternative wherever it does not say otherwise.
Dialect first_alternatives(const std::vector<Clause>& clauses) {
  Dialect dialect;
  for (const Clause& clause : clauses) {
    if (!clause.alternatives.empty()) dialect.choices[clause.id] = clause.alternatives[0];
  }
  return dialect;
}

void read_dialects(Spec& spec) {
  const Json json = parse_json(dialects_json);
  const Path document;
  Fields(json, document, {"dialects"}).each("dialects", [&](const Json& entry, const Path& path) {
    const Fields fields(entry, path, {"name", "choices"});
    Dialect dialect = first_alternatives(spec.clauses);
    dialect.name = fields.text("name");
    for (const auto& choice : fields.need("choices").get_ref<const Json::object_t&>()) {
      choose(dialect, spec.clauses, choice.first, choice.second.get<std::string>());
    }
    spec.dialects.push_back(std::move(dialect));
  });
}

// The trials of mutants hold more; here only what they prove counts.
void read_proofs(Spec& spec) {
  const Json kills = parse_json(kills_json);
  for (const Json& trial : kills.at("mutants")) {
    for (const auto& [clause, scenario] : trial.at("proofs").items()) {
      spec.proofs.push_back({clause, trial.at("mutant"), scenario});
    }
  }
}

const Spec& the_spec() {
  static const Spec spec = [] {
    Spec made;
    read_clauses(made);
    read_dialects(made);
    read_proofs(made);
    return made;
  }();
  return spec;
}

}  // namespace

bool Dialect::follows(std::string_view clause, std::string_view alternative) const {
  const auto choice = choices.find(clause);
  return choice != choices.end() && choice->second == alternative;
}

std::span<const Area> all_areas() {
  return the_spec().areas;
}
std::span<const Clause> all_clauses() {
  return the_spec().clauses;
}
const Clause* find_clause(std::string_view id) {
  return find_in(the_spec().clauses, id);
}
std::span<const Proof> all_proofs() {
  return the_spec().proofs;
}
std::span<const Dialect> all_dialects() {
  return the_spec().dialects;
}

Dialect make_dialect(std::string_view name,
                     const std::map<std::string, std::string, std::less<>>& overrides) {
  const auto dialects = all_dialects();
  const auto found = std::find_if(dialects.begin(), dialects.end(),
                                  [&](const Dialect& dialect) { return dialect.name == name; });
  if (found == dialects.end()) {
    std::vector<std::string> known;
    for (const Dialect& dialect : dialects) known.push_back(dialect.name);
    throw std::invalid_argument(
        fmt::format("there is no dialect '{}'; expected one of: {}", name, fmt::join(known, ", ")));
  }
  Dialect dialect = *found;
  for (const auto& [clause, alternative] : overrides) {
    choose(dialect, the_spec().clauses, clause, alternative);
  }
  return dialect;
}

}  // namespace gradcts
