#include "conformance/explore/rebuilt/meetings.h"

#include <execinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "conformance/explore/preload/futex.h"
#include "conformance/explore/preload/symbols.h"

namespace gradcts::schedule {
namespace {

thread_local constinit Participant* this_thread = nullptr;

// Objects made outside control are numbered in the order in which they are made.
constinit std::atomic<std::uint64_t> made_outside{0};

// See Note [Names of objects].
std::uint64_t new_name() {
  if (this_thread == nullptr) return scramble(made_outside.fetch_add(1) ^ (std::uint64_t{1} << 63));
  return scramble(this_thread->name + 3 * ++this_thread->named);
}

// Note [The end of a thread of the engine]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// After its function has returned, a thread still destroys its thread_local objects, and an
// engine's may lock mutexes there. The destructor of a pthread key comes after them: there the
// thread's part in the schedule ends.
void on_thread_exit(void* participant) {
  meetings().thread_ends(*static_cast<Participant*>(participant));
}

pthread_key_t exit_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, on_thread_exit) != 0) std::abort();
    return made;
  }();
  return key;
}

void* thread_main(void* argument) {
  auto& self = *static_cast<Participant*>(argument);
  meetings().thread_starts(self);
  const std::function<void()> body = std::move(self.body);
  body();
  return nullptr;
}

void launch(Participant& thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t handle;
  const int error = pthread_create(&handle, &attributes, thread_main, &thread);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::bad_alloc();  // what std::thread would say in other words
}

std::uint64_t name_of(const void* object) {
  return static_cast<const MeetingPoint*>(object)->name();
}

std::string name_in_words(const void* object) {
  return object_name(object);
}

}  // namespace

// Never destroyed: threads of an engine may outlive main().
Meetings& meetings() {
  static Meetings* const instance = new Meetings;
  return *instance;
}

Meetings::Meetings() : log_(scheduler_, done_, name_of) {}

// ---- Control
// --------------------------------------------------------------------------------------

int Meetings::begin(const gradcts_schedule_options& options) {
  if (on_) return EBUSY;
  if (!strategy_.choose(options, scheduler_)) return EINVAL;
  ++schedules_;
  done_.clear();
  shared_.clear();
  settled_schedule_.clear();
  threads_.clear();
  threads_.push_back(std::make_unique<Participant>());
  threads_.front()->number = 0;
  threads_.front()->name = threads_.front()->last = scramble(schedules_ == 1 ? 1 : 2);
  log_.start(strategy_.get());
  scheduler_.start(log_, strategy_.options().step_bound);
  this_thread = threads_.front().get();
  on_ = true;
  return 0;
}

bool Meetings::anybody_left() const {
  for (ThreadNumber thread = 1; thread < scheduler_.thread_count(); ++thread) {
    if (scheduler_.thread(thread).state != Scheduler::State::finished) return true;
  }
  return false;
}

int Meetings::end(gradcts_schedule_result& out) {
  if (this_thread == nullptr || this_thread->number != 0) return EPERM;
  if (!log_.is_settled()) settle();
  follow(scheduler_.stand_back());
  if (anybody_left()) fail(GRADCTS_SCHEDULE_DEADLOCK);
  out = result(GRADCTS_SCHEDULE_COMPLETED);
  this_thread = nullptr;
  on_ = false;
  return 0;
}

void Meetings::settle() {
  settled_schedule_ = scheduler_.trace().text();
  settled_meaning_ = done_.state();
  log_.settle();
}

gradcts_schedule_result Meetings::result(gradcts_schedule_outcome outcome) {
  gradcts_schedule_result result = {};
  result.outcome = outcome;
  result.threads = static_cast<std::uint32_t>(scheduler_.thread_count());
  result.steps = scheduler_.steps();
  result.switches = scheduler_.switches();
  result.hash = scheduler_.hash();
  result.mismatch_step = strategy_.mismatch_step();
  result.schedule = log_.is_settled() ? settled_schedule_.c_str() : scheduler_.trace().text();
  result.decisions = log_.decisions().data();
  result.decision_count = log_.decisions().size();
  result.shared_objects = shared_.data();
  result.shared_object_count = shared_.size();
  result.meaning = log_.is_settled() ? settled_meaning_ : done_.state();
  return result;
}

// All other threads are parked for ever.
void Meetings::fail(gradcts_schedule_outcome outcome) {
  std::vector<ThreadReport> reports;
  for (const auto& thread : threads_) {
    if (scheduler_.thread(thread->number).state == Scheduler::State::finished) continue;
    reports.push_back({thread->number, "of the schedule", stack_of(*thread)});
  }
  const std::string text =
      describe(outcome, strategy_.in_words(), scheduler_, reports, name_in_words, "");
  gradcts_schedule_result out = result(outcome);
  out.report = text.c_str();
  this_thread = nullptr;
  const gradcts_schedule_options& options = strategy_.options();
  if (options.on_report != nullptr) {
    options.on_report(&out, options.context);
  } else {
    write_report(text);
  }
  _exit(static_cast<int>(outcome));
}

// ---- Passing the token
// ----------------------------------------------------------------------------

void Meetings::check(Verdict verdict) {
  if (verdict == Verdict::too_many_steps) fail(GRADCTS_SCHEDULE_STEP_BOUND);
  if (verdict != Verdict::go_on) fail(GRADCTS_SCHEDULE_DEADLOCK);
}

// The calling thread has taken a step; it returns when it is its turn again.
void Meetings::follow(Verdict verdict) {
  Participant& self = *this_thread;
  check(verdict);
  if (scheduler_.running() == self.number) return;
  hand_over_to(scheduler_.running());
  park(self);
}

void Meetings::hand_over_to(ThreadNumber next) {
  std::atomic<std::uint32_t>& turn = threads_[static_cast<std::size_t>(next)]->turn;
  turn.store(Participant::go, std::memory_order_release);
  futex_wake_all(turn);
}

void Meetings::park(Participant& self) {
  for (;;) {
    futex_wait(self.turn, Participant::parked);
    const std::uint32_t turn = self.turn.exchange(Participant::parked, std::memory_order_acquire);
    if (turn == Participant::go) return;
    if (turn != Participant::show_stack) continue;
    self.frame_count = backtrace(self.frames, Participant::most_frames);
    self.stack_is_there.store(1, std::memory_order_release);
    futex_wake_all(self.stack_is_there);
  }
}

// A thread can unwind only itself, and is parked: it is asked to.
std::vector<std::string> Meetings::stack_of(Participant& thread) {
  if (&thread == this_thread) {
    thread.frame_count = backtrace(thread.frames, Participant::most_frames);
  } else {
    thread.turn.store(Participant::show_stack, std::memory_order_release);
    futex_wake_all(thread.turn);
    while (thread.stack_is_there.load(std::memory_order_acquire) == 0) {
      futex_wait(thread.stack_is_there, 0);
    }
  }
  std::vector<std::string> lines;
  for (int i = 0; i < thread.frame_count; ++i) {
    Dl_info info;
    if (dladdr(thread.frames[i], &info) == 0) info = {"?", nullptr, nullptr, nullptr};
    std::string line = code_name(thread.frames[i], info);
    // The calls of the schedule itself are at the top, and say nothing.
    if (line.find("gradcts::schedule::Meetings::") != std::string::npos) {
      lines.clear();
    } else {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// ---- Threads
// --------------------------------------------------------------------------------------

void Meetings::thread_starts(Participant& self) {
  this_thread = &self;
  pthread_setspecific(exit_key(), &self);
  park(self);
}

void Meetings::thread_ends(Participant& self) {
  this_thread = &self;
  note(self.end, Operation::finish, Access::write);
  const Verdict verdict = scheduler_.finish();
  check(verdict);
  this_thread = nullptr;
  hand_over_to(scheduler_.running());
}

ThreadNumber Meetings::start_thread(std::function<void()> body) {
  access(thread_table_, Operation::create, Access::write);
  auto thread = std::make_unique<Participant>();
  thread->name = thread->last = scramble(this_thread->name ^ scramble(++this_thread->named));
  thread->body = std::move(body);
  thread->number = scheduler_.add_runnable();
  const ThreadNumber number = thread->number;
  threads_.push_back(std::move(thread));
  launch(*threads_.back());
  return number;
}

void Meetings::join_thread(ThreadNumber number) {
  Participant& joined = *threads_[static_cast<std::size_t>(number)];
  if (scheduler_.thread(number).state == Scheduler::State::finished) {
    return access(joined.end, Operation::join, Access::read);
  }
  follow(scheduler_.wait({.kind = WaitKind::join, .joined = number}));
  note(joined.end, Operation::join, Access::read);
}

// ---- What threads do with objects
// -----------------------------------------------------------------

void Meetings::use(MeetingPoint& object) {
  if (object.schedule_ != schedules_) {
    object.schedule_ = schedules_;
    object.last_write_ = object.name_;
    object.reads_ = 0;
    object.user_ = this_thread->number;
    object.shared_ = false;
  }
  if (object.user_ == this_thread->number || object.shared_) return;
  object.shared_ = true;
  shared_.push_back(object.name_);
}

void Meetings::note(MeetingPoint& object, Operation operation, Access kind) {
  use(object);
  Participant& self = *this_thread;
  const bool writes = kind == Access::write;
  const std::uint64_t before = object.last_write_ + (writes ? object.reads_ : 0);
  self.last = scramble(scramble(self.last ^ static_cast<std::uint64_t>(operation)) + before);
  done_.add(self.last);
  if (writes) {
    object.last_write_ = self.last;
    object.reads_ = 0;
  } else {
    object.reads_ += scramble(self.last);
  }
}

void Meetings::access(MeetingPoint& object, Operation operation, Access kind) {
  follow(scheduler_.point(operation, &object));
  note(object, operation, kind);
}

void Meetings::lock(MeetingPoint& mutex) {
  follow(scheduler_.lock_point(&mutex));
  scheduler_.acquired(WaitKind::mutex, &mutex);
  note(mutex, Operation::lock, Access::write);
}

bool Meetings::try_lock(MeetingPoint& mutex) {
  access(mutex, Operation::try_lock, Access::write);
  if (scheduler_.holder(WaitKind::mutex, &mutex) != nobody) return false;
  scheduler_.acquired(WaitKind::mutex, &mutex);
  return true;
}

// No step: what others could see of it, they see at the thread's next step as well.
void Meetings::unlock(MeetingPoint& mutex) {
  scheduler_.released(WaitKind::mutex, &mutex);
  scheduler_.wake_all(WaitKind::mutex, &mutex);
}

bool Meetings::wait(MeetingPoint& condition, MeetingPoint& mutex, bool timed) {
  access(condition, Operation::wait, Access::write);
  unlock(mutex);
  follow(scheduler_.wait({.kind = WaitKind::condition,
                          .object = &condition,
                          .timed = timed,
                          .shared = false,
                          .joined = nobody,
                          .relock = &mutex}));
  scheduler_.acquired(WaitKind::mutex, &mutex);
  note(mutex, Operation::lock, Access::write);
  return scheduler_.thread(this_thread->number).woken != Woken::by_time_out;
}

void Meetings::notify(MeetingPoint& condition, bool all) {
  access(condition, Operation::signal, Access::write);
  scheduler_.signal(&condition, all ? UINT32_MAX : 1, this_thread->number);
}

void Meetings::yield() {
  follow(scheduler_.yield());
}

// ---- The interface of meeting_point.h
// -------------------------------------------------------------

MeetingPoint::MeetingPoint() : name_(new_name()) {}

bool is_controlled() {
  return this_thread != nullptr;
}
void access(MeetingPoint& object, Access kind) {
  meetings().access(object, kind == Access::read ? Operation::load : Operation::point, kind);
}
void lock(MeetingPoint& mutex) {
  meetings().lock(mutex);
}
bool try_lock(MeetingPoint& mutex) {
  return meetings().try_lock(mutex);
}
void unlock(MeetingPoint& mutex) {
  meetings().unlock(mutex);
}
bool wait(MeetingPoint& condition, MeetingPoint& mutex, bool timed) {
  return meetings().wait(condition, mutex, timed);
}
void notify(MeetingPoint& condition, bool all) {
  meetings().notify(condition, all);
}
void yield() {
  meetings().yield();
}
ThreadNumber start_thread(std::function<void()> body) {
  return meetings().start_thread(std::move(body));
}
void join_thread(ThreadNumber thread) {
  meetings().join_thread(thread);
}
void settle() {
  if (is_controlled()) meetings().settle();
}

}  // namespace gradcts::schedule

int gradcts_schedule_begin(const gradcts_schedule_options* options) {
  return gradcts::schedule::meetings().begin(*options);
}

int gradcts_schedule_end(gradcts_schedule_result* result) {
  return gradcts::schedule::meetings().end(*result);
}
