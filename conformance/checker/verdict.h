// Verdicts: the judgement of one scenario on one engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradcts {

enum class VerdictKind : std::uint8_t {
  pass,
  fail,         // the engine broke a clause
  unsupported,  // the engine does not claim a feature that the scenario needs
  crash,        // the worker died
  hang,         // no answer within the time limit
  error,        // the harness or the adapter is at fault: a malformed answer, an unreadable reply
};

// One broken clause, in words for people.
struct Finding {
  std::string clause;    // "ROOT-2"
  std::string where;     // "node y", "step 3 (grad)", "leaf x"
  std::string expected;  // "1 run"
  std::string observed;  // "2 runs"
};

struct Verdict {
  VerdictKind kind = VerdictKind::pass;
  std::vector<Finding> findings;  // non-empty exactly for fail
  // unsupported: the missing features. crash, hang: signal and stacks. error: what went wrong.
  std::string detail;
};

std::string_view to_text(VerdictKind kind);

}  // namespace gradcts
