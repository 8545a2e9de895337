/* The reentrant pool: handing a pass over to a thread of the pool, and the end of the pool.
 *
 * Threads: CALLERS callers that hand ROUNDS jobs each to the pool and wait; the pool's threads, which
 * are started as the rule says; one that shuts the pool down, with -DSHUTDOWN. With -DMEET the callers'
 * first jobs wait for each other, as nested passes of two callers may: a job that nobody takes is then
 * a hang. Rules, and how each is broken: see the table in docs/schedules.md; -DBREAK_... breaks one.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

bool locked = false;           /* ReentrantPool::mutex_ */
chan jobs = [CALLERS] of { byte };
byte idle = 0;
bool shut_down = false;
byte asleep = 0;               /* in changed_.wait(); a wake-up takes one out */
byte awake = 0;                /* woken, and not out of the wait yet */
bool done[CALLERS];            /* Job::is_done_: set and waited for under the job's own lock */
byte threads = 0, started = 0; /* ThreadCounter */
byte met = 0;                  /* with MEET */
byte jobs_done = 0;

#define LOCK() atomic { !locked -> locked = true }
#define UNLOCK() locked = false
#define NOTIFY_ONE() if :: asleep > 0 -> asleep--; awake++ :: else fi
#define NOTIFY_ALL() awake = awake + asleep; asleep = 0

/* ReentrantPool::add(): a thread is started unless those that are idle are more than the jobs that
 * wait already (REENT-3). */
inline add(me, needs) {
  LOCK();
#ifdef BREAK_NEEDS
  needs = (idle == 0);             /* a notified thread is idle until it has woken: two may count on it */
#else
  needs = (idle <= len(jobs));
#endif
  jobs!me;
  atomic { NOTIFY_ONE() };
  UNLOCK();
  if
  :: needs -> atomic { threads++; started++; run worker() }
  :: else
  fi
}

/* ReentrantPool::run_and_wait(). */
proctype caller(byte me) {
  byte round = 0;
  bool needs;
  do
  :: round < ROUNDS ->
    done[me] = false;
    add(me, needs);
    done[me];                      /* Job::wait() */
    round++
  :: else -> break
  od
}

/* ReentrantPool::serve(), with next_job() and become_idle(). */
proctype worker() {
  byte job;
  bool leave = false;
  LOCK(); idle++; UNLOCK();
  do
  :: !leave ->
    LOCK();
    do
    :: len(jobs) == 0 && !shut_down ->
      atomic { UNLOCK(); asleep++ };
end_idle: atomic { awake > 0 -> awake-- };
      LOCK()
    :: else -> break
    od;
    idle--;
    if
    :: len(jobs) == 0 -> leave = true; UNLOCK()
    :: else ->
      jobs?job;
      UNLOCK();
#ifdef MEET
      if
      :: met < CALLERS -> met++; met >= CALLERS
      :: else
      fi;
#endif
      jobs_done++;
      /* Idle again before anybody can know that the job is done. */
#ifdef BREAK_IDLE
      done[job] = true;
      LOCK(); idle++; UNLOCK()
#else
      LOCK(); idle++; UNLOCK();
      done[job] = true
#endif
    fi
  :: else -> break
  od;
  threads--
}

/* ReentrantPool::push_shutdown(); jobs may still come (SHUT-2). */
proctype stopper() {
  LOCK();
  shut_down = true;
#ifdef BREAK_SHUTDOWN
  atomic { NOTIFY_ONE() };         /* all must be woken */
#else
  atomic { NOTIFY_ALL() };
#endif
  UNLOCK()
}

/* At rest: every job was done; no more threads than callers were started (REENT-3); after a shutdown
 * none is left (SHUT-1). */
proctype at_rest() {
  timeout;
  assert(jobs_done == CALLERS * ROUNDS);
  assert(len(jobs) == 0);
#ifdef SHUTDOWN
  assert(threads == 0)
#else
  assert(started <= CALLERS)
#endif
}

init {
  byte i;
  atomic {
    for (i : 0 .. CALLERS - 1) { run caller(i) }
#ifdef SHUTDOWN
    run stopper();
#endif
    run at_rest()
  }
}
