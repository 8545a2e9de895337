// Clang's thread-safety analysis: a field says which lock guards it, a function which lock it
// needs, and the compiler checks. Other compilers see nothing.
#pragma once

#if defined(__clang__)
#define GRADCTS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define GRADCTS_THREAD_ANNOTATION(x)
#endif

#define GRADCTS_CAPABILITY(name) GRADCTS_THREAD_ANNOTATION(capability(name))
#define GRADCTS_SCOPED_CAPABILITY GRADCTS_THREAD_ANNOTATION(scoped_lockable)
#define GRADCTS_GUARDED_BY(mutex) GRADCTS_THREAD_ANNOTATION(guarded_by(mutex))
#define GRADCTS_REQUIRES(...) GRADCTS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define GRADCTS_EXCLUDES(...) GRADCTS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define GRADCTS_ACQUIRE(...) GRADCTS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GRADCTS_TRY_ACQUIRE(...) GRADCTS_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define GRADCTS_RELEASE(...) GRADCTS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define GRADCTS_NO_THREAD_SAFETY_ANALYSIS GRADCTS_THREAD_ANNOTATION(no_thread_safety_analysis)
