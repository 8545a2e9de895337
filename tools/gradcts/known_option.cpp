#include "tools/gradcts/known_option.h"

#include "conformance/runner/suite_folder.h"
#include "tools/gradcts/command.h"

namespace gradcts {

void add_known_option(CLI::App& command, std::string& file) {
  command
      .add_option("--known", file,
                  "What the engine is known to get wrong (default: the file of its name, if any)")
      ->type_name("FILE");
}

fuzz::KnownFindings known_findings(const std::string& file, const std::string& engine) {
  return or_wrong_use([&]() -> fuzz::KnownFindings {
    if (!file.empty()) return fuzz::load_known_findings(file);
    const auto found = default_expectations(find_suites(""), "fuzz/" + engine);
    return found ? fuzz::load_known_findings(*found) : fuzz::KnownFindings();
  });
}

}  // namespace gradcts
