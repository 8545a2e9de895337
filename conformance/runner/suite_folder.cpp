#include "conformance/runner/suite_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "conformance/runner/engine_locator.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

namespace fs = std::filesystem;

std::string existing(const std::string& path, const char* source) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw std::runtime_error(fmt::format("{}: no such file or folder{}", path, source));
  }
  return path;
}

// Also what campaigns know, in expectations/fuzz.
bool is_expectation(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return folder.filename() == "expectations" || folder.parent_path().filename() == "expectations";
}

}  // namespace

std::string find_suites(const std::string& given) {
  if (!given.empty()) return existing(given, "");
  if (const char* variable = std::getenv("GRADCTS_SUITES"); variable && *variable) {
    return existing(variable, " (from GRADCTS_SUITES)");
  }
  const fs::path program = program_folder();
  const fs::path installed = program.parent_path() / "share/gradcts/suites";
  std::error_code ignored;
  if (fs::is_directory(installed, ignored)) return installed.string();
  if (fs::equivalent(program, GRADCTS_BUILD_PROGRAMS, ignored)) {
    return existing(GRADCTS_SOURCE_SUITES, "");
  }
  throw std::runtime_error(fmt::format(
      "no suites in {}; say where they are with --suites or GRADCTS_SUITES", installed.string()));
}

std::vector<std::string> suite_files(const std::string& path) {
  existing(path, "");
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    const bool wanted = entry.path().extension() == ".json" && entry.is_regular_file();
    if (wanted && !is_expectation(entry.path())) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

SuiteFolder::SuiteFolder(const std::string& path) {
  std::map<std::string, std::string> seen;  // id to file
  for (const std::string& file : suite_files(path)) {
    for (SuiteEntry& entry : load_suites(file)) {
      const auto [first, is_new] = seen.emplace(entry.scenario.id, file);
      if (!is_new) {
        throw std::runtime_error(fmt::format("{}: duplicate id '{}', first in {}", file,
                                             entry.scenario.id, first->second));
      }
      entries_.push_back(std::move(entry));
    }
  }
  if (entries_.empty()) {
    throw std::runtime_error(fmt::format(
        "{}: no scenarios: {}", path,
        fs::is_directory(path) ? "no file in it, with a name in .json, has any" : "an empty suite"));
  }
  for (const SuiteEntry& entry : entries_) {
    planned_.push_back({&entry.scenario, content_hash(entry.scenario), entry.file});
  }
}

std::vector<const Scenario*> SuiteFolder::pointers() const {
  std::vector<const Scenario*> pointers;
  for (const PlannedScenario& planned : planned_) pointers.push_back(planned.scenario);
  return pointers;
}

const PlannedScenario* SuiteFolder::find(const std::string& id) const {
  const auto found = std::ranges::find_if(
      planned_, [&](const PlannedScenario& planned) { return planned.scenario->id == id; });
  return found == planned_.end() ? nullptr : &*found;
}

std::optional<std::string> default_expectations(const std::string& suites,
                                                const std::string& engine) {
  const fs::path file = fs::path(suites) / "expectations" / (engine + ".json");
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  return file.string();
}

}  // namespace gradcts
