#include "conformance/report/record_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "conformance/scenario/file_text.h"

namespace gradcts {
namespace {

[[noreturn]] void fail(const std::string& file, std::size_t line, const std::string& problem) {
  throw std::runtime_error(fmt::format("{}: line {}: {}", file, line, problem));
}

std::string kind_of(const Json& record) {
  const bool named =
      record.is_object() && record.contains("record") && record["record"].is_string();
  return named ? record["record"].get<std::string>() : std::string();
}

std::string problem_with(const Json& record, bool first) {
  const std::string kind = kind_of(record);
  const bool known =
      kind == "header" || kind == "scenario" || kind == "problem" || kind == "summary";
  if (!known) return "no record of a report; expected what `gradcts run --report json=FILE` writes";
  if (first != (kind == "header"))
    return first ? "a report begins with its header" : "a second header";
  const std::string schema = first ? record.value("schema", "") : "gradcts.report/1";
  return schema == "gradcts.report/1"
             ? ""
             : fmt::format("schema '{}'; this gradcts reads gradcts.report/1", schema);
}

std::ifstream open(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw std::runtime_error(fmt::format("{}: cannot be read: Is a directory", file));
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
  return in;
}

// A record is one line: its own place within itself begins with "line 1, ".
std::string in_the_line(std::string_view problem) {
  constexpr std::string_view first = "line 1, ";
  return std::string(problem.starts_with(first) ? problem.substr(first.size()) : problem);
}

// As std::getline, for files that may be anything: no line is longer than `largest_file`.
bool next_line(std::istream& in, std::string& line, const std::string& file, std::size_t number) {
  line.clear();
  using Traits = std::istream::traits_type;
  for (;;) {
    const auto character = in.rdbuf()->sbumpc();
    if (character == '\n') return true;
    if (character == Traits::eof()) {
      in.setstate(std::ios::eofbit);
      return !line.empty();
    }
    line.push_back(Traits::to_char_type(character));
    if (line.size() > largest_file) {
      fail(file, number, fmt::format("no report: a line of more than {} MiB", largest_file >> 20));
    }
  }
}

}  // namespace

bool read_records(const std::string& file, const std::function<void(const Json&)>& use) {
  std::ifstream in = open(file);
  std::size_t number = 0;
  bool complete = false;
  for (std::string line; next_line(in, line, file, number + 1);) {
    const bool cut = in.eof();  // the last line has no end
    ++number;
    try {
      const Json record = parse_json(line);
      const std::string problem = problem_with(record, number == 1);
      if (!problem.empty()) fail(file, number, problem);
      complete = kind_of(record) == "summary";
      use(record);
    } catch (const FormatError& problem) {
      if (cut && number > 1) return false;
      fail(file, number, in_the_line(problem.what()));
    } catch (const Json::exception& problem) {
      const std::string_view what = problem.what();  // "[json.exception...] what it is"
      fail(file, number, fmt::format("a field is missing or of another type: {}",
                                     what.substr(what.find("] ") + 2)));
    }
  }
  if (number == 0) throw std::runtime_error(fmt::format("{}: empty: no report", file));
  return complete;
}

EarlierRun read_earlier_run(const std::string& file) {
  EarlierRun run;
  run.file = file;
  read_records(file, [&](const Json& record) {
    if (kind_of(record) == "header") {
      run.engine = record.at("engine").get<std::string>();
      run.version = record.at("version").get<std::string>();
      run.started = record.value("started", "");
    } else if (kind_of(record) == "scenario") {
      run.results[record.at("id").get<std::string>()] = {record.at("verdict").get<std::string>(),
                                                         record.at("hash").get<std::string>(),
                                                         record.value("flaky", false)};
    }
  });
  return run;
}

}  // namespace gradcts
