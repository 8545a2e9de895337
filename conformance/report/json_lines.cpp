#include "conformance/report/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "conformance/report/failure_text.h"
#include "conformance/runner/file_text.h"

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

}  // namespace

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonLinesReporter::JsonLinesReporter(std::string file)
    : file_(std::move(file)), out_(nullptr, std::fclose) {
  check_writable(file_);
}

void JsonLinesReporter::write(const Json& json) {
  const std::string line = json_line(json) + "\n";
  const bool written = std::fwrite(line.data(), 1, line.size(), out_.get()) == line.size();
  if (!written || std::fflush(out_.get()) != 0) {
    throw std::runtime_error(fmt::format("{}: cannot be written: {}", file_, std::strerror(errno)));
  }
}

void JsonLinesReporter::on_start(const RunHeader& header) {
  out_.reset(std::fopen(file_.c_str(), "wb"));
  if (!out_)
    throw std::runtime_error(fmt::format("{}: cannot be written: {}", file_, std::strerror(errno)));
  write({{"record", "header"},
         {"schema", "gradcts.report/1"},
         {"engine", header.engine.name},
         {"version", header.engine.version},
         {"dialect", header.engine.dialect},
         {"scenarios", header.scenario_count},
         {"suite_size", header.suite_size},
         {"shard", header.shard},
         {"expectations", header.expectations},
         {"repeat", header.repeat},
         {"timeout_seconds", std::chrono::duration<double>(header.timeout).count()}});
}

void JsonLinesReporter::on_result(const ScenarioResult& result) {
  const Scenario& scenario = *result.planned.scenario;
  write({{"record", "scenario"},
         {"id", scenario.id},
         {"hash", result.planned.hash},
         {"clauses", scenario.clauses},
         {"verdict", to_text(result.verdict.kind)},
         {"as_expected", result.standing.as_expected},
         {"flaky", result.flaky},
         {"findings", findings_json(result.verdict)},
         {"missing_features", result.missing_features},
         {"detail", result.verdict.detail},
         {"note", result.standing.note},
         {"seconds", result.seconds}});
}

void JsonLinesReporter::on_finish(const RunSummary& summary) {
  for (const RunProblem& problem : summary.problems) {
    write({{"record", "problem"}, {"id", problem.id}, {"text", problem.text}});
  }
  write({{"record", "summary"},
         {"counts", counts_json(summary)},
         {"executed", summary.executed()},
         {"expected_failures", summary.expected_failures},
         {"unexpected_passes", summary.unexpected_passes},
         {"flaky", summary.flaky},
         {"not_as_expected", summary.not_as_expected},
         {"problems", summary.problems.size()},
         {"interrupted", summary.interrupted},
         {"exit_status", summary.exit_status()},
         {"seconds", summary.seconds}});
}

}  // namespace gradcts
