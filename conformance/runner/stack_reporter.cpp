#include "conformance/runner/stack_reporter.h"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace gradcts {
namespace {

constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
constexpr int frame_limit = 48;
constexpr int thread_limit = 64;
constexpr int patience_ms = 500;  // for each other thread

int report_file = -1;
int done_pipe[2] = {-1, -1};  // carries the thread id of each thread that wrote its stack
pid_t worker = 0;
std::atomic<pid_t> collector{0};  // the thread that writes the report; 0: none yet
std::atomic<pid_t> expected{0};   // the thread that may write now

alignas(16) std::array<char, 256 * 1024> alternate_stack;

int stack_signal() {
  return SIGRTMAX - 2;
}

pid_t this_thread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

// ------------------------------------------------------------------------------------------------
// Writing, with nothing that allocates

void put(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(report_file, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

void put(const char* text) {
  put(text, std::strlen(text));
}

void put_number(std::uint64_t number, unsigned base = 10) {
  char digits[20];
  std::size_t start = sizeof digits;
  do {
    digits[--start] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  put(digits + start, sizeof digits - start);
}

// "thread 123 name state", where the state says how the thread came to be here.
void put_thread_line(pid_t thread, const char* state) {
  put("thread ");
  put_number(static_cast<std::uint64_t>(thread));
  put(" ");
  put(state);
  put(" ");
  char path[64] = "/proc/self/task/";
  std::size_t end = std::strlen(path);
  char digits[12];
  std::size_t count = 0;
  for (auto rest = static_cast<unsigned>(thread); rest > 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) path[end++] = digits[--count];
  std::memcpy(path + end, "/comm", 6);
  char name[32];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? 0 : read(file, name, sizeof name);
  if (file >= 0) close(file);
  if (size > 0) put(name, static_cast<std::size_t>(size));  // ends in a newline
  if (size <= 0) put("?\n");
}

void* interrupted_at(void* context) {
  if (!context) return nullptr;
  [[maybe_unused]] const auto* user = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<void*>(user->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(user->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

// The frames below the handler: from where the thread was interrupted.
void put_stack(void* context) {
  void* frames[frame_limit];
  const int count = backtrace(frames, frame_limit);
  const void* start = interrupted_at(context);
  int first = 0;
  for (int i = 0; i < count; ++i) {
    if (frames[i] == start) first = i;
  }
  backtrace_symbols_fd(frames + first, count - first, report_file);
}

// ------------------------------------------------------------------------------------------------
// One thread asks all others

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

bool wait_for(pid_t thread) {
  const std::int64_t deadline = now_ms() + patience_ms;
  while (true) {
    const std::int64_t left = deadline - now_ms();
    pollfd done{done_pipe[0], POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&done, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    pid_t who = 0;
    if (read(done_pipe[0], &who, sizeof who) == sizeof who && who == thread) return true;
  }
}

void ask(pid_t thread) {
  expected.store(thread);
  if (syscall(SYS_tgkill, worker, thread, stack_signal()) != 0) return;  // it just ended
  if (!wait_for(thread)) {
    expected.store(0);
    put_thread_line(thread, "silent");
  }
}

// The layout of what getdents64 fills in: inode, offset, size, type, name.
constexpr int entry_size_at = 16;
constexpr int entry_name_at = 19;

pid_t number_at(const char* digits) {
  pid_t number = 0;
  for (; *digits >= '0' && *digits <= '9'; ++digits) number = number * 10 + (*digits - '0');
  return number;
}

template <typename Use>
void for_each_thread(Use use) {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(8) char buffer[4096];
  while (true) {
    const long size = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      std::uint16_t entry_size = 0;
      std::memcpy(&entry_size, buffer + at + entry_size_at, sizeof entry_size);
      const pid_t thread = number_at(buffer + at + entry_name_at);
      at += entry_size;
      if (thread > 0) use(thread);
    }
  }
  close(folder);
}

void ask_all_others(pid_t self) {
  int asked = 0;
  for_each_thread([&](pid_t thread) {
    if (thread != self && asked++ < thread_limit) ask(thread);
  });
  if (asked > thread_limit) {
    put("more ");
    put_number(static_cast<std::uint64_t>(asked - thread_limit));
    put("\n");
  }
}

// True for the first thread that gets here; every later one must wait for the end of the process.
bool become_collector() {
  pid_t none = 0;
  return collector.compare_exchange_strong(none, this_thread());
}

void wait_for_the_end() {
  while (true) pause();
}

// ------------------------------------------------------------------------------------------------
// Handlers

void on_stack_signal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  pid_t self = this_thread();
  if (expected.load() == self) {
    put_thread_line(self, "running");
    put_stack(context);
    expected.store(0);
    [[maybe_unused]] const ssize_t ignored = write(done_pipe[1], &self, sizeof self);
  }
  errno = saved_errno;
}

void on_request(int, siginfo_t*, void* context) {
  if (getpid() != worker || !become_collector()) return;
  put("report request\n");
  put_thread_line(this_thread(), "running");
  put_stack(context);
  ask_all_others(this_thread());
  put("end\n");
  wait_for_the_end();  // the runner ends this process now
}

void die_of(int signal) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  syscall(SYS_tgkill, getpid(), this_thread(), signal);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (getpid() != worker) return die_of(signal);  // a forked child: not this worker's story
  if (!become_collector()) wait_for_the_end();
  put("report crash ");
  put_number(static_cast<std::uint64_t>(signal));
  if (info->si_code > 0) {  // else it was sent, and there is no address
    put(" ");
    put_number(reinterpret_cast<std::uintptr_t>(info->si_addr), 16);
  }
  put("\n");
  put_thread_line(this_thread(), "crashed");
  put_stack(context);
  ask_all_others(this_thread());
  put("end\n");
  die_of(signal);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void use_alternate_stack() {
  stack_t stack = {};
  stack.ss_sp = alternate_stack.data();
  stack.ss_size = alternate_stack.size();
  sigaltstack(&stack, nullptr);
}

}  // namespace

void install_stack_reporter(int file) {
  report_file = file;
  worker = getpid();
  if (done_pipe[0] < 0) {
    [[maybe_unused]] const int ignored = pipe2(done_pipe, O_CLOEXEC);
    void* warm_up[2];
    backtrace(warm_up, 2);  // loads what it needs, which would not be safe in a handler
    use_alternate_stack();
  }
  for (const int signal : crash_signals) handle(signal, on_crash);
  handle(stack_request_signal(), on_request);
  handle(stack_signal(), on_stack_signal);
}

}  // namespace gradcts
