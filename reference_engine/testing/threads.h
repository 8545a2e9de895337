// Shared by the engine's own tests: threads of the process, and waiting for what other threads do.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>

namespace gradcts::reference::testing {

// Until the condition holds, for what gives no notice of itself: a thread that is gone, say. Never
// returns where it does not come true: then the time limit of the test program ends the test.
inline void until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

// How many threads the process has now. One that was just joined may still count, so compare with
// <=. A sanitizer's own thread starts with the first other one, which is therefore made here.
inline std::ptrdiff_t thread_count() {
  static const bool has_started_one = (std::thread([] {}).join(), true);
  static_cast<void>(has_started_one);
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// Is this program built with a sanitizer? They make things slow, and stack frames large.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

// Runs the body in a thread with a stack of 256 KB.
inline void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<std::function<void()>*>(argument))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace gradcts::reference::testing
