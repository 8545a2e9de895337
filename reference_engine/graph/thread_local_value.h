// A thread-local slot for the user's own state, which a pass carries along (TLS-1): nodes, hooks
// and callbacks see the caller's value on whatever thread they run, changes that they make end with
// them, and the worker's own value is back afterwards.
#pragma once

#include <memory>

namespace gradcts::reference {

using ThreadLocalValue = std::shared_ptr<const void>;

const ThreadLocalValue& thread_local_value();
void set_thread_local_value(ThreadLocalValue value);

}  // namespace gradcts::reference
