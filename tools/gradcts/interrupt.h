// Ctrl-C, and SIGTERM, with which a CI system ends what takes too long.
#pragma once

#include <atomic>

namespace gradcts {

// From now on the first of these signals only asks to stop, which the result then says: a command
// ends what is in flight and keeps what it has. The second ends the process at once.
const std::atomic<bool>& stop_when_interrupted();

}  // namespace gradcts
