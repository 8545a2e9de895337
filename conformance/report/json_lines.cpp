#include "conformance/report/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "conformance/report/records.h"
#include "conformance/scenario/file_text.h"

namespace gradcts {

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
  header_ = header;
  write(header_record(header));
}

void JsonLinesReporter::on_result(const ScenarioResult& result) {
  write(scenario_record(result, header_));
}

void JsonLinesReporter::on_finish(const RunSummary& summary) {
  for (const RunProblem& problem : summary.problems) write(problem_record(problem));
  write(summary_record(summary));
}

}  // namespace gradcts
