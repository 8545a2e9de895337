// Threads of the engine. They are started detached: who wants to know that one has ended keeps
// count under a lock (engine/thread_counter.h), because a shutdown may have to give up waiting
// (SHUT-1).
#pragma once

#include <functional>
#include <thread>

namespace gradcts::reference {

inline void start_detached_thread(std::function<void()> body) {
  std::thread(std::move(body)).detach();
}

}  // namespace gradcts::reference
