#include "conformance/report/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "conformance/report/words.h"
#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

// Totals add up only when a scenario counts once: it counts for the area of its first clause.
std::string area_of(const Scenario& scenario) {
  const std::string& clause = scenario.clauses.empty() ? std::string() : scenario.clauses.front();
  const Clause* known = find_clause(clause);
  return known ? known->area : clause.substr(0, clause.find('-'));
}

std::size_t count_of(const std::map<VerdictKind, std::size_t>& counts, VerdictKind kind) {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

std::size_t column_width(VerdictKind kind) {
  return std::max<std::size_t>(to_text(kind).size(), 5);
}

std::string cell(std::size_t count) {
  return count == 0 ? "." : std::to_string(count);
}

std::size_t columns(std::FILE* out) {
  winsize size{};
  const bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string header_text(const RunHeader& header) {
  std::string text =
      fmt::format("{} {} (dialect {}): {}", header.engine.name, header.engine.version,
                  header.engine.dialect, counted(header.scenario_count, "scenario"));
  if (header.scenario_count != header.suite_size) text += fmt::format(" of {}", header.suite_size);
  if (!header.shard.empty()) text += fmt::format(", shard {}", header.shard);
  text += fmt::format(", {}", counted(static_cast<std::size_t>(header.jobs), "worker"));
  if (header.repeat > 1) text += fmt::format(", {} runs each", header.repeat);
  if (!header.expectations.empty()) {
    text += fmt::format("\nexpectations: {} ({})", header.expectations,
                        header.expectation_count == 1
                            ? "1 entry"
                            : fmt::format("{} entries", header.expectation_count));
  }
  return text + "\n";
}

}  // namespace

ConsoleReporter::ConsoleReporter(std::FILE* out, Options options)
    : out_(out), options_(options), paint_(options.colours) {}

void ConsoleReporter::print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void ConsoleReporter::clear_progress() {
  if (progress_shown_) print("\r\033[K");
  progress_shown_ = false;
}

void ConsoleReporter::on_start(const RunHeader& header) {
  header_ = header;
  started_ = Clock::now();
  if (!options_.quiet) print(header_text(header));
}

void ConsoleReporter::on_progress(const std::string& id, std::size_t done) {
  if (!options_.terminal || options_.quiet) return;
  const Clock::time_point now = Clock::now();
  if (progress_shown_ && now - progress_at_ < std::chrono::milliseconds(50))
    return;  // none can read faster
  std::string text = fmt::format("[{}/{}", done, header_.scenario_count);
  if (surprises_ > 0) text += fmt::format(", {} not as expected", surprises_);
  const std::string left = time_left(done, header_.scenario_count, now - started_);
  if (!left.empty()) text += fmt::format(", {} left", left);
  text += fmt::format("] {}", id);
  print(fmt::format("\r\033[K{:.{}}", text,
                    columns(out_) - 1));  // a line that wraps would stay behind
  progress_at_ = now;
  progress_shown_ = true;
}

void ConsoleReporter::on_result(const ScenarioResult& result) {
  const Scenario& scenario = *result.planned.scenario;
  Row& row = rows_[area_of(scenario)];
  ++row.counts[result.verdict.kind];
  row.expected_failures += result.standing.expected_failure;
  row.not_as_expected += !result.standing.as_expected;
  unsupported_ += result.verdict.kind == VerdictKind::unsupported;
  for (const std::string& feature : result.missing_features)
    missing_[feature].push_back(scenario.id);
  if (result.standing.as_expected) return;
  ++surprises_;
  surprise_lines_.push_back(fmt::format(
      "  {}  {}", scenario.id,
      result.standing.unexpected_pass ? "unexpected pass" : to_text(result.verdict.kind)));
  clear_progress();
  print(fmt::format("\n{}", failure_text(result, header_, paint_, Length::brief)));
}

void ConsoleReporter::on_finish(const RunSummary& summary) {
  clear_progress();
  print_problems(summary);
  if (!options_.quiet) {
    print_table();
    print_not_checked();
  }
  if (!options_.quiet || summary.exit_status() != 0) print_last_line(summary);
}

void ConsoleReporter::print_problems(const RunSummary& summary) {
  for (const RunProblem& problem : summary.problems) {
    const std::string name = problem.id.empty() ? "" : fmt::format(" {}", paint_.bold(problem.id));
    print(fmt::format("\n{}{}\n{}", paint_.red("PROBLEM"), name, indented(problem.text, "  ")));
    if (!problem.id.empty())
      print(fmt::format("  replay\n    {}\n", replay_command(header_, problem.id)));
  }
}

std::string ConsoleReporter::row_text(const std::string& area, const std::string& title,
                                      const Row& row) const {
  std::string text = fmt::format("{:<8} {:<32}", area, title.substr(0, 32));
  for (const VerdictKind kind : all_verdicts) {
    text += fmt::format("  {:>{}}", cell(count_of(row.counts, kind)), column_width(kind));
  }
  return text +
         fmt::format("  {:>8}  {:>10}", cell(row.expected_failures), cell(row.not_as_expected));
}

std::string ConsoleReporter::heading() const {
  std::string text = fmt::format("{:<8} {:<32}", "area", "");
  for (const VerdictKind kind : all_verdicts) {
    text += fmt::format("  {:>{}}", to_text(kind), column_width(kind));
  }
  return text + fmt::format("  {:>8}  {:>10}", "expected", "unexpected");
}

void ConsoleReporter::print_row(const std::string& area, const std::string& title, const Row& row) {
  const std::string text = row_text(area, title, row);
  print((row.not_as_expected > 0 ? paint_.red(text) : text) + "\n");
}

// Areas in the order of the clauses; one that the specification does not know comes last.
void ConsoleReporter::print_table() {
  if (rows_.empty()) return;
  print(fmt::format("\n{}\n", paint_.bold(heading())));
  std::map<std::string, Row> left = rows_;
  for (const Area& area : all_areas()) {
    const auto found = left.find(area.id);
    if (found == left.end()) continue;
    print_row(area.id, area.title, found->second);
    left.erase(found);
  }
  for (const auto& [area, row] : left) print_row(area, "", row);
  Row total;
  for (const auto& [area, row] : rows_) {
    for (const auto& [kind, count] : row.counts) total.counts[kind] += count;
    total.expected_failures += row.expected_failures;
    total.not_as_expected += row.not_as_expected;
  }
  print(paint_.bold(row_text("total", "", total)) + "\n");
}

void ConsoleReporter::print_not_checked() {
  if (header_.engine.trace == Trace::scripted) {
    print(
        "\nnot checked: which built-in nodes run, and when; the adapter sees scripted nodes "
        "alone\n");
  }
  if (unsupported_ == 0) return;
  print(fmt::format("\nnot checked: {} that {} features which the engine does not claim\n",
                    counted(unsupported_, "scenario"), unsupported_ == 1 ? "needs" : "need"));
  std::vector<std::pair<std::string, std::size_t>> features;
  for (const auto& [feature, ids] : missing_) features.emplace_back(feature, ids.size());
  std::ranges::stable_sort(features, std::greater(), &std::pair<std::string, std::size_t>::second);
  for (const auto& [feature, count] : features) print(fmt::format("  {:>5}  {}\n", count, feature));
}

std::string ConsoleReporter::conclusion(const RunSummary& summary) const {
  if (header_.scenario_count == 0) return "nothing was executed: no scenario is selected";
  if (summary.executed() == 0) {
    return "nothing was executed: the engine claims the features of no selected scenario";
  }
  if (summary.exit_status() == 0) {
    const std::size_t expected = summary.expected_failures;
    return expected == 0
               ? "all as expected"
               : fmt::format("all as expected, {}", counted(expected, "expected failure"));
  }
  std::string text = fmt::format("{} not as expected", summary.not_as_expected);
  if (!summary.problems.empty()) {
    text += fmt::format(", {} of the run", counted(summary.problems.size(), "problem"));
  }
  return text;
}

void ConsoleReporter::print_last_line(const RunSummary& summary) {
  if (summary.interrupted) print(paint_.red("\ninterrupted: the run is not complete\n"));
  if (!surprise_lines_.empty()) print("\nnot as expected:\n");
  for (const std::string& line : surprise_lines_) print(line + "\n");
  const std::string text =
      fmt::format("\n{} in {:.1f} s: {}", counted(summary.executed(), "scenario"), summary.seconds,
                  conclusion(summary));
  print((summary.exit_status() == 0 ? paint_.green(text) : paint_.red(text)) + "\n");
}

ConsoleReporter::Options console_options(std::FILE* out) {
  const auto says = [](const char* variable, std::string_view value) {
    const char* text = std::getenv(variable);
    return text && (value.empty() ? *text != '\0' : text == value);
  };
  const bool terminal = isatty(fileno(out)) != 0 && !says("TERM", "dumb");
  return {terminal, terminal && !says("NO_COLOR", ""), false};
}

Paint paint_for(std::FILE* out) {
  return Paint(console_options(out).colours);
}

std::string time_left(std::size_t done, std::size_t total, std::chrono::duration<double> elapsed) {
  if (done == 0 || done >= total || elapsed.count() < 5) return "";
  const double each = elapsed.count() / static_cast<double>(done);
  const auto seconds = static_cast<std::int64_t>(each * static_cast<double>(total - done) + 0.5);
  if (seconds < 90) return fmt::format("{} s", std::max<std::int64_t>(seconds, 1));
  const std::int64_t minutes = (seconds + 30) / 60;
  if (minutes < 90) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace gradcts
