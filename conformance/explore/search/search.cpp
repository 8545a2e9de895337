#include "conformance/explore/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "conformance/explore/preload/random.h"

namespace gradcts {

using schedule::nobody;
using schedule::scramble;
using schedule::ThreadNumber;

namespace {

constexpr ThreadNumber most_threads = 64;

void append(std::vector<schedule::Trace::Run>& runs, schedule::Choice choice) {
  if (!runs.empty() && runs.back().choice == choice) {
    ++runs.back().count;
  } else {
    runs.push_back({choice, 1});
  }
}

std::string text_of(const std::vector<schedule::Trace::Run>& runs) {
  schedule::Trace trace;
  for (const auto& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) trace.append(run.choice);
  }
  return trace.text();
}

schedule::Choice choice_of(const gradcts_schedule_decision& decision) {
  return {decision.chosen, decision.kind == GRADCTS_SCHEDULE_BY_ITSELF};
}

// What a decision shows of the program; who was chosen is no part of it. A time-out that had to
// happen is taken again as one that was chosen: there the threads to choose from differ.
std::uint64_t show(std::uint64_t before, const gradcts_schedule_decision& decision) {
  const bool by_itself = decision.kind == GRADCTS_SCHEDULE_BY_ITSELF;
  const std::uint64_t shown = scramble(before ^ (by_itself ? 0 : decision.able));
  return scramble(shown ^ decision.state ^ decision.kind ^
                  static_cast<std::uint64_t>(decision.running + 1) << 8);
}

}  // namespace

Search::Search(SearchBounds bounds) : bounds_(bounds) {
  begin_anew();
}

void Search::begin_anew() {
  open_.assign(bounds_.preemptions + 1, {});
  open_[0].emplace_back();
  seen_.clear();
  in_flight_ = false;
}

void Search::learn_shared(const gradcts_schedule_result& result) {
  const std::size_t before = shared_.size();
  for (std::uint64_t i = 0; i < result.shared_object_count; ++i) {
    shared_.insert(result.shared_objects[i]);
  }
  if (shared_.size() == before || counts_.schedules == 0) return;
  ++counts_.beginnings;
  begin_anew();
}

std::optional<std::string> Search::next() {
  for (auto& with_these_preemptions : open_) {
    if (with_these_preemptions.empty()) continue;
    taken_ = std::move(with_these_preemptions.back());
    with_these_preemptions.pop_back();
    in_flight_ = true;
    return text_of(choices_of(taken_));
  }
  return std::nullopt;
}

int Search::complete_to() const {
  int complete = -1;
  for (const auto& with_these_preemptions : open_) {
    if (!with_these_preemptions.empty()) break;
    ++complete;
  }
  return complete;
}

Search::Counts Search::counts() const {
  Counts counts = counts_;
  counts.states = seen_.size();
  for (const auto& prefixes : open_) counts.open += prefixes.size();
  return counts;
}

// The decisions of the prefix must show what they showed before; returns that.
std::uint64_t Search::check_prefix(const gradcts_schedule_result& result) const {
  if (taken_.length == 0) return 0;
  if (result.mismatch_step == 0 && result.decision_count >= taken_.length) {
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i + 1 < taken_.length; ++i)
      before = show(before, result.decisions[i]);
    const gradcts_schedule_decision& last = result.decisions[taken_.length - 1];
    const std::uint64_t shown = show(before, last);
    if ((last.kind == GRADCTS_SCHEDULE_BY_ITSELF ? before : shown) == taken_.shown) return shown;
  }
  throw NotDeterministic(fmt::format(
      "the choices {} led to other choices than before: something decides that is no step of the "
      "schedule (time, an address, an unseen thread, state of an earlier run)",
      text_of(choices_of(taken_))));
}

bool Search::is_new_state(const gradcts_schedule_decision& decision, Left left) {
  const std::uint64_t key =
      scramble(decision.state ^
               scramble(decision.kind << 8 ^ static_cast<std::uint64_t>(decision.running + 1)));
  const auto [seen, is_new] = seen_.emplace(key, left);
  if (is_new) return true;
  if (seen->second.preemptions >= left.preemptions && seen->second.spurious >= left.spurious) {
    ++counts_.seen_before;
    return false;
  }
  seen->second = left;
  return true;
}

Search::Choices Search::choices_of(const Prefix& prefix) {
  Choices choices;
  std::uint64_t left = prefix.length - prefix.then.has_value();
  for (auto run = prefix.path ? prefix.path->begin() : Choices::const_iterator(); left > 0; ++run) {
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, run->count));
    choices.push_back({run->choice, taken});
    left -= taken;
  }
  if (prefix.then) append(choices, *prefix.then);
  return choices;
}

void Search::open(const Prefix& before, schedule::Choice choice, std::uint32_t preemptions,
                  std::uint32_t spurious, std::uint64_t shown) {
  if (preemptions > bounds_.preemptions || spurious > bounds_.spurious) return;
  Prefix prefix = before;
  prefix.then = choice;
  ++prefix.length;
  prefix.preemptions = preemptions;
  prefix.spurious = spurious;
  prefix.shown = shown;
  open_[preemptions].push_back(std::move(prefix));
}

void Search::open_alternatives(const gradcts_schedule_decision& decision, const Prefix& before,
                               std::uint64_t shown_before) {
  const bool by_itself = decision.kind == GRADCTS_SCHEDULE_BY_ITSELF;
  const std::uint64_t shown = by_itself ? shown_before : show(shown_before, decision);
  for (ThreadNumber thread = 0; thread < most_threads; ++thread) {
    const std::uint64_t bit = std::uint64_t{1} << thread;
    if ((decision.able & bit) != 0 && thread != decision.chosen) {
      const bool preempts = decision.kind == GRADCTS_SCHEDULE_NEXT && decision.running != nobody &&
                            thread != decision.running;
      open(before, {thread, by_itself}, before.preemptions + preempts, before.spurious, shown);
    }
    if ((decision.sleepers & bit) != 0) {
      open(before, {thread, true}, before.preemptions, before.spurious + 1, shown_before);
    }
  }
}

void Search::took(const gradcts_schedule_result& result) {
  ++counts_.schedules;
  if (result.decisions == nullptr) {
    throw std::runtime_error(
        "a search needs an engine that was rebuilt for it; this one can be sampled");
  }
  if (result.threads > static_cast<std::uint32_t>(most_threads)) {
    throw std::runtime_error(fmt::format("a search tells {} threads apart, and there are {}",
                                         most_threads, result.threads));
  }
  std::uint64_t shown = check_prefix(result);
  const std::uint64_t beginnings = counts_.beginnings;
  learn_shared(result);
  if (counts_.beginnings != beginnings) return;
  in_flight_ = false;
  // It grows while prefixes of it are opened; each knows how much of it is its own.
  const auto choices = std::make_shared<Choices>(choices_of(taken_));
  Prefix path = taken_;
  path.path = choices;
  path.then.reset();
  for (std::uint64_t i = path.length; i < result.decision_count; ++i) {
    const gradcts_schedule_decision& decision = result.decisions[i];
    const bool is_private = decision.kind == GRADCTS_SCHEDULE_NEXT && decision.running != nobody &&
                            decision.object != 0 && !shared_.contains(decision.object);
    if (!is_private) {
      const Left left{bounds_.preemptions - path.preemptions, bounds_.spurious - path.spurious};
      if (!is_new_state(decision, left)) return;
      open_alternatives(decision, path, shown);
    }
    shown = show(shown, decision);
    append(*choices, choice_of(decision));
    ++path.length;
  }
}

// ---- The frontier
// ---------------------------------------------------------------------------------

std::string Search::frontier() const {
  std::string text =
      fmt::format("gradcts.frontier/1 {} {}\n", bounds_.preemptions, bounds_.spurious);
  text += fmt::format("taken {} {}\n", counts_.schedules, counts_.beginnings);
  for (const std::uint64_t object : shared_) text += fmt::format("shared {:016x}\n", object);
  const auto add = [&text](const Prefix& prefix) {
    text += fmt::format("open {} {} {:016x} {}\n", prefix.preemptions, prefix.spurious,
                        prefix.shown, text_of(choices_of(prefix)));
  };
  if (in_flight_) add(taken_);
  for (const auto& prefixes : open_) std::ranges::for_each(prefixes, add);
  return text;
}

Search Search::resume(SearchBounds bounds, std::string_view frontier) {
  const auto refuse = [](const std::string& why) -> void {
    throw std::runtime_error("no frontier to go on from: " + why);
  };
  std::istringstream lines{std::string(frontier)};
  std::string word, line;
  SearchBounds saved;
  lines >> word >> saved.preemptions >> saved.spurious;
  if (word != "gradcts.frontier/1") refuse("it does not begin with 'gradcts.frontier/1'");
  if (saved.preemptions != bounds.preemptions || saved.spurious != bounds.spurious) {
    refuse(fmt::format("it is of --bound {} --spurious {}", saved.preemptions, saved.spurious));
  }
  Search search(bounds);
  search.open_[0].clear();
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    fields >> word;
    if (word == "taken") {
      fields >> search.counts_.schedules >> search.counts_.beginnings;
    } else if (word == "shared") {
      std::uint64_t object = 0;
      fields >> std::hex >> object;
      search.shared_.insert(object);
    } else if (word == "open") {
      Prefix prefix;
      std::string choices;
      fields >> prefix.preemptions >> prefix.spurious >> std::hex >> prefix.shown;
      if (!fields) refuse("line '" + line + "'");
      fields >> choices;  // none: the empty prefix
      const auto trace = schedule::Trace::parse(choices);
      if (!trace || prefix.preemptions > bounds.preemptions) refuse("line '" + line + "'");
      const auto runs = std::make_shared<Choices>(trace->runs().begin(), trace->runs().end());
      for (const auto& run : *runs) prefix.length += run.count;
      prefix.path = runs;
      search.open_[prefix.preemptions].push_back(std::move(prefix));
      continue;
    } else {
      refuse("line '" + line + "'");
    }
    if (!fields) refuse("line '" + line + "'");
  }
  return search;
}

}  // namespace gradcts
