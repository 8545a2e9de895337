// What the engine of a campaign claims, so that its cases ask for nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/scenario/features.h"

namespace gradcts::fuzz {

class Claims {
 public:
  Claims() = default;  // everything
  explicit Claims(std::vector<std::string> features)
      : all_(false), features_(std::move(features)) {}

  bool has(std::string_view feature) const {
    return all_ || missing_features({std::string(feature)}, features_).empty();
  }

 private:
  bool all_ = true;
  std::vector<std::string> features_;
};

}  // namespace gradcts::fuzz
