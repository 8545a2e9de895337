// What the simulated devices found and refused, in an outcome's words: for adapters whose engines
// run on them.
#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"
#include "reference_engine/device/simulated_runtime.h"

namespace gradcts {

// `made[i]` is the stream that stands for the scenario's stream i.
class SimulatedAccesses {
 public:
  SimulatedAccesses(const Scenario& scenario, std::span<const reference::Stream> made)
      : scenario_(scenario), made_(made) {}

  // Since the checks were restarted.
  std::vector<UnorderedAccess> found() const {
    std::vector<UnorderedAccess> all;
    for (reference::UnorderedAccess& found : reference::unordered_accesses()) {
      all.push_back({in_words(std::move(found.access)), in_words(std::move(found.earlier)),
                     found.freed_between});
    }
    return all;
  }

  // An error's text with the scenario's names in place of the devices' for its streams.
  std::string in_names_of_scenario(std::string text) const {
    for (const reference::Stream stream : made_) {
      const std::string theirs = reference::to_string(stream), ours = "stream " + name_of(stream);
      for (auto at = text.find(theirs); at != text.npos; at = text.find(theirs, at + 1)) {
        const char next = (text + ' ')[at + theirs.size()];
        const bool is_whole = std::isdigit(static_cast<unsigned char>(next)) == 0;
        if (is_whole) text.replace(at, theirs.size(), ours);
      }
    }
    return text;
  }

 private:
  DeviceAccess in_words(reference::DeviceAccess access) const {
    return {static_cast<DeviceAccess::Kind>(access.kind), name_of(access.stream),
            std::move(access.work), std::move(access.purpose)};
  }

  // Streams of the engine's own keep the device's name for them.
  std::string name_of(reference::Stream stream) const {
    const auto found = std::find(made_.begin(), made_.end(), stream);
    if (found != made_.end()) {
      return scenario_.streams[static_cast<std::size_t>(found - made_.begin())].name;
    }
    return stream.id == 0 ? reference::to_string(stream.device) : reference::to_string(stream);
  }

  static_assert(static_cast<int>(DeviceAccess::Kind::free) ==
                static_cast<int>(reference::DeviceAccess::Kind::free));

  const Scenario& scenario_;
  const std::span<const reference::Stream> made_;
};

}  // namespace gradcts
