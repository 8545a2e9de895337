// The report for the browser: one HTML file that holds all it needs and opens from disk.
//
// It is made of records (records.h) of one or several runs, which stand side by side. The page
// itself is the HTML, style and scripts of page/, compiled in. Its data are two blocks: one with all
// that lists and tables show, and one with a line for each drawing or piece of evidence, which is
// only parsed when its case is opened. docs/report.md describes both.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/report/record_file.h"
#include "conformance/runner/result.h"
#include "conformance/scenario/json.h"
#include "conformance/spec/spec.h"

namespace gradcts {

class Page {
 public:
  // Records come run by run, in order. `source` is where the run came from, for people; `earlier`
  // is what it is compared with. Throws std::runtime_error or a Json::exception for records that
  // cannot be read.
  void begin_run(const Json& header, const std::string& source,
                 std::optional<EarlierRun> earlier = std::nullopt);
  void add(const Json& record);
  void end_run(bool complete);

  std::string html() const;

 private:
  struct Case {
    Json head;                         // id, title, clauses, features, hash, drawing
    std::vector<std::string> results;  // JSON text, one for each run; empty: not part of that run
  };
  struct Run {
    Json json;
    Dialect dialect;
    std::optional<EarlierRun> earlier;
    std::set<std::string> seen;
  };

  Case& find_case(const Json& record);
  void add_scenario(const Json& record);
  void add_views(const Json& record, Case& entry, Json& result);
  void compare(const Json& record, Json& result);
  std::optional<std::size_t> keep(const Json& view);
  std::string data() const;

  std::vector<Run> runs_;
  std::vector<Case> cases_;
  std::map<std::string, std::size_t> index_;  // of each id
  std::vector<std::string> views_;            // JSON text, one line each
  std::size_t views_size_ = 0;
};

// Gathers a run, and writes the page when it is over.
class HtmlReporter : public Reporter {
 public:
  // Throws std::runtime_error with one clear line when the file cannot be written.
  explicit HtmlReporter(std::string file);

  void on_start(const RunHeader& header) override;
  void on_result(const ScenarioResult& result) override;
  void on_finish(const RunSummary& summary) override;

 private:
  std::string file_;
  RunHeader header_;
  Page page_;
};

}  // namespace gradcts
