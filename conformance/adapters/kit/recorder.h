// Writes down what happens: events and step results, in one order over all threads.
//
// The order is the logical clock of outcome.h: what happened before something else, on its thread
// or through any synchronisation, stands before it. Thread-safe. Once `take` was called, whatever
// still arrives is dropped: it comes from work that a wrong engine left behind.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "conformance/adapters/kit/sync.h"
#include "conformance/scenario/outcome.h"

namespace gradcts::kit {

using Values = std::vector<std::optional<TensorValue>>;

class Recorder {
 public:
  // The calling thread is the main thread, number 0.
  explicit Recorder(const Scenario& scenario);

  // The number of the running thread; unknown threads get the next one.
  std::int16_t thread();
  // A number for a thread that will start, and its adoption by that thread: threads of one
  // `parallel` are numbered in the order in which they are written.
  std::int16_t reserve_thread();
  void adopt_thread(std::int16_t number);
  // The running thread, which was adopted, has come to the end of its steps.
  void leave_thread();
  // Where the running thread belongs, as EventKind::destroyed counts it.
  std::int64_t place() const;

  void step(StepId step, std::optional<ErrorReport> error, Values values);
  void node(EventKind kind, NodeId node, std::int32_t instance, Values values);
  // Every other kind: the instance is counted here.
  void event(EventKind kind, std::int32_t subject, Values values, std::int64_t number = 0);

  void state_change(std::string line);

  // The steps, events and state changes so far; nothing is written down afterwards.
  Outcome take();
  // Writes down again, for a child process that begins with nothing.
  void reopen();

 private:
  std::int32_t& occurrences(EventKind kind, std::int32_t subject);

  const std::uint64_t run_;  // tells this recorder's thread numbers from those of others
  Mutex mutex_;
  bool closed_ = false;
  std::int16_t threads_ = 1;
  Outcome outcome_;
  std::vector<std::int32_t> step_counts_;
  std::vector<std::int32_t> event_counts_;  // by kind and subject
  std::size_t subjects_;                    // of one kind
};

}  // namespace gradcts::kit
