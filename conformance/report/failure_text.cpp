#include "conformance/report/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "conformance/report/graph.h"
#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  return result;
}

std::string label(const ScenarioResult& result) {
  if (result.standing.unexpected_pass) return "UNEXPECTED PASS";
  if (result.flaky) return "FLAKY";
  return upper(to_text(result.verdict.kind));
}

std::string clause_text(const std::string& id, const Paint& paint) {
  const Clause* clause = find_clause(id);
  if (!clause) return fmt::format("  {}\n", paint.bold(id));
  const std::string text = wrapped(clause->text, "    ", 100);
  return fmt::format("  {} ({})\n{}", paint.bold(id), clause->level, text);
}

std::string finding_text(const Finding& finding, const Paint& paint) {
  return fmt::format("    at        {}\n    expected  {}\n    observed  {}\n", finding.where,
                     paint.green(finding.expected), paint.red(finding.observed));
}

// Findings grouped as they come: a clause's text stands once before those of one clause in a row.
std::string findings_text(const Verdict& verdict, const Paint& paint) {
  std::string text;
  for (std::size_t i = 0; i < verdict.findings.size(); ++i) {
    const Finding& finding = verdict.findings[i];
    const bool same = i > 0 && verdict.findings[i - 1].clause == finding.clause;
    text += same ? "\n" : clause_text(finding.clause, paint);
    text += finding_text(finding, paint);
  }
  return text;
}

std::string tested_clauses(const Scenario& scenario, const Paint& paint) {
  std::string text;
  for (const std::string& clause : scenario.clauses) text += clause_text(clause, paint);
  return text;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-=:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Paint::code(std::string_view number, std::string_view text) const {
  return on_ ? fmt::format("\033[{}m{}\033[0m", number, text) : std::string(text);
}

std::string replay_command(const RunHeader& header, const std::string& id) {
  std::string command = fmt::format("gradcts replay {} --engine {}", shell_word(id),
                                    shell_word(header.engine_argument));
  if (header.suites_given) command += fmt::format(" --suites {}", shell_word(header.suites));
  if (header.timeout != std::chrono::seconds(10)) {
    command +=
        fmt::format(" --timeout {:g}", std::chrono::duration<double>(header.timeout).count());
  }
  return command;
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) result += fmt::format("{}{}\n", indent, line);
  return result;
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  std::istringstream words{std::string(text)};
  std::string result, line(indent);
  for (std::string word; words >> word;) {
    const bool empty = line.size() == indent.size();
    if (!empty && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line = indent;
    }
    line += (line.size() == indent.size() ? "" : " ") + word;
  }
  return result + line + "\n";
}

std::string failure_text(const ScenarioResult& result, const RunHeader& header,
                         const Paint& paint) {
  return failure_text(result, replay_command(header, result.planned.scenario->id), paint);
}

std::string failure_text(const ScenarioResult& result, const std::string& replay,
                         const Paint& paint) {
  const Scenario& scenario = *result.planned.scenario;
  std::string text = fmt::format("{} {}\n", paint.red(label(result)), paint.bold(scenario.id));
  text += wrapped(scenario.title, "  ");
  if (!result.standing.note.empty())
    text += fmt::format("  {}\n", paint.yellow(result.standing.note));
  const bool has_findings = !result.verdict.findings.empty();
  text += has_findings ? findings_text(result.verdict, paint) : tested_clauses(scenario, paint);
  if (!result.verdict.detail.empty()) {
    text += fmt::format("  {}\n", paint.bold(to_text(result.verdict.kind)));
    text += indented(result.verdict.detail, "    ");
  }
  text += fmt::format("  {}\n{}", paint.bold("graph"), indented(graph_text(scenario), "    "));
  text += fmt::format("  {}\n    {}\n", paint.bold("replay"), replay);
  return text;
}

}  // namespace gradcts
