/* Five functions that an engine's author may call to tell the controlled scheduler what the pthread
 * calls do not show: accesses to atomics, waits of one's own making, threads of another kind.
 *
 * They are weak: an engine that includes this header links and runs without the library, and then
 * the macros below cost one comparison with null. Outside a controlled schedule the functions do
 * nothing.
 *
 *   GRADCTS_POINT(&outstanding);                       // before an access that other threads see
 *   if (outstanding.fetch_sub(1) == 1) ...
 *
 *   while (!ready.load())                              // a wait of one's own, woken by
 * GRADCTS_WAKE: if (!GRADCTS_WAIT(&ready)) futex_wait(&ready);   // false: not under control, wait
 * as usual
 *
 *   ready.store(true); GRADCTS_WAKE(&ready); futex_wake(&ready);
 *
 *   GRADCTS_LEAVE(); read(socket, ...); GRADCTS_ENTER();  // a wait for the world outside
 */
#ifndef GRADCTS_POINTS_H
#define GRADCTS_POINTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Another thread may run here. `object` is what the access is about; it only labels the report. */
__attribute__((weak)) void gradcts_point(const void* object);

/* The calling thread waits until gradcts_wake(object); no other thread runs between the caller's
 * last test and the wait. Returns 1 when woken, and the caller tests again (it may be woken for
 * nothing); 0 at once when the thread is not under control. */
__attribute__((weak)) int gradcts_wait(const void* object);

/* Whoever waits in gradcts_wait(object) can run again. Any thread may call it. */
__attribute__((weak)) void gradcts_wake(const void* object);

/* The calling thread comes under control, if control is on: at the start of a thread that was not
 * made by pthread_create, or after gradcts_leave. When it arrives is up to the world and not to the
 * seed. */
__attribute__((weak)) void gradcts_enter(void);

/* The calling thread goes on outside control, and another one gets the token. */
__attribute__((weak)) void gradcts_leave(void);

#define GRADCTS_POINT(object) (gradcts_point ? gradcts_point(object) : (void)0)
#define GRADCTS_WAIT(object) (gradcts_wait ? gradcts_wait(object) : 0)
#define GRADCTS_WAKE(object) (gradcts_wake ? gradcts_wake(object) : (void)0)
#define GRADCTS_ENTER() (gradcts_enter ? gradcts_enter() : (void)0)
#define GRADCTS_LEAVE() (gradcts_leave ? gradcts_leave() : (void)0)

#ifdef __cplusplus
}
#endif

#endif /* GRADCTS_POINTS_H */
