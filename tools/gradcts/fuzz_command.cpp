#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "conformance/runner/engine_locator.h"
#include "conformance/runner/selection.h"
#include "conformance/runner/suite_folder.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/json.h"
#include "fuzz/campaign.h"
#include "fuzz/describe.h"
#include "fuzz/generate.h"
#include "fuzz/outside.h"
#include "fuzz/small_graphs.h"
#include "tools/gradcts/command.h"
#include "tools/gradcts/interrupt.h"
#include "tools/gradcts/known_option.h"

namespace gradcts {
namespace {

struct FuzzFlags {
  fuzz::CampaignOptions campaign;
  std::uint64_t seed = 1;
  int exhaustive = 0;  // every graph of up to so many nodes; 0: random cases
  std::optional<std::uint64_t> describe, show;  // print, and run nothing
  int seconds = 0;
  double timeout = 10;
  std::string shard = "1/1";
  std::string out;
  bool resume = false;
  bool no_shrink = false;
  std::vector<std::string> merge;
  std::string known;
};

// Which cases the campaign has: random ones without end, or every small graph.
std::map<std::string, std::string> choose_cases(FuzzFlags& options) {
  fuzz::CampaignOptions& campaign = options.campaign;
  const fuzz::Claims claims = fuzz::claims_of({campaign.engine, campaign.against});
  if (options.exhaustive == 0) {
    campaign.scenario_of = [claims, seed = options.seed](std::uint64_t number) {
      return fuzz::random_scenario(seed, number, claims);
    };
    return {{"seed", std::to_string(options.seed)},
            {"decoder", std::to_string(fuzz::decoder_version)}};
  }
  const auto graphs = std::make_shared<const fuzz::SmallGraphs>(options.exhaustive, claims);
  campaign.scenario_of = [graphs](std::uint64_t number) { return graphs->scenario(number); };
  campaign.cases = std::min(campaign.cases.value_or(graphs->size()), graphs->size());
  return {{"graphs", fmt::format("of up to {} nodes", options.exhaustive)},
          {"graphs-version", std::to_string(fuzz::small_graphs_version)}};
}

bool is_known(const fuzz::Group& group) {
  return group.clause.starts_with(fuzz::known_prefix);
}

constexpr std::size_t most_tries = 1500;
constexpr std::size_t most_tries_of_a_hang = 30;  // each takes the whole limit of time

bool is_to_shrink(const fuzz::Group& group) {
  return group.shrunk.empty() && !is_known(group);
}

bool has_groups_to_shrink(fuzz::Store& store) {
  const std::vector<fuzz::Group> groups = store.groups();
  return std::any_of(groups.begin(), groups.end(), is_to_shrink);
}

// The smallest case of each clause that is not shrunk yet.
void shrink_groups(const FuzzFlags& options, fuzz::Store& store, const std::atomic<bool>& stop) {
  for (const fuzz::Group& group : store.groups()) {
    if (stop || !is_to_shrink(group)) continue;
    fuzz::OutsideEngine engine(options.campaign.engine, options.campaign.timeout,
                               options.campaign.known);
    const Scenario original = options.campaign.scenario_of(group.smallest.number);
    const fuzz::Shrunk shrunk = fuzz::shrink(
        original, [&](const Scenario& scenario) { return stop ? "" : engine.failure_of(scenario); },
        group.clause == "hang" ? most_tries_of_a_hang : most_tries);
    if (stop) return;  // it may be smaller yet: left to --resume
    const bool flaky = shrunk.flaky || fuzz::clause_of(shrunk.failure) != group.clause;
    store.add_shrunk(group.clause, group.smallest.number, write_scenario(shrunk.scenario).dump(2),
                     fuzz::size_of(shrunk.scenario), flaky);
  }
}

std::string file_name(std::string clause) {
  for (char& c : clause) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return clause + ".json";
}

void print_totals(fuzz::Store& store) {
  const fuzz::Totals totals = store.totals();
  print(fmt::format("{} cases: {} passed, {} failed, {} unsupported, {} not judged\n",
                    totals.cases(), totals.passed, totals.failed, totals.unsupported,
                    totals.not_judged));
  for (const auto& [text, cases] : store.reasons()) {
    print(fmt::format("  not judged: {:>8}  {}\n", cases, text));
  }
}

// What was found, in words; the smallest cases as files.
ExitStatus print_groups(const FuzzFlags& options, fuzz::Store& store) {
  const fuzz::Totals totals = store.totals();
  std::vector<std::vector<std::string>> rows;
  std::uint64_t known = 0;
  for (const fuzz::Group& group : store.groups()) {
    if (is_known(group)) {
      known += group.cases;
      rows.push_back({"  " + group.clause, fmt::format("{} cases", group.cases)});
      continue;
    }
    std::string file;
    if (!group.shrunk.empty()) {
      file = (std::filesystem::path(options.out) / file_name(group.clause)).string();
      write_file(file, group.shrunk + "\n");
    }
    rows.push_back({"  " + group.clause, fmt::format("{} cases", group.cases),
                    fmt::format("case {}", group.smallest.number),
                    group.flaky            ? "flaky"
                    : group.shrunk.empty() ? fmt::format("size {}", group.smallest.size)
                                           : fmt::format("size {}", group.shrunk_size),
                    file.empty() ? group.smallest.detail : file});
  }
  print(table_text(rows));
  return totals.failed == known && totals.passed > 0 ? as_expected : not_as_expected;
}

void refuse_programs(const fuzz::CampaignOptions& campaign) {
  for (const std::string& engine : {campaign.engine, campaign.against}) {
    if (engine.empty() || engine == "reference") continue;  // that one is linked in
    if (is_program(find_engine(engine).path))
      throw WrongUse(
          fmt::format("{}: a program; campaigns take engines that are libraries", engine));
  }
}

void check_folder(const FuzzFlags& options) {
  namespace fs = std::filesystem;
  if (options.out.empty()) throw WrongUse("--out is missing: the folder for what is found");
  const fs::path store = fs::path(options.out) / "campaign.sqlite";
  if (fs::exists(store) && !options.resume) {
    throw WrongUse(
        fmt::format("{} holds a campaign already; --resume goes on with it", options.out));
  }
  std::error_code problem;
  fs::create_directories(options.out, problem);
  if (problem)
    throw WrongUse(fmt::format("{}: cannot be made: {}", options.out, problem.message()));
}

void merge_parts(const FuzzFlags& options, fuzz::Store& store) {
  or_wrong_use([&] {
    for (const std::string& folder : options.merge) {
      store.merge((std::filesystem::path(folder) / "campaign.sqlite").string());
    }
  });
}

int run(const FuzzFlags& given) {
  FuzzFlags options = given;
  fuzz::CampaignOptions& campaign = options.campaign;
  if (options.describe) {
    print(fuzz::describe(options.seed, *options.describe));
    return as_expected;
  }
  if (options.show) {
    choose_cases(options);
    if (campaign.cases && *options.show >= *campaign.cases) {
      throw WrongUse(
          fmt::format("--show {}: there are {} cases, from 0 on", *options.show, *campaign.cases));
    }
    print(write_scenario(campaign.scenario_of(*options.show)).dump(2) + "\n");
    return as_expected;
  }
  if (options.merge.empty() && !campaign.cases && options.seconds == 0 && options.exhaustive == 0)
    throw WrongUse("expected --time, --cases or --exhaustive");
  const Shard shard = or_wrong_use([&] { return read_shard(options.shard); });
  campaign.shard = shard.index;
  campaign.shards = shard.count;
  campaign.known = known_findings(options.known, campaign.engine);
  if (options.merge.empty()) refuse_programs(campaign);
  check_folder(options);
  fuzz::Store store((std::filesystem::path(options.out) / "campaign.sqlite").string());
  if (!options.merge.empty()) {
    merge_parts(options, store);
    print_totals(store);
    return print_groups(options, store);
  }
  std::map<std::string, std::string> identity = choose_cases(options);
  identity["engine"] = campaign.engine;
  identity["against"] = campaign.against;
  if (options.seconds > 0) campaign.time = std::chrono::seconds(options.seconds);
  campaign.timeout = milliseconds(options.timeout);
  campaign.folder = options.out;
  const std::atomic<bool>& stop = stop_when_interrupted();
  campaign.stop = &stop;
  or_wrong_use([&] { store.claim(identity); });
  const bool live = isatty(STDERR_FILENO) != 0;
  const fuzz::Progress progress =
      fuzz::run_campaign(campaign, store, [&](const fuzz::Progress& now) {
        if (!live) return;
        const auto rate = static_cast<double>(now.cases) / std::max(now.seconds, 0.001);
        std::fputs(fmt::format("\r{:.0f} s, {} cases, {:.0f} a second, {} failures, {} clauses ",
                               now.seconds, now.cases, rate, now.failures, store.groups().size())
                       .c_str(),
                   stderr);
      });
  if (live) std::fputs("\n", stderr);
  print(fmt::format("{} cases in {:.1f} s, {:.0f} a second\n", progress.cases, progress.seconds,
                    static_cast<double>(progress.cases) / std::max(progress.seconds, 0.001)));
  print_totals(store);
  if (!options.no_shrink && campaign.against.empty() && has_groups_to_shrink(store)) {
    print("as found, and made small now:\n");
    print_groups(options, store);
    std::fflush(stdout);
    shrink_groups(options, store, stop);
    print("made small:\n");
  }
  const ExitStatus status = print_groups(options, store);
  if (!stop) return status;
  throw std::runtime_error(
      fmt::format("interrupted; `--resume` goes on with the campaign in {}", options.out));
}

}  // namespace

void add_fuzz_command(CLI::App& program, int& status) {
  CLI::App& command =
      *program.add_subcommand("fuzz", "Run random scenarios on an engine, and keep what fails");
  const auto options = std::make_shared<FuzzFlags>();
  fuzz::CampaignOptions& campaign = options->campaign;
  add_engine_option(command, campaign.engine);
  command
      .add_option("--against", campaign.against,
                  "A second engine: keep what the two are judged differently for")
      ->type_name("NAME|PATH");
  command.add_option("--seed", options->seed, "Which sequence of cases (default 1)")
      ->type_name("S")
      ->check(counting_number());
  command.add_option("--time", options->seconds, "End after so many seconds")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 10'000'000));
  command.add_option("--cases", campaign.cases, "End after so many cases, of all shards together")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command
      .add_option("--exhaustive", options->exhaustive,
                  "Every graph of up to N nodes in place of random cases")
      ->type_name("N")
      ->check(CLI::Range(1, 7))
      ->excludes("--seed");
  command.add_option("-j,--jobs", campaign.jobs, "Worker processes (default 1)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--shard", options->shard, "Take part I of N; the parts can be merged")
      ->type_name("I/N");
  add_timeout_option(command, options->timeout, "one case");
  command.add_option("--out", options->out, "Folder for what is found")->type_name("DIR");
  command.add_flag("--resume", options->resume, "Go on with the campaign in the folder");
  command.add_flag("--no-shrink", options->no_shrink, "Leave failures as they were found");
  command.add_option("--merge", options->merge, "Put the campaigns of these folders into --out")
      ->type_name("DIR...");
  add_known_option(command, options->known);
  command
      .add_option("--describe", options->describe,
                  "Print the distribution over N cases, and run nothing")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000));
  command
      .add_option("--show", options->show, "Print case N for the engine as JSON, and run nothing")
      ->type_name("N")
      ->check(counting_number());
  command.footer("Example:\n  gradcts fuzz --engine reference --time 60 -j 2 --out found");
  command.callback([options, &status] { status = run(*options); });
}

}  // namespace gradcts
