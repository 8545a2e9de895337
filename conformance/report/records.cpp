#include "conformance/report/records.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "conformance/report/failure_text.h"
#include "conformance/scenario/features.h"

namespace gradcts {
namespace {

Json findings_json(const Verdict& verdict) {
  Json list = Json::array();
  for (const Finding& finding : verdict.findings) {
    list.push_back({{"clause", finding.clause},
                    {"where", finding.where},
                    {"expected", finding.expected},
                    {"observed", finding.observed}});
  }
  return list;
}

Json counts_json(const RunSummary& summary) {
  Json counts = Json::object();
  for (const VerdictKind kind : all_verdicts)
    counts[std::string(to_text(kind))] = summary.count(kind);
  return counts;
}

void add_part(Json& record, const char* name, Json part) {
  if (json_line(part).size() <= largest_part) {
    record[name] = std::move(part);
  } else {
    record["left_out"].push_back(name);
  }
}

}  // namespace

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json header_record(const RunHeader& header) {
  return {{"record", "header"},
          {"schema", "gradcts.report/1"},
          {"engine", header.engine.name},
          {"version", header.engine.version},
          {"dialect", header.engine.dialect},
          {"choices", header.engine.choices},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"scenarios", header.scenario_count},
          {"suite_size", header.suite_size},
          {"shard", header.shard},
          {"expectations", header.expectations},
          {"repeat", header.repeat},
          {"timeout_seconds", std::chrono::duration<double>(header.timeout).count()}};
}

Json scenario_record(const ScenarioResult& result, const RunHeader& header) {
  const Scenario& scenario = *result.planned.scenario;
  const VerdictKind verdict = result.verdict.kind;
  Json record = {{"record", "scenario"},
                 {"id", scenario.id},
                 {"title", scenario.title},
                 {"hash", result.planned.hash},
                 {"clauses", scenario.clauses},
                 {"features", required_features(scenario)},
                 {"verdict", to_text(verdict)},
                 {"as_expected", result.standing.as_expected},
                 {"flaky", result.flaky},
                 {"findings", findings_json(result.verdict)},
                 {"missing_features", result.missing_features},
                 {"detail", result.verdict.detail},
                 {"note", result.standing.note},
                 {"seconds", result.seconds},
                 {"replay", replay_command(header, scenario.id)}};
  Scenario asked = scenario;  // an adapter that sees scripted nodes alone is judged by those
  if (header.engine.trace == Trace::scripted) asked.trace = Trace::scripted;
  add_part(record, "scenario", write_scenario(asked));
  const bool wanted = verdict != VerdictKind::pass && verdict != VerdictKind::unsupported;
  if (wanted && result.outcome)
    add_part(record, "outcome", write_outcome(*result.outcome, scenario));
  return record;
}

Json problem_record(const RunProblem& problem) {
  return {{"record", "problem"}, {"id", problem.id}, {"text", problem.text}};
}

Json summary_record(const RunSummary& summary) {
  return {{"record", "summary"},
          {"counts", counts_json(summary)},
          {"executed", summary.executed()},
          {"expected_failures", summary.expected_failures},
          {"unexpected_passes", summary.unexpected_passes},
          {"flaky", summary.flaky},
          {"not_as_expected", summary.not_as_expected},
          {"problems", summary.problems.size()},
          {"interrupted", summary.interrupted},
          {"exit_status", summary.exit_status()},
          {"seconds", summary.seconds}};
}

}  // namespace gradcts
