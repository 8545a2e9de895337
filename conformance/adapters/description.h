// What an adapter says about itself: `gradcts.description/1`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/scenario/json.h"
#include "conformance/scenario/scenario.h"
#include "conformance/spec/spec.h"

namespace gradcts {

struct Description {
  std::string name;     // "libtorch"
  std::string version;  // of the engine: "1.13.1"
  std::string dialect;  // name of a dialect in conformance/spec/dialects.json
  std::map<std::string, std::string, std::less<>> choices;  // that differ from the dialect
  std::vector<std::string> features;                        // see scenario/features.h
  // Which nodes the adapter can see run. One that sees scripted nodes alone is given every scenario
  // with `"trace": "scripted"`, and is judged by that.
  Trace trace = Trace::all;

  Dialect make_dialect() const { return gradcts::make_dialect(dialect, choices); }
};

// Strict, as all readers: FormatError names the place; unknown features and dialects are refused.
Description read_description(const Json& json);
Json write_description(const Description& description);

}  // namespace gradcts
