// Scenarios and suites: what was read is written, and reads back as the same.
#include "conformance/scenario/features.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/suite.h"
#include "fuzz/readers/reader_fuzzer.h"

namespace gradcts {
namespace {

void use(const Scenario& scenario) {
  const std::string written = write_scenario(scenario).dump();
  const Scenario again = read_scenario(parse_json(written));
  demand(write_scenario(again).dump() == written, "a scenario changes when it is written and read");
  demand(content_hash(again) == content_hash(scenario), "the hash changes with it");
  demand(required_features(again) == required_features(scenario), "its features change with it");
}

}  // namespace
}  // namespace gradcts

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradcts;
  try {
    const Json json = parse_json(text_of(data, size));
    const bool suite = json.is_object() && json.contains("scenarios");
    if (!suite) use(read_scenario(json));
    if (suite) {
      for (const Scenario& scenario : expand_suite(json)) use(scenario);
    }
  } catch (const FormatError& refusal) {
    demand_one_line(refusal);
  }
  return 0;
}
