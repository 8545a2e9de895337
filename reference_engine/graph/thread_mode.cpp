#include "reference_engine/graph/thread_mode.h"

#include <utility>

#include "reference_engine/graph/recording.h"
#include "reference_engine/memory/per_thread.h"

namespace gradcts::reference {

ThreadMode& thread_mode() {
  return PerThread<ThreadMode>::get();
}

bool is_recording() {
  return thread_mode().recording;
}

void set_recording(bool recording) {
  thread_mode().recording = recording;
}

const ThreadLocalValue& thread_local_value() {
  return thread_mode().value;
}

void set_thread_local_value(ThreadLocalValue value) {
  thread_mode().value.swap(value);
}

bool is_edge_needed(const Node& node, std::uint32_t number) {
  const Edge& edge = node.next_edges()[number];
  if (!edge) return false;
  const RunningNode& running = thread_mode().running;
  if (running.node != &node) return true;
  return running.is_edge_needed(running.pass, edge);
}

}  // namespace gradcts::reference
