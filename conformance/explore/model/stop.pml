/* Shutdown: passes that need a device's thread, and the end of that thread.
 *
 * Threads: CALLERS callers, each with one pass that needs the device's thread; one that stops the
 * engine; the device's thread. Sizes: -DCALLERS=n. Rules, and how each is broken: see the table in
 * docs/schedules.md; -DBREAK_... breaks one.
 */
#ifndef CALLERS
#define CALLERS 2
#endif

/* EngineState: one word for both, so that who changes it knows the other: see enter_shared(). */
byte passes = 0;      /* that need the device's thread */
bool stopped = false;

/* ReadyQueue of the device. */
byte queued = 0;      /* nodes */
bool shutdown = false;
bool worker_alive = true;

byte served = 0;

inline push_shutdown() { shutdown = true }

/* SHUT-2: EngineState::enter_shared(). Either the stop sees the pass, or the pass sees the stop. */
inline enter_shared(ok) {
#ifdef BREAK_ENTER
  bool was_stopped = stopped;
  passes++;
  ok = !was_stopped;
#else
  atomic { passes++; ok = !stopped }
#endif
}

/* SHUT-2: EngineState::leave_shared(). The last pass after a stop ends the threads. */
inline leave_shared() {
#ifdef BREAK_LEAVE
  atomic { passes--; last = (passes == 0) }
  if
  :: last && stopped -> push_shutdown()
  :: else
  fi
#else
  atomic {
    passes--;
    if
    :: passes == 0 && stopped -> push_shutdown()
    :: else
    fi
  }
#endif
}

proctype caller() {
  bool ok;
  bool last = false;
  enter_shared(ok);
  if
  :: ok ->
    queued++;                       /* ReadyQueue::push() */
    atomic { served > 0 -> served-- } /* whose node it was makes no difference here */
  :: else                           /* SHUT-4: a clear error */
  fi;
  leave_shared()
}

/* SHUT-1: EngineState::stop(). */
proctype stopper() {
#ifdef BREAK_STOP
  bool none = (passes == 0);
  stopped = true;
  if
  :: none -> push_shutdown()
  :: else
  fi;
#else
  atomic {
    stopped = true;
    if
    :: passes == 0 -> push_shutdown()
    :: else
    fi
  }
#endif
  !worker_alive                      /* ThreadCounter::wait_for_none() */
}

/* The device's thread: serve(). A shutdown comes before everything (DEV-6). */
proctype worker() {
  do
  :: atomic { shutdown -> worker_alive = false; break }
  :: atomic { !shutdown && queued > 0 -> queued--; served++ }
  od;
  assert(queued == 0)                /* nobody is left waiting for it */
}

init {
  byte i;
  atomic {
    for (i : 0 .. CALLERS - 1) { run caller() }
    run worker();
    run stopper()
  }
}
