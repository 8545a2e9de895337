// Known findings: what an engine is known to get wrong, so that a campaign reports what is new.
//
//   {"schema": "gradcts.known_findings/1",
//    "known": [
//      {"name": "retain-grad-of-nothing", "says": "Expected a proper Tensor",
//       "report": "new", "reason": "retain-grad does not look whether there is a gradient",
//       "example": {... a scenario that fails so ...}},
//      {"name": "leaf-hook-of-nothing", "when": "leaf-hook-of-nothing", "report": "B045", ...}]}
//
// An entry is recognised by what one of the case's findings `says`, or by a circumstance of the
// case (below) where no text tells it, or by both where neither alone does; `clauses`, if there,
// narrows it to cases that break one of them first, or end in "crash" or "hang". With `"run": false` cases of the circumstance are not
// run at all, since the engine may not survive them, and a new worker is dear. A fault spoils much
// that follows, so one sign is enough: a case that shows a known finding is not looked at further.
//
// The files of known engines lie beside their expectations: expectations/fuzz/ENGINE.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/oracle/oracle.h"
#include "conformance/scenario/json.h"

namespace gradcts::fuzz {

struct KnownFinding {
  std::string name;
  std::string says, when;  // one of them, or both
  std::vector<std::string> clauses;
  bool run = true;
  std::string report, reason;
  Json example;
};
using KnownFindings = std::vector<KnownFinding>;

// Strict; FormatError names the place.
KnownFindings read_known_findings(const Json& json);
// The same from a file; the message begins with the file's name.
KnownFindings load_known_findings(const std::string& file);

// What a case is like that no text of a finding tells. Those that speak of gradients need an
// expectation; without one (after a crash) they do not hold.
struct Circumstance {
  std::string_view name;
  std::string_view meaning;
  bool (*holds)(const Scenario& scenario, const Expectation* expectation);
};
const std::vector<Circumstance>& all_circumstances();

// The name of the first entry whose cases are not run, and that this is a case of; or empty.
std::string left_out_as(const KnownFindings& known, const Scenario& scenario);

// The name of the first entry that fits; empty: the failure is new.
std::string known_as(const KnownFindings& known, std::string_view clause,
                     const std::vector<std::string>& texts, const Scenario& scenario,
                     const Expectation* expectation);

}  // namespace gradcts::fuzz
