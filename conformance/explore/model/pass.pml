/* One pass over two threads: ready queues, ownership, completion, wake-up, giving up, nested passes.
 *
 * Threads: the owner of the pass (the CPU's nodes) and a device's thread. The graph: a root on the CPU;
 * below it WIDTH nodes on the device, each with one node on the CPU below it; and one node on the
 * device below all of those (on the CPU with -DLAST_ON_CPU). Any node may fail with -DERRORS. With -DNESTED the first CPU node below the
 * root runs a nested pass with a node on the device while it holds a lock that the others take too.
 * Rules, and how each is broken: see the table in docs/schedules.md; -DBREAK_... breaks one.
 */
#ifndef WIDTH
#define WIDTH 2
#endif

#define CPU 0
#define DEVICE 1
#define NODES (2 + 2 * WIDTH)
#define ROOT 0
#define LAST (NODES - 1)
#ifdef LAST_ON_CPU
#define IS_ON_DEVICE(n) (n >= 1 && n <= WIDTH)
#else
#define IS_ON_DEVICE(n) (n == LAST || (n >= 1 && n <= WIDTH))
#endif
#define OUTER 0
#define INNER 1

/* ReadyQueue. What others push stands in the inbox, under the lock; what the owner took over, in its
 * own entries, by queue and pass. */
bool locked[2];
bool has_mail[2];
bool asleep[2];
chan inbox[4] = [NODES] of { byte };
chan own[4] = [NODES] of { byte };
#define OF(q, t) (q * 2 + t)

/* GraphTask. */
byte outstanding[2];
bool has_error[2];
bool given_up[2];
bool freed[2];
byte missing[NODES];
byte run_count[NODES];
byte inner_runs = 0;
byte completed[2];
bool user_lock = false;

#define LOCK(q) atomic { !locked[q] -> locked[q] = true }
#define UNLOCK(q) locked[q] = false
#define NOTIFY(q) asleep[q] = false

/* ORDER-2: ReadyQueue::push(). In the inbox before the flag, the flag before the wake-up, all under
 * the lock. False where the pass was given up (ERR-5). */
inline push(q, t, n, pushed) {
  LOCK(q);
  assert(!freed[t]);
  if
  :: given_up[t] -> pushed = false
  :: else ->
    pushed = true;
    inbox[OF(q, t)]!n;
    has_mail[q] = true;
    NOTIFY(q)
  fi;
  UNLOCK(q)
}

/* DEV-6: ReadyQueue::wake(). A wake-up is the flag and nothing else. */
inline wake(q) {
#ifdef BREAK_WAKE_LOCK
  NOTIFY(q);                      /* without the lock and the flag: nobody hears it who does not sleep yet */
#else
  LOCK(q);
  has_mail[q] = true;
  NOTIFY(q);
  UNLOCK(q)
#endif
}

inline move_all(q, t) {
  do
  :: inbox[OF(q, t)]?moved -> own[OF(q, t)]!moved
  :: empty(inbox[OF(q, t)]) -> break
  od
}

/* ReadyQueue::empty_inbox(). */
inline empty_inbox(q) {
  LOCK(q);
  d_step { move_all(q, OUTER); move_all(q, INNER); has_mail[q] = false };
  UNLOCK(q)
}

/* ReadyQueue::wait(). The flag is looked at under the lock that its setter holds. */
inline wait(q) {
#ifdef BREAK_WAIT
  if
  :: !has_mail[q] -> LOCK(q); atomic { UNLOCK(q); asleep[q] = true }; !asleep[q]
  :: else
  fi;
#else
  LOCK(q);
  do
  :: !has_mail[q] -> atomic { UNLOCK(q); asleep[q] = true };
end_of_service:
    !asleep[q];
    LOCK(q)
  :: else -> break
  od;
  UNLOCK(q);
#endif
  empty_inbox(q)
}

/* ReadyQueue::pop(): an entry of at least this depth (REENT-7), or a look at what was waited for. The
 * deepest come first (ORDER-1). After mail that was a mere wake-up there is no wait. */
inline pop(q, least, got, t, n) {
  got = false;
  had_mail = has_mail[q];
  if
  :: had_mail -> empty_inbox(q)
  :: else
  fi;
#ifdef BREAK_DEPTH
  allowed = true;
#else
  allowed = (least == OUTER);
#endif
  if
  :: len(own[OF(q, INNER)]) > 0 -> own[OF(q, INNER)]?n; t = INNER; got = true
  :: len(own[OF(q, INNER)]) == 0 && allowed && len(own[OF(q, OUTER)]) > 0 ->
    own[OF(q, OUTER)]?n; t = OUTER; got = true
  :: len(own[OF(q, INNER)]) == 0 && !(allowed && len(own[OF(q, OUTER)]) > 0) ->
#ifdef BREAK_LOOK_AGAIN
    wait(q)
#else
    if
    :: !had_mail -> wait(q)
    :: had_mail
    fi
#endif
  fi
}

/* THREAD-3: GraphTask::finish_shared(). What the subtraction returned decides, and the owner's queue
 * is known before it: afterwards the pass may be gone. */
inline finish(t, count) {
  assert(!freed[t]);
#ifdef BREAK_COMPLETION
  outstanding[t] = outstanding[t] - (count);
  left = outstanding[t];
#else
  atomic { outstanding[t] = outstanding[t] - (count); left = outstanding[t] };
#endif
#ifdef BREAK_OWNER_QUEUE
  assert(!freed[t]);
#endif
  if
  :: left == 0 -> assert(!freed[t]); freed[t] = true
#ifdef BREAK_WAKE
  :: else
#else
#ifdef EXIT_ON_ERROR
  :: left == 1 || (left > 1 && failed_before) -> wake(CPU)
#else
  :: left == 1 -> wake(CPU)
#endif
  :: else
#endif
  fi
}

/* TOPO-2: push_ready(). Counted before it can be finished by another thread. */
inline push_ready(t, n, q) {
#ifdef BREAK_COUNT
  push(q, t, n, pushed);
  outstanding[t]++;
#else
  outstanding[t]++;
  push(q, t, n, pushed);
#endif
  if
  :: !pushed -> outstanding[t]-- /* the pass was given up: its entry is none */
  :: else
  fi
}

inline deliver(n) {
  atomic { missing[n]--; ready = (missing[n] == 0) };
  if
  :: ready && IS_ON_DEVICE(n) -> push_ready(OUTER, n, DEVICE)
  :: ready && !IS_ON_DEVICE(n) -> push_ready(OUTER, n, CPU)
  :: else
  fi
}

/* run_entry() with run_node() and deliver_shared(). */
inline run_entry(t, n) {
  assert(!freed[t]);
  if
  :: has_error[t]                       /* ERR-2: no further node */
#ifdef ERRORS
  :: !has_error[t] -> has_error[t] = true
#endif
  :: !has_error[t] && t == INNER -> inner_runs++
  :: !has_error[t] && t == OUTER ->
    run_count[n]++;
    if
    :: n == ROOT -> k = 1; do :: k <= WIDTH -> deliver(k); k++ :: else -> break od
    :: n >= 1 && n <= WIDTH -> deliver(n + WIDTH)
    :: n > WIDTH && n < LAST ->
#ifdef NESTED
      assert(!user_lock);               /* its holder is this thread: it would wait for ever (B002) */
      if
      :: n == WIDTH + 1 -> nest = true
      :: else -> deliver(LAST)
      fi
#else
      deliver(LAST)
#endif
    :: else
    fi
  fi
}

/* serve() for the owner, execute(), leave(). */
proctype owner() {
  byte t, n, left, k, moved;
  bool got, had_mail, allowed, pushed, ready, nest = false, failed_before;
  byte until = OUTER;
  outstanding[OUTER] = 1;
  outstanding[OUTER]++;
  own[OF(CPU, OUTER)]!ROOT;
serve:
  do
  :: outstanding[until] == 1 -> break   /* GraphTask::is_finished() */
#ifdef EXIT_ON_ERROR
  :: has_error[until] -> break
#endif
  :: else ->
    pop(CPU, until, got, t, n);
    if
    :: got ->
      failed_before = has_error[t];
      run_entry(t, n);
      if
      :: nest ->                        /* REENT-1: a nested pass on the same thread */
        nest = false;
        user_lock = true;
        until = INNER;
        outstanding[INNER] = 1;
        push_ready(INNER, 0, DEVICE);
        goto serve
      :: else -> failed_before = has_error[t]; finish(t, 1)
      fi
    :: else
    fi
  od;
  /* GraphTask::leave(). */
  if
  :: outstanding[until] == 1 -> completed[until]++; assert(!freed[until]); freed[until] = true
  :: else ->
    given_up[until] = true;
    d_step {
      k = len(own[OF(CPU, until)]);
      do :: own[OF(CPU, until)]?moved :: empty(own[OF(CPU, until)]) -> break od
    };
    LOCK(CPU);
    d_step {
      k = k + len(inbox[OF(CPU, until)]);
      do :: inbox[OF(CPU, until)]?moved :: empty(inbox[OF(CPU, until)]) -> break od
    };
    UNLOCK(CPU);
    failed_before = false;
    finish(until, k + 1)
  fi;
  if
  :: until == INNER ->                  /* the nested call returns into its node */
    until = OUTER;
    user_lock = false;
    deliver(LAST);
    finish(OUTER, 1);
    goto serve
  :: else
  fi
}

/* serve() for a device's thread. */
proctype worker() {
  byte t, n, left, k, moved;
  bool got, had_mail, allowed, pushed, ready, nest, failed_before;
end:
  do
  :: pop(DEVICE, OUTER, got, t, n);
    if
    :: got -> run_entry(t, n); failed_before = has_error[t]; finish(t, 1)
    :: else
    fi
  od
}

proctype at_rest() {
  byte i;
  timeout;
  assert(freed[OUTER]);
#ifndef EXIT_ON_ERROR
  assert(completed[OUTER] == 1);
#endif
#ifndef ERRORS
  for (i : 0 .. NODES - 1) { assert(run_count[i] == 1) }
#endif
#ifdef NESTED
  assert(has_error[OUTER] || freed[INNER]);
#endif
}

init {
  byte i;
  atomic {
    for (i : 1 .. NODES - 2) { missing[i] = 1 }
    missing[LAST] = WIDTH;
    run owner();
    run worker();
    run at_rest()
  }
}
