// Every schedule of a program up to a bound, one after the other.
//
// Pure logic: it says which schedule to take next and is told what came of it. Schedules are texts
// (trace.h); after the end of a text no switch happens that is not forced, so a text is a prefix.
//
// Note [What a search leaves out]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// The number of schedules grows with the steps to the power of the bound, and most say the same.
// Two things are left out, and nothing that could show anything new within the bound:
//
// *States seen before.* A schedule tells at each decision its state: a number that is equal for
// prefixes that differ only in the order of operations that commute (decision_log.h). Then all that
// threads and objects are is equal too, and so is everything that can follow. Where a state was
// seen with the same thread running and at least as many preemptions and disturbances left, nothing
// is added from there on: what follows was taken from the earlier visit, or stands among its open
// prefixes. Both parts matter for the bound. With another thread running, or with less left, the
// same continuation could cost too much there. (Sleep sets do not look at what is left, and would
// lose schedules near the bound.)
//
// *Switches before private operations.* No switch is tried before an operation on an object that
// only one thread uses. It commutes with all that other threads do, so the switch may as well come
// after it, at the same cost. Who uses what is learnt: an object counts as private until some
// schedule shows it with two threads, and then the search begins anew. So when it ends, no schedule
// that it took has shown a private object with two threads; and the first step of any other
// schedule that did would be possible, after what commutes is put in order, in one that was taken.
//
// Both rest on this: threads act on each other only by operations that are steps. The engine's
// CountAtomic is none, by its contract; see docs/schedules.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/trace.h"

namespace gradcts {

// The same choices have shown other threads than before: something decides that is no step.
class NotDeterministic : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SearchBounds {
  std::uint32_t preemptions = 2;  // switches away from a thread that could have gone on
  std::uint32_t spurious = 0;     // waits that end by themselves although others can run
};

class Search {
 public:
  explicit Search(SearchBounds bounds);

  // Objects of which it is known that several threads use them.
  void learn_shared(const gradcts_schedule_result& result);

  // The schedule to take next; schedules with fewer preemptions come first. Nothing: all were
  // taken.
  std::optional<std::string> next();

  // What came of the schedule that next() gave. Throws NotDeterministic; std::runtime_error where
  // the library writes down no decisions, or there are more threads than a search can tell apart.
  void took(const gradcts_schedule_result& result);

  struct Counts {
    std::uint64_t schedules = 0;  // taken, those before a new beginning included
    std::uint64_t beginnings = 1;
    std::uint64_t states = 0;  // from which the search went on
    std::uint64_t seen_before = 0;
    std::uint64_t open = 0;  // prefixes that were not taken yet
  };
  Counts counts() const;
  // All schedules with up to this many preemptions were taken; -1: not even those without any.
  int complete_to() const;

  // What is open, as text, and a search that goes on from there. It has forgotten which states it
  // has seen, and so may take some schedules once more. Throws std::runtime_error with one clear
  // line for a text that is not of a search with these bounds.
  std::string frontier() const;
  static Search resume(SearchBounds bounds, std::string_view frontier);

 private:
  using Choices = std::vector<schedule::Trace::Run>;

  // All that one schedule has opened share its choices: there may be 10^5 prefixes of 10^4 choices.
  struct Prefix {
    std::shared_ptr<const Choices> path;   // of the schedule that opened it
    std::optional<schedule::Choice> then;  // the last choice, another one than in the path
    std::uint64_t length = 0;              // in choices, the last one included
    std::uint32_t preemptions = 0;
    std::uint32_t spurious = 0;
    std::uint64_t shown = 0;  // what the decisions up to the last choice have shown
  };

  struct Left {  // of the bounds
    std::uint32_t preemptions;
    std::uint32_t spurious;
  };

  void begin_anew();
  std::uint64_t check_prefix(const gradcts_schedule_result& result) const;
  bool is_new_state(const gradcts_schedule_decision& decision, Left left);
  static Choices choices_of(const Prefix& prefix);
  void open_alternatives(const gradcts_schedule_decision& decision, const Prefix& before,
                         std::uint64_t shown_before);
  void open(const Prefix& before, schedule::Choice choice, std::uint32_t preemptions,
            std::uint32_t spurious, std::uint64_t shown);

  SearchBounds bounds_;
  std::vector<std::deque<Prefix>> open_;  // by preemptions
  Prefix taken_;
  bool in_flight_ = false;  // and not told of yet
  std::unordered_map<std::uint64_t, Left> seen_;
  std::unordered_set<std::uint64_t> shared_;
  Counts counts_;
};

}  // namespace gradcts
