// What an engine may answer over the pipe, to the handshake and to a scenario: a line that is taken is
// judged.
#include "conformance/runner/judge.h"
#include "conformance/runner/testing/scenarios.h"
#include "conformance/runner/wire.h"
#include "conformance/spec/spec.h"
#include "fuzz/readers/reader_fuzzer.h"

namespace gradcts {
namespace {

constexpr std::uint64_t number = 7;

void greet(std::string_view line) {
  try {
    const wire::Answer answer = wire::read_hello_answer(line, number);
    if (answer.failure.empty()) read_description(answer.content).make_dialect();
  } catch (const std::exception& refusal) {
    demand_one_line(refusal);
  }
}

void run(std::string_view line) {
  static const Scenario scenario = testing::square("a/b");
  static const Expectation expectation = expect_safely(scenario, make_dialect("reference"));
  WorkerAnswer answer;
  try {
    wire::Answer read = wire::read_run_answer(line, number);
    answer.kind = read.failure.empty() ? WorkerAnswer::Kind::outcome : WorkerAnswer::Kind::failure;
    answer.content = std::move(read.content);
    answer.text = std::move(read.failure);
  } catch (const std::exception& refusal) {
    return demand_one_line(refusal);
  }
  judge(scenario, expectation, answer);
}

}  // namespace
}  // namespace gradcts

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gradcts::greet(gradcts::text_of(data, size));
  gradcts::run(gradcts::text_of(data, size));
  return 0;
}
