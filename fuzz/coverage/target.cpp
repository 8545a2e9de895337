// The target of coverage-guided fuzzers: one case from bytes, on the reference engine, judged.
//
// libFuzzer links it as it is, and so does AFL++'s compiler, which takes the same two functions. A
// case that fails ends the process, as a crash does; what failed is printed, with the scenario.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "conformance/scenario/json.h"
#include "fuzz/generate.h"
#include "fuzz/mutate.h"
#include "fuzz/trial.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradcts;
  static const auto engine = fuzz::open_engine("reference");
  const Scenario scenario = fuzz::decode({data, size});
  const fuzz::Finding finding = engine->run(scenario);
  if (finding.kind != fuzz::Finding::Kind::fail) return 0;
  std::fprintf(stderr, "%s: %s\n%s\n", finding.clause.c_str(), finding.detail.c_str(),
               write_scenario(scenario).dump(2).c_str());
  std::abort();
}

namespace {

std::size_t put(const std::vector<std::uint8_t>& bytes, std::uint8_t* to) {
  std::copy(bytes.begin(), bytes.end(), to);
  return bytes.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return put(gradcts::fuzz::mutated({data, size}, most, seed), data);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  return put(gradcts::fuzz::crossed({one, one_size}, {other, other_size}, most, seed), out);
}
