#include "conformance/report/junit.h"

#include <fmt/format.h>

#include <cstdint>

#include "conformance/report/failure_text.h"
#include "conformance/scenario/file_text.h"

namespace gradcts {
namespace {

// The length of the well-formed UTF-8 character at the front that XML allows, or 0.
std::size_t xml_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  const bool forbidden = point == 0xfffe || point == 0xffff || point > 0x10ffff;
  return point < least[length] || surrogate || forbidden ? 0 : length;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string message(const ScenarioResult& result) {
  if (!result.standing.note.empty()) return result.standing.note;
  if (!result.verdict.findings.empty()) {
    const Finding& finding = result.verdict.findings.front();
    return fmt::format("{}: {}: expected {}, observed {}", finding.clause, finding.where,
                       finding.expected, finding.observed);
  }
  return first_line(result.verdict.detail);
}

const char* element(const ScenarioResult& result) {
  if (result.verdict.kind == VerdictKind::unsupported && result.standing.as_expected)
    return "skipped";
  if (result.standing.as_expected) return result.standing.expected_failure ? "skipped" : nullptr;
  const bool failure = result.verdict.kind == VerdictKind::fail ||
                       result.standing.unexpected_pass ||
                       result.verdict.kind == VerdictKind::unsupported;
  return failure ? "failure" : "error";
}

std::string property(const char* name, const std::string& value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml_escaped(value));
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = xml_character(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0)
      result += '?';
    else if (character == "&")
      result += "&amp;";
    else if (character == "<")
      result += "&lt;";
    else if (character == ">")
      result += "&gt;";
    else if (character == "\"")
      result += "&quot;";
    else if (character == "\n")
      result += "&#10;";
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

JUnitReporter::JUnitReporter(std::string file) : file_(std::move(file)) {
  check_writable(file_);
}

void JUnitReporter::on_start(const RunHeader& header) {
  header_ = header;
}

void JUnitReporter::on_result(const ScenarioResult& result) {
  const Scenario& scenario = *result.planned.scenario;
  const std::string group = scenario.id.substr(0, scenario.id.rfind('/'));
  cases_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"",
                        xml_escaped(group), xml_escaped(scenario.id), result.seconds);
  ++count_;
  const char* kind = element(result);
  if (!kind) {
    cases_ += "/>\n";
    return;
  }
  const std::string_view name = kind;
  failures_ += name == "failure";
  errors_ += name == "error";
  skipped_ += name == "skipped";
  const std::string text = name == "skipped" ? "" : failure_text(result, header_, Paint(false));
  cases_ += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", kind,
                        to_text(result.verdict.kind), xml_escaped(message(result)),
                        xml_escaped(text), kind);
}

void JUnitReporter::on_finish(const RunSummary& summary) {
  for (const RunProblem& problem : summary.problems) {
    ++count_;
    ++failures_;
    cases_ += fmt::format(
        "    <testcase classname=\"run\" name=\"{}\" time=\"0\">\n"
        "      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
        xml_escaped("problem: " + problem.id), xml_escaped(first_line(problem.text)),
        xml_escaped(problem.text));
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.6f}\"",
                  count_, failures_, errors_, skipped_, summary.seconds);
  write_file(file_, fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                "<testsuites name=\"gradcts\" {0}>\n"
                                "  <testsuite name=\"gradcts.{1}\" {0}>\n"
                                "    <properties>\n{2}{3}{4}    </properties>\n"
                                "{5}  </testsuite>\n</testsuites>\n",
                                counts, xml_escaped(header_.engine.name),
                                property("engine.version", header_.engine.version),
                                property("engine.dialect", header_.engine.dialect),
                                property("shard", header_.shard), cases_));
}

}  // namespace gradcts
