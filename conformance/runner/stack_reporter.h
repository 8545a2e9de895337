// The stacks of all threads of a worker, written by the worker itself when it crashes or is asked.
//
// Note [Stacks without a debugger]
// A crash, or the signal `stack_request_signal`, enters a handler (on an alternate stack on the
// main thread, so that a stack overflow there can be told). The handler writes the stack of its own
// thread into a pipe, then goes over /proc/self/task, signals each other thread and waits, with a
// limit, until that thread has written its own. It only uses what is safe in a signal handler: raw
// system calls, backtrace() (warmed up before) and backtrace_symbols_fd(). After a crash the
// process dies of the same signal, as it would have without the handler. Whatever goes wrong in a
// handler ends in that death or in the runner's patience; a partial report is still a report. The
// text is read by stack_text.h.
#pragma once

#include <csignal>

namespace gradcts {

// The runner sends this to a worker that does not answer.
inline int stack_request_signal() {
  return SIGRTMAX - 1;
}

// Reports go to `file` from now on. Call on the main thread, before and again after an engine was
// loaded (engines may take over signals while they load).
void install_stack_reporter(int file);

}  // namespace gradcts
