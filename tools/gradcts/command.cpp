#include "tools/gradcts/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

namespace gradcts {
namespace {

// The library's own range takes what is no number (nan) for one that is in it.
CLI::Validator seconds_of_a_day() {
  return CLI::Validator(
      [](const std::string& text) {
        double seconds = 0;
        const bool number = CLI::detail::lexical_cast(text, seconds);
        const bool right = number && seconds >= 0.001 && seconds <= 86400;
        return right ? ""
                     : fmt::format("'{}': expected seconds, from 0.001 to 86400 (a day)", text);
      },
      "");
}

}  // namespace

void add_scenario_argument(CLI::App& command, std::string& id_or_file) {
  command.add_option("scenario", id_or_file, "Id of a scenario, or a file with one")
      ->type_name("ID|FILE")
      ->required();
}

void add_engine_option(CLI::App& command, std::string& engine) {
  command
      .add_option("--engine", engine,
                  "Name of an engine, or path of its library or program (default: reference)")
      ->type_name("NAME|PATH");
}

void add_dialect_option(CLI::App& command, std::string& dialect) {
  command
      .add_option("--dialect", dialect,
                  "Judge by this dialect, instead of the one that the engine declares")
      ->type_name("NAME");
}

void add_timeout_option(CLI::App& command, double& seconds, const std::string& what) {
  command
      .add_option("--timeout", seconds,
                  fmt::format("Seconds for {} before it counts as a hang (default {:g})", what,
                              seconds))
      ->type_name("SECONDS")
      ->check(seconds_of_a_day());
}

void add_repeat_option(CLI::App& command, int& times) {
  command
      .add_option("--repeat", times,
                  "Run each scenario N times; results that differ are flaky (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
}

CLI::Validator counting_number() {
  return CLI::Validator(
      [](const std::string& text) {
        std::uint64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        const bool right = error == std::errc() && rest == end;
        return right ? "" : fmt::format("'{}': expected a whole number from 0 on", text);
      },
      "");
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int>(seconds * 1000));
}

void add_suites_option(CLI::App& command, std::string& suites) {
  command
      .add_option(
          "--suites", suites,
          "Folder or file with the scenarios (default: GRADCTS_SUITES, or those of gradcts)")
      ->type_name("PATH");
}

std::unique_ptr<SuiteFolder> load_suites_or_wrong_use(const std::string& path) {
  return or_wrong_use([&] { return std::make_unique<SuiteFolder>(find_suites(path)); });
}

Chosen choose_scenario(const std::string& id_or_file, const std::string& suites) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(id_or_file, ignored)) {
    auto folder = load_suites_or_wrong_use(id_or_file);
    if (folder->scenarios().size() != 1) {
      throw WrongUse(fmt::format("{}: holds {} scenarios; choose one: `ID --suites {}`", id_or_file,
                                 folder->scenarios().size(), id_or_file));
    }
    const PlannedScenario planned = folder->scenarios().front();
    return {std::move(folder), planned};
  }
  auto folder = load_suites_or_wrong_use(suites);
  const PlannedScenario* found = folder->find(id_or_file);
  if (!found) {
    throw WrongUse(fmt::format("no scenario and no file '{}'; `gradcts list` shows the scenarios",
                               id_or_file));
  }
  const PlannedScenario planned = *found;
  return {std::move(folder), planned};
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}", row[i], widths[i] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace gradcts
