// One scenario on one engine, judged, in this process. A crash of the engine is a crash of the
// process: campaigns run trials in processes of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/checker/verdict.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"
#include "conformance/spec/spec.h"

namespace gradcts::fuzz {

struct Finding {
  enum class Kind { pass, fail, unsupported, not_judged };
  Kind kind = Kind::pass;
  std::string clause;              // fail: the first clause that is broken, or "adapter"
  std::string detail;              // one line: where, expected, observed; or why it is not judged
  std::vector<std::string> texts;  // fail: as texts_of gives them
};

// A line (where, expected, observed) for each thing that is wrong, the first one first, and what
// the engine said of its errors.
std::vector<std::string> texts_of(const Verdict& verdict, const Outcome& outcome);

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Finding run(const Scenario& scenario) = 0;
  virtual const Dialect& dialect() const = 0;
};

// "reference" is linked in and is given plain structs; everything else is an adapter that is
// loaded, by name or path, and speaks JSON. Throws what the runner throws for engines that cannot
// work.
std::unique_ptr<Engine> open_engine(const std::string& name_or_path);

}  // namespace gradcts::fuzz
