// Notices a child process that was forked after worker threads started (FORK-1): the child has none
// of them, and would wait for ever.
#pragma once

namespace gradcts::reference {

void note_worker_started();  // to be called before a worker thread starts

// True in such a child.
bool is_forked_after_workers();

}  // namespace gradcts::reference
