// Judges of what the program saw: results, errors and values of its steps.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "conformance/checker/compare.h"
#include "conformance/checker/describe.h"
#include "conformance/checker/judges.h"

namespace gradcts {

namespace {

const StepResult* actual_step(const Evidence& evidence, std::size_t expected) {
  const std::int32_t index = evidence.steps[expected];
  return index == unmatched ? nullptr : &evidence.outcome.steps[static_cast<std::size_t>(index)];
}

std::string where(const Evidence& evidence, const StepResult& result) {
  return describe_step(evidence.scenario, result.step, result.occurrence);
}

// The clause that speaks of an error nobody expected, by its category.
const char* clause_of(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::gradient_count:
      return "VAL-1";
    case ErrorCategory::gradient_shape:
      return "VAL-2";
    case ErrorCategory::gradient_type:
      return "VAL-3";
    case ErrorCategory::gradient_device:
      return "VAL-4";
    case ErrorCategory::hook_result:
      return "HOOK-3";
    case ErrorCategory::unused_input:
      return "PRUNE-4";
    case ErrorCategory::graph_released:
      return "KEEP-1";
    case ErrorCategory::saved_modified:
      return "KEEP-3";
    case ErrorCategory::not_differentiable:
      return "GRAPH2-3";
    case ErrorCategory::outside_pass:
      return "CB-3";
    case ErrorCategory::nan_gradient:
      return "ANOM-1";
    case ErrorCategory::incomplete:
      return "ERR-7";
    case ErrorCategory::forked:
      return "FORK-1";
    case ErrorCategory::stopped:
      return "SHUT-4";
    case ErrorCategory::device_failure:
      return "DEV-5";
    case ErrorCategory::stream_capture:
      return "STREAM-6";
    default:
      return "ERR-1";
  }
}

std::string describe_expected(const ExpectedStep& expected) {
  const ErrorReport& report = *expected.result.error;
  std::string text = describe(report);
  for (ErrorCategory category : expected.allowed_errors) {
    if (category != report.category) text += fmt::format(" or {}", to_text(category));
  }
  for (const std::string& token : expected.allowed_tokens) {
    if (token != report.token) text += fmt::format(" or '{}'", token);
  }
  return text;
}

}  // namespace

void judge_anything_ran(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const Outcome& outcome = evidence.outcome;
  if (!outcome.steps.empty() || !outcome.events.empty()) return;
  findings.push_back({choose_clause(evidence.scenario, clauses, "TOPO-1"), "the whole scenario",
                      "something runs", "no step and no event"});
}

void judge_steps(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.steps;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].required || actual_step(evidence, i)) continue;
    findings.push_back({choose_clause(evidence.scenario, clauses, "ERR-7"),
                        where(evidence, expected[i].result), "the step ends with a result",
                        "no result"});
  }
  for (std::int32_t index : evidence.surplus_steps) {
    const StepResult& result = evidence.outcome.steps[static_cast<std::size_t>(index)];
    findings.push_back({choose_clause(evidence.scenario, clauses, "TOPO-1"),
                        where(evidence, result), "the step does not run", "a result"});
  }
}

void judge_errors(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.steps;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StepResult* actual = actual_step(evidence, i);
    if (!actual) continue;
    const bool error_expected = expected[i].result.error.has_value();
    if (error_fits(expected[i], actual->error)) continue;
    const char* own = expected[i].clause ? expected[i].clause
                      : actual->error    ? clause_of(actual->error->category)
                                         : clause_of(expected[i].result.error->category);
    findings.push_back({choose_clause(evidence.scenario, clauses, own),
                        where(evidence, expected[i].result),
                        error_expected ? describe_expected(expected[i]) : "no error",
                        actual->error ? describe(*actual->error) : "no error"});
  }
}

namespace {

bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether the word stands in the text as a whole.
bool speaks_of(std::string_view text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_part(text[at - 1]) || !is_word_part(word.front());
    const bool ends = end == text.size() || !is_word_part(text[end]) || !is_word_part(word.back());
    if (begins && ends) return true;
  }
  return false;
}

// The numbers of the text in order; a shape of no dimensions has no numbers and is always there.
bool speaks_of(std::string_view text, const Shape& shape) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    if (i == 0 || std::isdigit(static_cast<unsigned char>(text[i - 1])) == 0)
      numbers.emplace_back();
    numbers.back() += text[i];
  }
  std::vector<std::string> wanted;
  for (const std::int64_t size : shape) wanted.push_back(std::to_string(size));
  return wanted.empty() ||
         std::search(numbers.begin(), numbers.end(), wanted.begin(), wanted.end()) != numbers.end();
}

bool speaks_of(std::string_view text, const Mention& mention) {
  if (const auto* word = std::get_if<std::string>(&mention)) return speaks_of(text, *word);
  if (const auto* shape = std::get_if<Shape>(&mention)) return speaks_of(text, *shape);
  return speaks_of(text, Shape{std::get<std::int64_t>(mention)});
}

std::string in_words(const Mention& mention) {
  if (const auto* word = std::get_if<std::string>(&mention)) return fmt::format("'{}'", *word);
  if (const auto* shape = std::get_if<Shape>(&mention)) {
    return fmt::format("the shape ({})", fmt::join(*shape, ","));
  }
  return fmt::format("the number {}", std::get<std::int64_t>(mention));
}

}  // namespace

void judge_error_texts(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.steps;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StepResult* actual = actual_step(evidence, i);
    if (!actual || !actual->error || !error_fits(expected[i], actual->error)) continue;
    const char* own = expected[i].clause ? expected[i].clause : clause_of(actual->error->category);
    for (const Mention& mention : expected[i].names) {
      if (speaks_of(actual->error->text, mention)) continue;
      findings.push_back(
          {choose_clause(evidence.scenario, clauses, own), where(evidence, expected[i].result),
           "an error that names " + in_words(mention), fmt::format("'{}'", actual->error->text)});
    }
  }
}

void judge_values(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.steps;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StepResult* actual = actual_step(evidence, i);
    if (!actual || actual->error || expected[i].result.error) continue;
    const auto& values = expected[i].result.values;
    const char* own = expected[i].clause ? expected[i].clause : "ACC-1";
    if (actual->values.size() != values.size()) {
      findings.push_back({choose_clause(evidence.scenario, clauses, own),
                          where(evidence, expected[i].result),
                          fmt::format("{} values", values.size()),
                          fmt::format("{} values", actual->values.size())});
      continue;
    }
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (!expected[i].value_known.empty() && !expected[i].value_known[v]) continue;
      const auto wrong = difference(values[v], actual->values[v], expected[i].bound);
      if (!wrong) continue;
      findings.push_back({choose_clause(evidence.scenario, clauses, own),
                          fmt::format("{}, value {}", where(evidence, expected[i].result), v),
                          describe(values[v]),
                          fmt::format("{} ({})", describe(actual->values[v]), *wrong)});
    }
  }
}

}  // namespace gradcts
