#include "conformance/explore/preload/stacks.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "conformance/explore/preload/controller.h"
#include "conformance/explore/preload/real_calls.h"
#include "conformance/explore/preload/symbols.h"

namespace gradcts::schedule {
namespace {

// Note [Stacks]
// ~~~~~~~~~~~~~
// A thread can unwind only itself, and at a deadlock all threads are parked (in a stall, one runs
// or waits in a place unknown). So each is sent a signal, whose handler stores the bare return
// addresses; names are found afterwards by the thread that reports. The handler is installed when
// the process is about to end anyway, and takes a signal that programs do not use.
const int stack_signal = SIGRTMAX - 1;

constexpr int max_depth = 64;
constinit void* addresses[max_depth] = {};
constinit int depth = 0;
constinit std::atomic<std::uint32_t> answered{0};

void store_stack(int) {
  const int saved_errno = errno;
  // Unwinding locks mutexes of its own, which have no part in the schedule.
  ThreadRecord* const self = std::exchange(this_thread_record, nullptr);
  depth = backtrace(addresses, max_depth);
  this_thread_record = self;
  answered = 1;
  futex_wake_all(answered);
  errno = saved_errno;
}

bool ask(pid_t thread) {
  struct sigaction action = {};
  action.sa_handler = store_stack;
  action.sa_flags = SA_RESTART;
  sigaction(stack_signal, &action, nullptr);
  answered = 0;
  if (enter_kernel(SYS_tgkill, getpid(), thread, stack_signal, 0, 0, 0) != 0) return false;
  timespec deadline;
  real().clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += 1;
  while (answered == 0) {
    if (!futex_wait_until(answered, 0, CLOCK_MONOTONIC, deadline)) return false;
  }
  return true;
}

bool is_this_library(const Dl_info& info) {
  static constinit const char here = 0;
  Dl_info own;
  return dladdr(&here, &own) != 0 && own.dli_fbase == info.dli_fbase;
}

}  // namespace

void prepare_stacks() {
  void* address;
  backtrace(&address, 1);
}

std::vector<std::string> stack_of(pid_t thread) {
  if (thread == static_cast<pid_t>(enter_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0))) {
    depth = backtrace(addresses, max_depth);
  } else if (!ask(thread)) {
    return {};
  }
  int first = 0;  // the first frame beyond the last one of this library...
  Dl_info info[max_depth];
  for (int i = 0; i < depth; ++i) {
    if (dladdr(addresses[i], &info[i]) == 0) info[i] = {"?", nullptr, nullptr, nullptr};
    // ...but for the one in which a thread starts, third from the bottom.
    if (i < depth - 3 && is_this_library(info[i])) first = i + 1;
  }
  std::vector<std::string> lines;
  for (int i = first; i < depth; ++i) {
    if (!is_this_library(info[i])) lines.push_back(code_name(addresses[i], info[i]));
  }
  return lines;
}

std::string system_name_of(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  char name[32] = "?";
  if (const int file = open(path, O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t size = read(file, name, sizeof name - 1);
    close(file);
    if (size > 0) name[size - 1] = '\0';  // in place of the newline
  }
  return std::string(name) + ", " + std::to_string(thread);
}

}  // namespace gradcts::schedule
