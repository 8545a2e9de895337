#include "conformance/report/page.h"

#include <fmt/format.h>

#include <stdexcept>

#include "conformance/report/case_view.h"
#include "conformance/report/page_data.h"
#include "conformance/report/records.h"
#include "conformance/runner/judge.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/file_text.h"

namespace gradcts {
namespace {

// Drawings and evidence beyond this are left out, and the page says so: a browser has to open it.
constexpr std::size_t most_view_bytes = 64u << 20;

bool is_failing(const std::string& verdict) {
  return verdict == "fail" || verdict == "crash" || verdict == "hang" || verdict == "error";
}

// For a <script> block: no '<' may stand in it, or the block could end there.
std::string script_text(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

Json clauses_json() {
  Json clauses = Json::object();
  for (const Clause& clause : all_clauses()) {
    clauses[clause.id] = {{"area", clause.area}, {"level", clause.level}, {"text", clause.text}};
    if (!clause.alternatives.empty()) clauses[clause.id]["alternatives"] = clause.alternatives;
  }
  return clauses;
}

Json areas_json() {
  Json areas = Json::array();
  for (const Area& area : all_areas()) areas.push_back({{"id", area.id}, {"title", area.title}});
  return areas;
}

Json features_json() {
  Json features = Json::object();
  for (const FeatureSpec& feature : all_features())
    features[std::string(feature.name)] = feature.meaning;
  return features;
}

std::vector<Finding> findings_of(const Json& record) {
  std::vector<Finding> findings;
  for (const Json& finding : record.at("findings")) {
    findings.push_back(
        {finding.at("clause").get<std::string>(), finding.at("where").get<std::string>(),
         finding.at("expected").get<std::string>(), finding.at("observed").get<std::string>()});
  }
  return findings;
}

// Fields that say something, under short names: there may be ten thousand of them.
Json short_result(const Json& record) {
  Json result = {{"v", record.at("verdict")}, {"s", record.at("seconds")}};
  if (!record.at("as_expected").get<bool>()) result["odd"] = true;
  for (const char* name :
       {"flaky", "findings", "missing_features", "detail", "note", "replay", "left_out"}) {
    if (!record.contains(name)) continue;
    const Json& value = record.at(name);
    const bool empty = value.empty() || value == "" || value == false;
    if (!empty) result[name] = value;
  }
  return result;
}

void replace_marker(std::string& page, std::string_view marker, const std::string& text) {
  const std::size_t at = page.find(marker);
  if (at == std::string::npos) throw std::logic_error(fmt::format("page.html has no {}", marker));
  page.replace(at, marker.size(), text);
}

}  // namespace

void Page::begin_run(const Json& header, const std::string& source,
                     std::optional<EarlierRun> earlier) {
  Run run;
  run.json = header;
  run.json.erase("record");
  run.json.erase("schema");
  run.json["source"] = source;
  std::map<std::string, std::string, std::less<>> choices;
  const Json chosen = header.value("choices", Json::object());
  for (const auto& [clause, choice] : chosen.items()) choices[clause] = choice.get<std::string>();
  run.dialect = make_dialect(header.at("dialect").get<std::string>(), choices);
  if (earlier) {
    run.json["earlier"] = {{"engine", earlier->engine},
                           {"version", earlier->version},
                           {"started", earlier->started},
                           {"source", earlier->file}};
  }
  run.earlier = std::move(earlier);
  runs_.push_back(std::move(run));
}

void Page::add(const Json& record) {
  const std::string kind = record.at("record").get<std::string>();
  if (kind == "scenario") add_scenario(record);
  if (kind == "problem") {
    runs_.back().json["problems"].push_back({{"id", record.at("id")}, {"text", record.at("text")}});
  }
  if (kind == "summary") {
    for (const char* name : {"seconds", "interrupted", "exit_status"})
      runs_.back().json[name] = record.at(name);
  }
}

Page::Case& Page::find_case(const Json& record) {
  const std::string id = record.at("id").get<std::string>();
  const auto [found, is_new] = index_.emplace(id, cases_.size());
  if (is_new) {
    Json head = {{"id", id},
                 {"title", record.value("title", "")},
                 {"clauses", record.at("clauses")},
                 {"hash", record.at("hash")}};
    if (record.contains("features")) head["features"] = record["features"];
    cases_.push_back({std::move(head), {}});
  }
  return cases_[found->second];
}

std::optional<std::size_t> Page::keep(const Json& view) {
  std::string text = script_text(json_line(view));
  if (views_size_ + text.size() > most_view_bytes) return std::nullopt;
  views_size_ += text.size();
  views_.push_back(std::move(text));
  return views_.size() - 1;
}

void Page::add_views(const Json& record, Case& entry, Json& result) {
  if (!record.contains("scenario")) return;
  const bool other = record.at("hash") != entry.head.at("hash");
  const bool drawn = entry.head.contains("drawing") && !other;
  if (drawn && !record.contains("outcome")) return;
  const Scenario scenario = read_scenario(record["scenario"]);
  const Expectation expectation = expect_safely(scenario, runs_.back().dialect);
  if (!drawn) {
    const auto line = keep(case_drawing(scenario, expectation));
    Json& holder = other ? result : entry.head;
    if (line) holder["drawing"] = *line;
    if (!scenario.reports.empty()) entry.head["reports"] = scenario.reports;
  }
  if (!record.contains("outcome")) return;
  const Outcome outcome = read_outcome(record["outcome"], scenario);
  const auto line = keep(case_evidence(scenario, expectation, outcome, findings_of(record)));
  if (line) result["evidence"] = *line;
}

// "new": it fails and did not; "fixed": it passes and failed; "still": it fails as before; "added":
// it was not part of the earlier run, and passes.
void Page::compare(const Json& record, Json& result) {
  const auto& earlier = runs_.back().earlier;
  if (!earlier) return;
  const std::string id = record.at("id").get<std::string>(),
                    verdict = record.at("verdict").get<std::string>();
  const auto found = earlier->results.find(id);
  if (found == earlier->results.end()) {
    result["change"] = is_failing(verdict) ? "new" : "added";
    return;
  }
  const EarlierRun::Result& was = found->second;
  if (was.verdict != verdict) result["was"] = was.verdict;
  if (was.hash != record.at("hash").get<std::string>()) result["was_hash"] = was.hash;
  if (was.flaky) result["was_flaky"] = true;
  if (is_failing(verdict)) result["change"] = is_failing(was.verdict) ? "still" : "new";
  if (verdict == "pass" && is_failing(was.verdict)) result["change"] = "fixed";
}

void Page::add_scenario(const Json& record) {
  Run& run = runs_.back();
  const std::string id = record.at("id").get<std::string>();
  if (!run.seen.insert(id).second)
    throw std::runtime_error(fmt::format("a second result of '{}'", id));
  Case& entry = find_case(record);
  Json result = short_result(record);
  compare(record, result);
  try {
    add_views(record, entry, result);
  } catch (const std::exception& problem) {
    result["no_evidence"] = problem.what();  // the verdict stands, without a picture
  }
  entry.results.resize(runs_.size());
  entry.results.back() = script_text(json_line(result));
}

void Page::end_run(bool complete) {
  Run& run = runs_.back();
  if (!complete) run.json["cut_short"] = true;
  const auto count = run.json.at("scenarios").get<std::size_t>();
  const bool whole = complete && run.json.at("suite_size") == count && run.seen.size() == count;
  if (!run.earlier || !whole) return;
  Json gone = Json::array();
  for (const auto& [id, result] : run.earlier->results) {
    if (!run.seen.contains(id)) gone.push_back(id);
  }
  if (!gone.empty()) run.json["gone"] = std::move(gone);
}

std::string Page::data() const {
  std::string runs, cases;
  for (const Run& run : runs_)
    runs += fmt::format("{}{}", runs.empty() ? "" : ",\n", script_text(json_line(run.json)));
  for (const Case& entry : cases_) {
    std::string results;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const bool part = i < entry.results.size() && !entry.results[i].empty();
      results += fmt::format("{}{}", i == 0 ? "" : ",", part ? entry.results[i] : "null");
    }
    std::string head = script_text(json_line(entry.head));
    head.pop_back();  // the closing brace
    cases += fmt::format("{}{},\"results\":[{}]}}", cases.empty() ? "" : ",\n", head, results);
  }
  return fmt::format(
      "{{\"areas\":{},\n\"clauses\":{},\n\"features\":{},\n\"runs\":[{}],\n\"cases\":[{}]}}",
      script_text(json_line(areas_json())), script_text(json_line(clauses_json())),
      script_text(json_line(features_json())), runs, cases);
}

std::string Page::html() const {
  std::string views;
  for (const std::string& view : views_) views += view + "\n";
  std::string page = page_html;
  // From the end to the beginning, so that what was put in is not looked through again.
  replace_marker(page, "{{script}}", page_script);
  replace_marker(page, "{{views}}", views);
  replace_marker(page, "{{data}}", data());
  replace_marker(page, "{{style}}", page_style);
  return page;
}

HtmlReporter::HtmlReporter(std::string file) : file_(std::move(file)) {
  check_writable(file_);
}

void HtmlReporter::on_start(const RunHeader& header) {
  header_ = header;
  page_.begin_run(header_record(header), "");
}

void HtmlReporter::on_result(const ScenarioResult& result) {
  page_.add(scenario_record(result, header_));
}

void HtmlReporter::on_finish(const RunSummary& summary) {
  for (const RunProblem& problem : summary.problems) page_.add(problem_record(problem));
  page_.add(summary_record(summary));
  page_.end_run(true);
  write_file(file_, page_.html());
}

}  // namespace gradcts
