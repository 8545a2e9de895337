#include "tools/gradcts/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>

#include "conformance/report/words.h"
#include "conformance/runner/expectations.h"
#include "conformance/runner/judge.h"
#include "conformance/runner/suite_folder.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/suite.h"

namespace gradcts {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view expectations_schema = "gradcts.expectations/1";

// "B026", "M6", "S3": ids of reports, known engine notes and seed notes.
bool is_report(const std::string& id) {
  static const std::regex form("B[0-9]{3}|[MS][0-9]{1,3}");
  return std::regex_match(id, form);
}

bool same_values(const std::vector<std::optional<TensorValue>>& a,
                 const std::vector<std::optional<TensorValue>>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.has_value() == y.has_value() && (!x || same_bits(*x, *y));
  });
}

// One scenario: what it says about itself, and whether the oracle agrees.
class ScenarioLint {
 public:
  // `place` is where the scenario stands in its file ("scenarios[3]"); empty for the file itself.
  ScenarioLint(const Scenario& scenario, std::string place)
      : scenario_(scenario), place_(std::move(place)) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < scenario_.clauses.size(); ++i) {
      if (!find_clause(scenario_.clauses[i])) {
        add(fmt::format("clauses[{}]", i), fmt::format("no clause '{}'", scenario_.clauses[i]));
      }
    }
    for (std::size_t i = 0; i < scenario_.reports.size(); ++i) {
      if (!is_report(scenario_.reports[i])) {
        add(fmt::format("reports[{}]", i),
            fmt::format("'{}' is no report; expected a form like B026, M6 or S3",
                        scenario_.reports[i]));
      }
    }
    for (std::size_t i = 0; i < scenario_.requires_features.size(); ++i) {
      if (!is_feature(scenario_.requires_features[i])) {
        add(fmt::format("requires[{}]", i),
            fmt::format("no feature '{}'", scenario_.requires_features[i]));
      }
    }
    compare_with_oracle();
    return std::move(problems_);
  }

 private:
  void add(const std::string& path, const std::string& problem) {
    std::string text = place_.empty() ? "" : fmt::format("{} ({}): ", place_, scenario_.id);
    if (!path.empty()) text += fmt::format("{}: ", path);
    problems_.push_back(text + problem);
  }

  void compare_with_oracle() {
    const Expectation expectation = expect_safely(scenario_, make_dialect("reference"));
    if (!expectation.cannot_tell.empty()) {
      add("", fmt::format("the oracle cannot tell what is right: {}", expectation.cannot_tell));
      return;
    }
    for_each_step(scenario_, [&](const Step& step) {
      if (step.expect && stands(*step.expect)) compare_step(step, expectation);
    });
  }

  // What is stated for other dialects is not the reference's.
  static bool stands(const StepExpectation& stated) {
    const Dialect reference = make_dialect("reference");
    return std::ranges::all_of(stated.follows, [&](const Choice& choice) {
      return reference.follows(choice.clause, choice.alternative);
    });
  }

  // Where the oracle knows the number, it must agree; else what is stated is the truth.
  void compare_number(const Step& step, const Expectation& expectation) {
    for (const ExpectedEvent& expected : expectation.events) {
      const Event& event = expected.event;
      const bool known = event.kind == EventKind::observe && event.subject == step.id &&
                         expected.compare_number;
      if (!known || step.expect->number->contains(event.number)) continue;
      return add(step_path(scenario_, step.id) + ".expect",
                 fmt::format("states {}, the oracle says {}", in_words(*step.expect),
                             event.number));
    }
  }

  void compare_step(const Step& step, const Expectation& expectation) {
    if (step.expect->number) compare_number(step, expectation);
    bool reached = false;
    for (const ExpectedStep& expected : expectation.steps) {
      if (expected.result.step != step.id) continue;
      reached = true;
      const std::string problem = disagreement(*step.expect, expected);
      if (!problem.empty()) return add(step_path(scenario_, step.id) + ".expect", problem);
    }
    if (!reached) add(step_path(scenario_, step.id) + ".expect", "the step never runs");
  }

  static std::string disagreement(const StepExpectation& stated, const ExpectedStep& oracle) {
    if (stated.error) {
      const auto& allowed = oracle.allowed_errors;
      const bool agrees = std::ranges::find(allowed, *stated.error) != allowed.end();
      return agrees ? ""
                    : fmt::format("states an error {}, the oracle says {}", to_text(*stated.error),
                                  oracle_text(oracle));
    }
    if (oracle.result.error) {
      return fmt::format("states {}, the oracle says {}", in_words(stated), oracle_text(oracle));
    }
    const bool judged_by_bound = stated.bound.has_value();
    if (!stated.values || judged_by_bound || same_values(*stated.values, oracle.result.values))
      return "";
    return fmt::format("states {}, the oracle says {}", in_words(stated), oracle_text(oracle));
  }

  static std::string oracle_text(const ExpectedStep& oracle) {
    StepExpectation words;
    if (oracle.result.error) words.error = oracle.result.error->category;
    words.values = oracle.result.values;
    return in_words(words);
  }

  const Scenario& scenario_;
  std::string place_;
  std::vector<std::string> problems_;
};

class Lint {
 public:
  LintReport run(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      for (const std::string& file : suite_files(path)) check_file(file);
    }
    for (const std::string& path : paths) {
      for (const std::string& file : expectation_files(path))
        check_expectations(file, load_json(file));
    }
    return std::move(report_);
  }

 private:
  void add(const std::string& file, const std::string& problem) {
    report_.problems.push_back(fmt::format("{}: {}", file, problem));
  }

  static std::vector<std::string> expectation_files(const std::string& path) {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(path) / "expectations", ignored)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::ranges::sort(files);
    return files;
  }

  std::optional<Json> load_json(const std::string& file) {
    ++report_.files;
    try {
      return parse_json(read_file(file));
    } catch (const FormatError& problem) {
      add(file, problem.what());
    } catch (const std::exception& problem) {
      report_.problems.push_back(problem.what());  // names the file
    }
    return std::nullopt;
  }

  void check_file(const std::string& file) {
    const std::optional<Json> json = load_json(file);
    if (!json) return;
    const bool has_schema = json->is_object() && json->contains("schema");
    if (has_schema && (*json)["schema"] == expectations_schema)
      return check_expectations(file, json);
    const bool suite = has_schema && (*json)["schema"] == "gradcts.suite/1";
    const bool has_list = suite && json->contains("scenarios") && (*json)["scenarios"].is_array();
    if (suite && has_list) return check_suite(file, *json);
    try {
      if (suite) expand_suite(*json);  // says what is wrong with it
      check_scenario(file, read_scenario(*json), "");
    } catch (const FormatError& problem) {
      add(file, problem.what());
    }
  }

  // Each entry as a suite of its own, so that one that is wrong does not hide the others.
  void check_suite(const std::string& file, const Json& suite) {
    Json single = suite;
    for (std::size_t i = 0; i < suite["scenarios"].size(); ++i) {
      const std::string place = fmt::format("scenarios[{}]", i);
      single["scenarios"] = Json::array({suite["scenarios"][i]});
      try {
        for (const Scenario& scenario : expand_suite(single)) check_scenario(file, scenario, place);
      } catch (const FormatError& problem) {
        std::string text = problem.what();
        constexpr std::string_view first = "scenarios[0]";
        if (text.starts_with(first)) text.replace(0, first.size(), place);
        add(file, text);
      }
    }
  }

  void check_scenario(const std::string& file, const Scenario& scenario, const std::string& place) {
    ++report_.scenarios;
    const auto [first, is_new] = files_.emplace(scenario.id, file);
    if (!is_new) {
      add(file,
          fmt::format("{}duplicate id '{}', first in {}",
                      place.empty() ? "id: " : fmt::format("{} ({}): id: ", place, scenario.id),
                      scenario.id, first->second));
    }
    names_.push_back({scenario.id, content_hash(scenario)});
    for (const std::string& problem : ScenarioLint(scenario, place).run()) add(file, problem);
  }

  void check_expectations(const std::string& file, const std::optional<Json>& json) {
    if (!json) return;
    try {
      for (const std::string& stale : stale_entries(read_expectations(*json), names_)) {
        add(file, "expectations: " + stale);
      }
    } catch (const FormatError& problem) {
      add(file, problem.what());
    }
  }

  LintReport report_;
  std::map<std::string, std::string> files_;  // of each id
  std::vector<ScenarioName> names_;
};

}  // namespace

LintReport lint(const std::vector<std::string>& paths) {
  return Lint().run(paths);
}

}  // namespace gradcts
