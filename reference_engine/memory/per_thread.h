// One T for each thread, which is there for as long as anything runs on the thread.
//
// Note [Per thread]
// ~~~~~~~~~~~~~~~~~
// A `thread_local` object with a destructor is gone when the destructors of those run that were
// made before it and, on the main thread, those of static objects. A user's destructor may start a
// pass, and would find what is destroyed. So the T lies behind a pointer and is freed by a key of
// pthreads: these come after all thread_local objects. Where a T is asked for once more, by what
// the T of some other key held, a new one is made and freed in the next round of keys (there are
// four). Keys know no end of the main thread: its T stays, for the destructors of static objects.
#pragma once

#include <pthread.h>

namespace gradcts::reference {

template <typename T>
class PerThread {
 public:
  static T& get() {
    if (!object_) [[unlikely]]
      make();
    return *object_;
  }

 private:
  static void make() {
    static const pthread_key_t key = [] {
      pthread_key_t made;
      pthread_key_create(&made, free);
      return made;
    }();
    object_ = new T;
    pthread_setspecific(key, object_);
  }

  // A destructor that asks for a T while this one goes finds a new one.
  static void free(void* object) {
    object_ = nullptr;
    delete static_cast<T*>(object);
  }

  inline static thread_local constinit T* object_ = nullptr;
};

}  // namespace gradcts::reference
