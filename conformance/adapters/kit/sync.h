// The kit's locks and threads, which belong to a scenario as much as the engine's do. Another header
// of this name stands in when an engine is rebuilt for controlled schedules (conformance/explore).
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace gradcts::kit {

using Mutex = std::mutex;
using ConditionVariable = std::condition_variable;
using Thread = std::jthread;  // joins when it is destroyed

}  // namespace gradcts::kit
