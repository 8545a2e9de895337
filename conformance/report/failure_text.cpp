#include "conformance/report/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "conformance/report/graph.h"
#include "conformance/report/words.h"
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
std::string findings_text(const Verdict& verdict, const Paint& paint, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < verdict.findings.size(); ++i) {
    if (i == limit) {
      const std::string left = counted(verdict.findings.size() - i, "more finding");
      return text + paint.dim(fmt::format("    ... and {}: the replay shows all\n", left));
    }
    const Finding& finding = verdict.findings[i];
    const bool same = i > 0 && verdict.findings[i - 1].clause == finding.clause;
    text += same ? "\n" : clause_text(finding.clause, paint);
    text += finding_text(finding, paint);
  }
  return text;
}

std::string tested_clauses(const Scenario& scenario, const Paint& paint, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < scenario.clauses.size(); ++i) {
    if (i < limit)
      text += clause_text(scenario.clauses[i], paint);
    else
      text += fmt::format("  {}\n", paint.bold(scenario.clauses[i]));
  }
  return text;
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::string first_lines(const std::string& text, std::size_t limit) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < limit; ++line) {
    end = text.find('\n', end);
    if (end == std::string::npos) return text;
    ++end;
  }
  const std::size_t left = count_lines(text.substr(end)) + (text.ends_with('\n') ? 0 : 1);
  return left == 0 ? text
                   : text.substr(0, end) + fmt::format("... and {}\n", counted(left, "more line"));
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
  if (!header.dialect.empty()) command += fmt::format(" --dialect {}", shell_word(header.dialect));
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

std::string failure_text(const ScenarioResult& result, const RunHeader& header, const Paint& paint,
                         Length length) {
  return failure_text(result, replay_command(header, result.planned.scenario->id), paint, length);
}

std::string failure_text(const ScenarioResult& result, const std::string& replay,
                         const Paint& paint, Length length) {
  constexpr std::size_t everything = static_cast<std::size_t>(-1);
  const bool brief = length == Length::brief;
  const Scenario& scenario = *result.planned.scenario;
  std::string text = fmt::format("{} {}\n", paint.red(label(result)), paint.bold(scenario.id));
  text += wrapped(scenario.title, "  ");
  if (!result.standing.note.empty())
    text += fmt::format("  {}\n", paint.yellow(result.standing.note));
  const bool has_findings = !result.verdict.findings.empty();
  text += has_findings ? findings_text(result.verdict, paint, brief ? 2 : everything)
                       : tested_clauses(scenario, paint, brief ? 1 : everything);
  if (!result.verdict.detail.empty()) {
    text += fmt::format("  {}\n", paint.bold(to_text(result.verdict.kind)));
    text += indented(first_lines(result.verdict.detail, brief ? 9 : everything), "    ");
  }
  // Besides the graph come its heading, the replay and a line that says how much is left out.
  constexpr std::size_t screen = 24, rest = 4;
  const std::size_t taken = count_lines(text) + rest;
  const std::size_t graph_lines =
      brief ? std::max<std::size_t>(taken < screen ? screen - taken : 0, 3) : 40;
  text += fmt::format("  {}\n{}", paint.bold("graph"),
                      indented(graph_text(scenario, graph_lines), "    "));
  text += fmt::format("  {}\n    {}\n", paint.bold("replay"), replay);
  return text;
}

}  // namespace gradcts
