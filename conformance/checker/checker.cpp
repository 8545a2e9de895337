#include "conformance/checker/checker.h"

#include <algorithm>
#include <array>

#include "conformance/checker/judges.h"

namespace gradcts {

namespace {

constexpr std::size_t most_findings = 20;

// What a wrong number can come from: these judges blame the cited one of these clauses.
constexpr std::string_view value_clauses =
    "ROOT-1 ROOT-2 ROOT-3 ROOT-4 ROOT-5 ROOT-6 TOPO-1 TOPO-2 TOPO-3 TOPO-5 TOPO-7 TOPO-8 ACC-1 "
    "ACC-2 "
    "ACC-3 ACC-4 ACC-5 LEAF-1 LEAF-2 LEAF-3 LEAF-5 LEAF-6 LEAF-7 LEAF-8 VAL-2 VAL-3 VAL-4 VAL-5 "
    "VAL-6 "
    "VAL-7 PRUNE-1 PRUNE-2 PRUNE-3 PRUNE-4 PRUNE-5 PRUNE-6 PRUNE-7 HOOK-1 HOOK-3 HOOK-6 HOOK-7 "
    "HOOK-9 "
    "HOOK-10 CB-1 CB-2 REENT-1 REENT-3 REENT-4 REENT-7 DEV-1 DEV-3 DEV-4 STREAM-1 STREAM-2 "
    "STREAM-3 "
    "STREAM-4 STREAM-5 STREAM-7 STREAM-8 ERR-2 ERR-3 ERR-8 KEEP-1 KEEP-2 KEEP-3 KEEP-5 GRAPH2-1 "
    "GRAPH2-2 "
    "GRAPH2-4 THREAD-1 THREAD-2 THREAD-3 THREAD-4 SHUT-2 SHUT-4 FORK-1 ASYNC-1 DET-1 DET-2 COMP-1 "
    "COMP-2 "
    "COMP-3 COMP-5 COMP-6 COMP-7 COMP-9 RED-1 RED-2 RED-3 RED-4 RED-5 RED-7 RED-8 RED-9 "
    "RED-10";

constexpr std::string_view run_clauses =
    "TOPO-1 TOPO-2 TOPO-3 TOPO-4 TOPO-5 ROOT-1 ROOT-2 ROOT-5 PRUNE-2 PRUNE-3 PRUNE-5 LEAF-7 ERR-2 "
    "ERR-3 "
    "REENT-1 KEEP-1 KEEP-5 HOOK-2 ORDER-2 COMP-6 RED-5 RED-9";

constexpr std::string_view call_clauses =
    "HOOK-1 HOOK-2 HOOK-4 HOOK-5 HOOK-6 HOOK-7 HOOK-8 HOOK-9 HOOK-10 CB-1 CB-2 CB-6 REENT-4 ERR-2 "
    "LIFE-2 ERR-3 ASYNC-2 COMP-4";

constexpr std::string_view error_clauses =
    "ROOT-5 VAL-1 VAL-2 VAL-3 VAL-4 ROOT-4 HOOK-3 HOOK-9 HOOK-10 PRUNE-4 PRUNE-5 KEEP-1 KEEP-3 "
    "KEEP-5 "
    "GRAPH2-3 "
    "CB-3 CB-5 ANOM-1 ERR-1 ERR-5 ERR-7 ERR-8 REENT-5 REENT-8 FORK-1 SHUT-4 DEV-5 ASYNC-1 ASYNC-2 "
    "SHUT-2 COMP-7 RED-1 RED-5 RED-6 RED-9 RED-11";

constexpr std::string_view error_text_clauses =
    "VAL-1 VAL-2 VAL-4 ROOT-4 HOOK-3 PRUNE-4 KEEP-1 KEEP-3 ANOM-1 ANOM-2 ERR-7 COMP-8 RED-6 "
    "RED-11";

constexpr std::array judges{
    Judge{"anything-ran", "TOPO-1", "Did anything run at all?", judge_anything_ran},
    Judge{"steps", "ERR-7 RED-9", "Did each step end with a result, and no other?", judge_steps},
    Judge{"errors", error_clauses, "Is each error the one that must be, and is there no other?",
          judge_errors},
    Judge{"error-texts", error_text_clauses, "Does each error name what it must?",
          judge_error_texts},
    Judge{"device-memory", "STREAM-1 STREAM-2 STREAM-4 STREAM-5 STREAM-7 STREAM-8 RED-1",
          "Do waits order all that streams do with memory?", judge_device_memory},
    Judge{"values", value_clauses, "Are the tensors that steps return right?", judge_values},
    Judge{"leaf-gradients", value_clauses, "Does each leaf end with the right `.grad`?",
          judge_leaf_gradients},
    Judge{"leaf-layout", "LEAF-4", "Does each `.grad` have the strides it must have?",
          judge_leaf_layout},
    Judge{"runs", run_clauses, "Did each node run as often as it must?", judge_runs},
    Judge{"calls", call_clauses, "Was each hook and callback called as often as it must?",
          judge_calls},
    Judge{"node-gradients", value_clauses, "Did nodes get and give the right gradients?",
          judge_node_gradients},
    Judge{"hook-gradients", "HOOK-1 HOOK-3 HOOK-4 HOOK-6 HOOK-7 HOOK-8 HOOK-9 COMP-4",
          "Did hooks see the right gradients?", judge_hook_gradients},
    Judge{"observations",
          "GRAPH2-2 TLS-1 TLS-2 DEV-4 STREAM-1 REENT-1 REENT-8 ERR-3 ERR-4 PRUNE-8 ANOM-3 CB-4 "
          "HOOK-10",
          "Was the state seen from inside right?", judge_observations},
    Judge{"threads", "DEV-1 DEV-3", "Did each node run on its device's thread, or its caller's?",
          judge_threads},
    Judge{"order", "TOPO-1 ORDER-1 HOOK-1 CB-1 REENT-1",
          "Did everything happen in an order that is allowed?", judge_order},
    Judge{"live-objects", "LIFE-1 ERR-6 GRAPH2-4 ANOM-3 KEEP-4", "Is nothing kept alive?",
          judge_live_objects},
    Judge{"thread-state", "ERR-4 GRAPH2-2 TLS-1 DEV-4 STREAM-1 ANOM-3",
          "Is the caller's thread-local state as before?", judge_thread_state},
};

}  // namespace

std::span<const Judge> all_judges() {
  return judges;
}

Verdict check(const Case& c) {
  Verdict verdict;
  if (!c.expectation.cannot_tell.empty()) {
    verdict.kind = VerdictKind::error;
    verdict.detail = "the oracle cannot tell: " + c.expectation.cannot_tell;
    return verdict;
  }
  if (!c.outcome.unsupported.empty()) {
    verdict.kind = VerdictKind::unsupported;
    verdict.detail = c.outcome.unsupported;
    return verdict;
  }
  const Evidence evidence(c);
  for (const Judge& judge : judges) judge.judge(evidence, judge.clauses, verdict.findings);
  if (verdict.findings.empty()) return verdict;
  verdict.kind = VerdictKind::fail;
  verdict.findings.resize(std::min(verdict.findings.size(), most_findings));
  return verdict;
}

std::string_view to_text(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::pass:
      return "pass";
    case VerdictKind::fail:
      return "fail";
    case VerdictKind::unsupported:
      return "unsupported";
    case VerdictKind::crash:
      return "crash";
    case VerdictKind::hang:
      return "hang";
    case VerdictKind::error:
      return "error";
  }
  return "error";
}

}  // namespace gradcts
