// Which lock guards what, checked by Clang's thread-safety analysis. Other compilers see nothing.
#pragma once

#if defined(__clang__)
#define SCHEDULE_ANNOTATION(x) __attribute__((x))
#else
#define SCHEDULE_ANNOTATION(x)
#endif

#define SCHEDULE_LOCK SCHEDULE_ANNOTATION(capability("lock"))
#define SCHEDULE_LOCK_SCOPE SCHEDULE_ANNOTATION(scoped_lockable)
#define GUARDED_BY_LOCK(lock) SCHEDULE_ANNOTATION(guarded_by(lock))
#define NEEDS_LOCK(lock) SCHEDULE_ANNOTATION(requires_capability(lock))
#define NEEDS_NO_LOCK(lock) SCHEDULE_ANNOTATION(locks_excluded(lock))
#define TAKES_LOCK(...) SCHEDULE_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASES_LOCK(...) SCHEDULE_ANNOTATION(release_capability(__VA_ARGS__))
// For a function that leaves the lock in another state than it found it.
#define LOCK_NOT_CHECKED SCHEDULE_ANNOTATION(no_thread_safety_analysis)
