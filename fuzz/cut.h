// Taking parts out of a scenario, with all that refers to them.
#pragma once

#include <vector>

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// What goes. Lists may be shorter than the scenario's; what they do not name stays.
struct Cut {
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> leaves;
  std::vector<HookId> hooks;
  std::vector<CallbackId> callbacks;
  std::vector<StreamId> streams;
  std::vector<BarrierId> barriers;
  std::vector<LockId> locks;
  std::vector<AnnouncementId> announcements;
  std::vector<FutureId> futures;
  std::vector<ReducerId> reducers;
  // Values that stand for values that go: (gone, instead).
  std::vector<std::pair<ValueId, ValueId>> instead;
};

// The scenario without these. References to what is gone go as well, and what is left empty by
// that: a read of nothing, a hook on nothing. Steps may have been taken out beforehand: values that
// nothing makes any more are cleared away. Numbered and valid; throws FormatError where nothing
// valid is left.
Scenario without(Scenario scenario, const Cut& cut);

}  // namespace gradcts::fuzz
