#include <fmt/format.h>

#include <filesystem>

#include "conformance/report/page.h"
#include "conformance/report/record_file.h"
#include "conformance/report/words.h"
#include "conformance/scenario/file_text.h"
#include "tools/gradcts/command.h"

namespace gradcts {
namespace {

struct ReportFlags {
  std::string output;
  std::vector<std::string> runs;
  std::vector<std::string> against;
};

std::string html_file(const std::string& output) {
  constexpr std::string_view kind = "html=";
  if (!output.starts_with(kind) || output.size() == kind.size())
    throw WrongUse(fmt::format("report '{}': expected html=FILE", output));
  return output.substr(kind.size());
}

// The earlier runs, taken out one by one for the runs of their engines.
class EarlierRuns {
 public:
  explicit EarlierRuns(const std::vector<std::string>& files) {
    for (const std::string& file : files) runs_.push_back(read_earlier_run(file));
  }

  std::optional<EarlierRun> take(const std::string& engine) {
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      if (run->engine != engine) continue;
      std::optional<EarlierRun> found = std::move(*run);
      runs_.erase(run);
      return found;
    }
    return std::nullopt;
  }

  void check_all_taken() const {
    if (runs_.empty()) return;
    throw WrongUse(
        fmt::format("--against {}: is of engine '{}', which none of the runs is of (or one less)",
                    runs_.front().file, runs_.front().engine));
  }

 private:
  std::vector<EarlierRun> runs_;
};

int make_report(const ReportFlags& options) {
  const std::string file = html_file(options.output);
  Page page;
  or_wrong_use([&] {
    check_writable(file);
    EarlierRuns earlier(options.against);
    for (const std::string& run : options.runs) {
      const bool complete = read_records(run, [&](const Json& record) {
        if (record.at("record") == "header")
          page.begin_run(record, run, earlier.take(record.at("engine").get<std::string>()));
        else
          page.add(record);
      });
      page.end_run(complete);
    }
    earlier.check_all_taken();
  });
  write_file(file, page.html());
  print(fmt::format("{}: {}\n", file, counted(options.runs.size(), "run")));
  return as_expected;
}

}  // namespace

void add_report_command(CLI::App& program, int& status) {
  CLI::App& command = *program.add_subcommand(
      "report", "Make a page for the browser of one or several runs, side by side");
  const auto options = std::make_shared<ReportFlags>();
  command.add_option("output", options->output, "The page to write")
      ->type_name("html=FILE")
      ->required();
  command
      .add_option("runs", options->runs,
                  "What `gradcts run --report json=FILE` wrote, one file for each run")
      ->type_name("RUN")
      ->required();
  command
      .add_option("--against", options->against,
                  "An earlier run of one of the engines: shows new failures and what was fixed "
                  "(may be repeated)")
      ->type_name("RUN")
      ->allow_extra_args(false);
  command.footer(
      "Examples:\n"
      "  gradcts run --engine reference --report json=reference.jsonl\n"
      "  gradcts run --engine libtorch --report json=libtorch.jsonl\n"
      "  gradcts report html=both.html reference.jsonl libtorch.jsonl\n"
      "  gradcts report html=page.html new.jsonl --against yesterday.jsonl");
  command.callback([options, &status] { status = make_report(*options); });
}

}  // namespace gradcts
