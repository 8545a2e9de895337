// Clang's thread-safety analysis: a field says which lock guards it, a function which lock it
// needs, and the compiler checks. Other compilers see nothing.
#pragma once

#if defined(__clang__)
#define GRADCTS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GRADCTS_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(name) GRADCTS_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY GRADCTS_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(mutex) GRADCTS_THREAD_ANNOTATION(guarded_by(mutex))
#define REQUIRES(...) GRADCTS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) GRADCTS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) GRADCTS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) GRADCTS_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) GRADCTS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS GRADCTS_THREAD_ANNOTATION(no_thread_safety_analysis)
