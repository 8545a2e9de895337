#include "fuzz/outside.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "conformance/oracle/oracle.h"
#include "conformance/runner/engine_locator.h"
#include "fuzz/trial.h"

namespace gradcts::fuzz {

OutsideEngine::OutsideEngine(const std::string& engine, std::chrono::milliseconds timeout,
                             KnownFindings known)
    : known_(std::move(known)) {
  options_.worker.engine_path = find_engine(engine).path;
  options_.worker.timeout = timeout;
  worker_ = std::make_unique<WorkerProcess>(options_.worker);
}

ScenarioResult OutsideEngine::run(const Scenario& scenario) {
  PlannedScenario planned;
  planned.scenario = &scenario;
  return run_scenario(planned, worker_, options_);
}

Claims claims_of(const std::vector<std::string>& engines) {
  std::optional<std::vector<std::string>> common;
  for (const std::string& engine : engines) {
    if (engine.empty() || engine == "reference") continue;
    WorkerOptions options;
    options.engine_path = find_engine(engine).path;
    std::vector<std::string> claimed = WorkerProcess(options).description().features;
    if (common) {
      std::erase_if(*common, [&](const std::string& feature) {
        return !missing_features({feature}, claimed).empty();
      });
    } else {
      common = std::move(claimed);
    }
  }
  return common ? Claims(std::move(*common)) : Claims();
}

std::string kind_of(const gradcts::Finding& finding) {
  // Quoted names, names with a number, types, what stands in brackets, numbers.
  static const std::regex varying(
      R"re('[^']*'|\b[a-z]+\.?[0-9]+\b|\([^()]*\)|\[[^\[\]]*\]|-?[0-9]+(\.[0-9]+)*)re");
  static const std::regex marks(R"re(#( ?#)*)re");
  const std::string text =
      fmt::format("expected {}, observed {}", finding.expected, finding.observed);
  const std::string marked = std::regex_replace(text, varying, "#");
  return fmt::format("{}: {}", finding.clause, std::regex_replace(marked, marks, "#"));
}

std::string clause_of(const std::string& failure) {
  return failure.substr(0, failure.find(':'));
}

std::string OutsideEngine::known_as(const Scenario& scenario, const ScenarioResult& result) const {
  const Verdict& verdict = result.verdict;
  if (known_.empty()) return "";
  if (verdict.kind == VerdictKind::crash || verdict.kind == VerdictKind::hang) {
    return fuzz::known_as(known_, to_text(verdict.kind), {verdict.detail}, scenario, nullptr);
  }
  if (verdict.kind != VerdictKind::fail || !result.outcome) return "";
  const Expectation expectation = expect(scenario, worker_->description().make_dialect());
  return fuzz::known_as(known_, verdict.findings.front().clause, texts_of(verdict, *result.outcome),
                        scenario, &expectation);
}

std::string OutsideEngine::failure_of(const Scenario& scenario) {
  const ScenarioResult result = run(scenario);
  const std::string known = known_as(scenario, result);
  if (!known.empty()) return "known finding " + known;
  switch (result.verdict.kind) {
    case VerdictKind::pass:
    case VerdictKind::unsupported:
      return "";
    case VerdictKind::fail: {
      const gradcts::Finding& first = result.verdict.findings.front();
      // A scenario in which nothing is left to run is no smaller case of anything.
      return first.where == "the whole scenario" ? "" : kind_of(first);
    }
    case VerdictKind::error:
      return result.verdict.detail.find("the oracle cannot tell") == 0 ? "" : "error";
    case VerdictKind::crash:
    case VerdictKind::hang:
      return std::string(to_text(result.verdict.kind));
  }
  return "";
}

}  // namespace gradcts::fuzz
