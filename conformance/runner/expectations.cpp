#include "conformance/runner/expectations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "conformance/runner/selection.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json_entries.h"
#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

constexpr std::string_view schema = "gradcts.expectations/1";

void read_verdict(ExpectedVerdict& entry, const std::string& text, const std::string& path) {
  using enum VerdictKind;
  entry.flaky = text == "flaky";
  if (entry.flaky) return;
  for (const VerdictKind kind : {fail, crash, hang, error}) {
    if (text == to_text(kind)) {
      entry.verdict = kind;
      return;
    }
  }
  throw FormatError(path + ".verdict",
                    fmt::format("'{}'; expected fail, crash, hang, error or flaky", text));
}

ExpectedVerdict read_entry(const Json& json, const std::string& path) {
  check_entry(json, path, {"id", "pattern", "hash", "verdict", "clause", "reason"});
  ExpectedVerdict entry;
  entry.id = text_field(json, path, "id");
  entry.pattern = text_field(json, path, "pattern");
  if (entry.id.empty() == entry.pattern.empty()) {
    throw FormatError(path, "expected one of 'id' and 'pattern'");
  }
  entry.hash = text_field(json, path, "hash");
  if (!entry.hash.empty() && entry.id.empty()) {
    throw FormatError(path + ".hash", "goes with 'id', not with 'pattern'");
  }
  read_verdict(entry, required_text(json, path, "verdict"), path);
  entry.clause = required_text(json, path, "clause");
  if (!find_clause(entry.clause)) {
    throw FormatError(path + ".clause", fmt::format("no clause '{}'", entry.clause));
  }
  entry.reason = required_text(json, path, "reason");
  return entry;
}

Standing expected_failure(const ExpectedVerdict& entry) {
  return {true, true, false, fmt::format("expected ({}): {}", entry.clause, entry.reason)};
}

Standing surprise(std::string note) {
  return {false, false, false, std::move(note)};
}

struct Clauses {
  std::set<std::string> broken, known;

  Standing surprise_of() const {
    return surprise(fmt::format("expected to break {}, breaks {}", fmt::join(known, ", "),
                                fmt::join(broken, ", ")));
  }
};

Clauses clauses_of(const std::vector<const ExpectedVerdict*>& entries, const Verdict& verdict) {
  Clauses clauses;
  for (const Finding& finding : verdict.findings) clauses.broken.insert(finding.clause);
  for (const ExpectedVerdict* entry : entries) clauses.known.insert(entry->clause);
  return clauses;
}

// The clauses that broke must be those that the entries name.
Standing compare_clauses(const std::vector<const ExpectedVerdict*>& entries,
                         const Verdict& verdict) {
  const Clauses clauses = clauses_of(entries, verdict);
  return clauses.broken == clauses.known ? expected_failure(*entries.front())
                                         : clauses.surprise_of();
}

// What fails now and then may break any of the clauses that the entries name, and no other. Runs
// that differ break DET-1 as well: that is what the entry says.
Standing compare_flaky(const std::vector<const ExpectedVerdict*>& entries, const Verdict& verdict) {
  const ExpectedVerdict& first = *entries.front();
  if (verdict.kind == VerdictKind::pass || verdict.kind == VerdictKind::unsupported) {
    return {true, false, false, first.reason};
  }
  if (verdict.kind != VerdictKind::fail) {
    return surprise(fmt::format("expected to be flaky, is {}", to_text(verdict.kind)));
  }
  Clauses clauses = clauses_of(entries, verdict);
  clauses.known.insert("DET-1");
  return std::ranges::includes(clauses.known, clauses.broken) ? expected_failure(first)
                                                              : clauses.surprise_of();
}

}  // namespace

bool ExpectedVerdict::speaks_of(const std::string& scenario_id) const {
  return id.empty() ? pattern_matches(pattern, scenario_id) : id == scenario_id;
}

Expectations read_expectations(const Json& json) {
  Expectations expectations;
  read_entries(json, schema, "expectations", [&](const Json& entry, const std::string& path) {
    expectations.push_back(read_entry(entry, path));
  });
  return expectations;
}

Expectations load_expectations(const std::string& file) {
  const std::string text = read_file(file);
  try {
    return read_expectations(parse_json(text));
  } catch (const FormatError& problem) {
    throw std::runtime_error(fmt::format("{}: {}", file, problem.what()));
  }
}

std::vector<std::string> stale_entries(const Expectations& expectations,
                                       const std::vector<ScenarioName>& scenarios) {
  std::vector<std::string> stale;
  for (const ExpectedVerdict& entry : expectations) {
    const auto scenario = std::ranges::find_if(
        scenarios, [&](const ScenarioName& name) { return entry.speaks_of(name.id); });
    if (scenario == scenarios.end()) {
      stale.push_back(fmt::format("'{}' matches no scenario", entry.target()));
    } else if (!entry.hash.empty() && entry.hash != scenario->hash) {
      stale.push_back(fmt::format("'{}' was written for content {}, which is now {}: look again",
                                  entry.target(), entry.hash, scenario->hash));
    }
  }
  return stale;
}

Standing compare(const Expectations& expectations, const std::string& id, const Verdict& verdict,
                 bool flaky) {
  std::vector<const ExpectedVerdict*> entries;
  for (const ExpectedVerdict& entry : expectations) {
    if (entry.speaks_of(id)) entries.push_back(&entry);
  }
  const bool fine = verdict.kind == VerdictKind::pass || verdict.kind == VerdictKind::unsupported;
  if (entries.empty()) return {fine, false, false, {}};
  const ExpectedVerdict& first = *entries.front();
  if (first.flaky) return compare_flaky(entries, verdict);
  if (verdict.kind == VerdictKind::pass) {
    return {false, false, true,
            fmt::format("expected to {} ({}: {}), but passes", to_text(first.verdict), first.clause,
                        first.reason)};
  }
  if (verdict.kind != first.verdict || flaky) {
    return surprise(fmt::format("expected to {}, is {}", to_text(first.verdict),
                                flaky ? "flaky" : to_text(verdict.kind)));
  }
  if (verdict.kind == VerdictKind::fail) return compare_clauses(entries, verdict);
  return expected_failure(first);
}

}  // namespace gradcts
