#include "tools/gradcts/command.h"
#include "tools/gradcts/manual.h"

namespace gradcts {

void add_manual_commands(CLI::App& program, int& status) {
  CLI::App& manual = *program.add_subcommand("manual", "Print the manual page, for man");
  manual.footer("Examples:\n  gradcts manual | man -l -\n  gradcts manual > gradcts.1");
  manual.callback([&program, &status] {
    print(manual_page(program));
    status = as_expected;
  });

  CLI::App& completion =
      *program.add_subcommand("completion", "Print what makes bash complete commands and names");
  completion.footer(
      "Examples:\n"
      "  source <(gradcts completion)                      # for this shell\n"
      "  gradcts completion > ~/.local/share/bash-completion/completions/gradcts");
  completion.callback([&status] {
    print(bash_completion());
    status = as_expected;
  });

  // What the completion asks; not for people.
  CLI::App& complete = *program.add_subcommand("complete", "")->group("");
  const auto words = std::make_shared<std::vector<std::string>>();
  complete.add_option("words", *words);
  complete.callback([words, &program, &status] {
    for (const std::string& word : completions(program, *words)) print(word + "\n");
    status = as_expected;
  });
}

}  // namespace gradcts
