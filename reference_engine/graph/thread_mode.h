// What graph-building code finds on its thread. One structure, so that the engine, which sets all
// of it for each node that it runs, reaches it once.
#pragma once

#include "reference_engine/graph/anomaly.h"
#include "reference_engine/graph/running_node.h"
#include "reference_engine/graph/thread_local_value.h"

namespace gradcts::reference {

struct ThreadMode {
  bool recording = true;
  AnomalyMode anomaly;
  ThreadLocalValue value;
  RunningNode running;
};

ThreadMode& thread_mode();  // of this thread

}  // namespace gradcts::reference
