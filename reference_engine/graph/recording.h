// Whether operations on this thread are recorded in the graph. On for a new thread; inside a pass
// it is on exactly if the pass creates a graph, whatever the caller's mode (GRAPH2-2).
#pragma once

namespace gradcts::reference {

bool is_recording();
void set_recording(bool recording);

class RecordingGuard {
 public:
  explicit RecordingGuard(bool recording) : previous_(is_recording()) { set_recording(recording); }
  ~RecordingGuard() { set_recording(previous_); }
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  bool previous_;
};

}  // namespace gradcts::reference
