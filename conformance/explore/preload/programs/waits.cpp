// Waits that are neither mutexes nor conditions.
#include <semaphore.h>

#include <atomic>
#include <barrier>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

bool posix_semaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  int value = 0;
  std::thread producer([&] {
    value = 7;
    sem_post(&semaphore);
  });
  sem_wait(&semaphore);
  const bool right = value == 7;
  producer.join();
  return right && sem_trywait(&semaphore) == -1 && errno == EAGAIN;
}

bool semaphore_that_nobody_posts() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread([] {}).join();
  sem_wait(&semaphore);
  return true;
}

bool future() {
  std::promise<int> promise;
  std::thread producer([&] { promise.set_value(7); });
  const bool right = promise.get_future().get() == 7;
  producer.join();
  return right;
}

bool atomic_wait() {
  std::atomic<int> value = 0;
  std::thread producer([&] {
    value = 7;
    value.notify_one();
  });
  value.wait(0);
  producer.join();
  return value == 7;
}

bool latch_and_barrier() {
  std::latch begun(3);
  std::barrier both(2);
  std::atomic<int> rounds = 0;
  const auto body = [&] {
    begun.arrive_and_wait();
    for (int i = 0; i < 3; ++i) {
      both.arrive_and_wait();
      ++rounds;
    }
  };
  std::thread one(body), two(body);
  begun.arrive_and_wait();
  one.join();
  two.join();
  return rounds == 6;
}

bool counting_semaphore() {
  std::counting_semaphore<2> places(2);
  std::atomic<int> inside = 0;
  std::atomic<bool> never_too_many = true;
  const auto body = [&] {
    places.acquire();
    if (++inside > 2) never_too_many = false;
    std::this_thread::yield();
    --inside;
    places.release();
  };
  std::thread one(body), two(body), three(body);
  one.join();
  two.join();
  three.join();
  return never_too_many;
}

}  // namespace

const std::vector<Program> of_waits = {
    {"posix_semaphore", posix_semaphore},
    {"semaphore_that_nobody_posts", semaphore_that_nobody_posts},
    {"future", future},
    {"atomic_wait", atomic_wait},
    {"latch_and_barrier", latch_and_barrier},
    {"counting_semaphore", counting_semaphore},
};

}  // namespace gradcts::schedule::programs
