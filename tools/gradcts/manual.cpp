#include "tools/gradcts/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "conformance/runner/engine_locator.h"
#include "conformance/runner/suite_folder.h"
#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

using Options = std::vector<const CLI::Option*>;

// Those of the option groups included, which are nameless commands to CLI11.
void gather_options(const CLI::App& command, Options& options) {
  for (const CLI::Option* option : command.get_options()) options.push_back(option);
  for (const CLI::App* inner :
       command.get_subcommands([](const CLI::App* app) { return app->get_name().empty(); }))
    gather_options(*inner, options);
}

Options options_of(const CLI::App& command) {
  Options options;
  gather_options(command, options);
  return options;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_name().empty() && !command->get_group().empty()) commands.push_back(command);
  }
  return commands;
}

// "N", without the range that CLI11 adds behind a colon.
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// ------------------------------------------------------------------------------------------------
// The manual page

// Text for troff: a backslash, and a dot or quote at the start of a line, would be commands to it.
std::string roff(std::string_view text) {
  std::string result;
  bool start = true;
  for (const char c : text) {
    if (start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    start = c == '\n';
  }
  return result;
}

std::string synopsis(const CLI::App& command) {
  std::string text = fmt::format("\\fBgradcts {}\\fR [\\fIoptions\\fR]", roff(command.get_name()));
  for (const CLI::Option* option : options_of(command)) {
    if (!option->get_positional()) continue;
    const bool several = option->get_items_expected_max() > 1;
    const std::string name =
        fmt::format("\\fI{}\\fR{}", roff(type_of(*option)), several ? "..." : "");
    text += option->get_required() ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  return text;
}

std::string option_entry(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames())
    names.push_back(fmt::format("\\fB\\-{}\\fR", roff(name)));
  for (const std::string& name : option.get_lnames())
    names.push_back(fmt::format("\\fB\\-\\-{}\\fR", roff(name)));
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  const bool takes_value = option.get_items_expected_max() > 0;
  if (names.empty() || takes_value)
    head += fmt::format("{}\\fI{}\\fR", names.empty() ? "" : " ", roff(type_of(option)));
  return fmt::format(".TP\n{}\n{}\n", head, roff(option.get_description()));
}

// "Examples:\n  gradcts ..." with its lines as they are.
std::string footer_text(const std::string& footer) {
  std::string text, line;
  std::istringstream lines(footer);
  bool literal = false;
  while (std::getline(lines, line)) {
    const bool indented = line.starts_with("  ");
    if (indented != literal) text += indented ? ".nf\n" : ".fi\n";
    literal = indented;
    text += line.empty() ? ".PP\n" : roff(indented ? line.substr(2) : line) + "\n";
  }
  return text + (literal ? ".fi\n" : "");
}

std::string command_section(const CLI::App& command) {
  std::string text = fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff(command.get_name()),
                                 synopsis(command), roff(command.get_description()));
  for (const CLI::Option* option : options_of(command)) {
    if (option->get_name(false, true) != "-h,--help") text += option_entry(*option);
  }
  if (!command.get_footer().empty())
    text += fmt::format(".PP\n{}", footer_text(command.get_footer()));
  return text;
}

// ------------------------------------------------------------------------------------------------
// Completion

std::vector<std::string> starting_with(const std::string& start,
                                       const std::set<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    if (word.starts_with(start)) result.push_back(word);
  }
  return result;
}

// Up to the next '/', so that a shell goes down level by level.
std::vector<std::string> scenario_names(const std::string& start, const std::string& suites) {
  std::set<std::string> names;
  const SuiteFolder folder(find_suites(suites));
  for (const PlannedScenario& planned : folder.scenarios()) {
    const std::string& id = planned.scenario->id;
    if (!id.starts_with(start)) continue;
    const std::size_t slash = id.find('/', start.size());
    names.insert(slash == std::string::npos ? id : id.substr(0, slash + 1));
  }
  return {names.begin(), names.end()};
}

std::set<std::string> engine_names() {
  std::set<std::string> names;
  for (const EngineFile& engine : all_engines()) names.insert(engine.name);
  return names;
}

std::set<std::string> clause_names() {
  std::set<std::string> names;
  for (const Area& area : all_areas()) names.insert(area.id);
  for (const Clause& clause : all_clauses()) names.insert(clause.id);
  return names;
}

std::set<std::string> dialect_names() {
  std::set<std::string> names;
  for (const Dialect& dialect : all_dialects()) names.insert(dialect.name);
  return names;
}

class Completion {
 public:
  Completion(const CLI::App& program, const std::vector<std::string>& words)
      : program_(program), words_(words) {}

  std::vector<std::string> complete() const {
    const std::string last = words_.empty() ? "" : words_.back();
    const CLI::App* command = words_.size() > 1 ? find_command(words_.front()) : nullptr;
    if (words_.size() <= 1) return starting_with(last, command_names());
    if (!command) return {};
    const Options options = options_of(*command);
    const CLI::Option* before = find_option(options, words_[words_.size() - 2]);
    if (before && before->get_items_expected_max() > 0) return values(*before, last);
    if (last.starts_with('-')) return starting_with(last, option_names(options));
    for (const CLI::Option* option : options) {
      if (!option->get_positional()) continue;
      const auto found = values(*option, last);
      if (!found.empty()) return found;
    }
    return {};
  }

 private:
  const CLI::App* find_command(const std::string& name) const {
    for (const CLI::App* command : commands_of(program_)) {
      if (command->get_name() == name) return command;
    }
    return nullptr;
  }

  std::set<std::string> command_names() const {
    std::set<std::string> names = {"--help", "--version"};
    for (const CLI::App* command : commands_of(program_)) names.insert(command->get_name());
    return names;
  }

  static std::set<std::string> option_names(const Options& options) {
    std::set<std::string> names;
    for (const CLI::Option* option : options) {
      for (const std::string& name : option->get_lnames()) names.insert(fmt::format("--{}", name));
    }
    return names;
  }

  static const CLI::Option* find_option(const Options& options, const std::string& word) {
    for (const CLI::Option* option : options) {
      for (const std::string& name : option->get_lnames()) {
        if (word == fmt::format("--{}", name)) return option;
      }
      for (const std::string& name : option->get_snames()) {
        if (word == fmt::format("-{}", name)) return option;
      }
    }
    return nullptr;
  }

  // What an option says that it takes tells which names it wants.
  std::vector<std::string> values(const CLI::Option& option, const std::string& start) const {
    const std::string type = type_of(option);
    const bool engines = option.check_lname("engine");
    if (engines) return starting_with(start, engine_names());
    if (option.check_lname("clause")) return starting_with(start, clause_names());
    if (option.check_lname("dialect")) return starting_with(start, dialect_names());
    if (option.check_lname("report")) return starting_with(start, {"junit=", "json=", "html="});
    if (type == "PATTERN" || type == "ID|FILE") return scenario_names(start, suites());
    return {};
  }

  std::string suites() const {
    const auto found = std::ranges::find(words_, "--suites");
    return found == words_.end() || found + 1 == words_.end() ? "" : *(found + 1);
  }

  const CLI::App& program_;
  const std::vector<std::string>& words_;
};

}  // namespace

std::string manual_page(const CLI::App& program) {
  std::string text = fmt::format(
      ".TH GRADCTS 1 \"\" \"gradcts {}\" \"User Commands\"\n"
      ".SH NAME\ngradcts \\- {}\n"
      ".SH SYNOPSIS\n\\fBgradcts\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n",
      GRADCTS_VERSION, roff(program.get_description()));
  for (const CLI::App* command : commands_of(program)) text += command_section(*command);
  text += fmt::format(".SH EXIT STATUS\n{}", footer_text(program.get_footer()));
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBGRADCTS_ENGINE_PATH\\fR\nFolders with engines, separated by colons.\n"
      ".TP\n\\fBGRADCTS_SUITES\\fR\nFolder or file with the scenarios.\n"
      ".TP\n\\fBNO_COLOR\\fR\nWhen set and not empty: no colours, on a terminal as well.\n";
  return text;
}

std::vector<std::string> completions(const CLI::App& program,
                                     const std::vector<std::string>& words) {
  return Completion(program, words).complete();
}

std::string bash_completion() {
  return R"(# bash completion for gradcts: put it into /usr/share/bash-completion/completions/gradcts, or
#   source <(gradcts completion)
_gradcts() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  # A part of a name goes on behind its '/' or '='.
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace; fi
}
complete -o default -F _gradcts gradcts
)";
}

}  // namespace gradcts
