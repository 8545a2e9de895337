#include "conformance/checker/matching.h"

#include <algorithm>
#include <numeric>

#include "conformance/checker/compare.h"

namespace gradcts {

namespace {

struct Entry {
  std::uint64_t key = 0;
  std::int32_t index = 0;
  auto operator<=>(const Entry&) const = default;
};
using Entries = std::vector<Entry>;

// 4 bits of kind, 30 of subject, 30 of instance.
std::uint64_t key_of(std::uint64_t kind, std::int32_t subject, std::int32_t instance) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 30) - 1;
  return kind << 60 | (static_cast<std::uint64_t>(subject) & mask) << 30 |
         (static_cast<std::uint64_t>(instance) & mask);
}
std::uint64_t key_of(const Event& event, bool any_order) {
  return key_of(static_cast<std::uint64_t>(event.kind), event.subject,
                any_order ? 0 : event.instance);
}
std::uint64_t key_of(const StepResult& step, bool any_order) {
  return key_of(15, step.step, any_order ? 0 : step.occurrence);
}

// Kinds and subjects (or steps) whose occurrences have no order.
using Unordered = std::vector<std::uint64_t>;
bool contains(const Unordered& keys, std::uint64_t key) {
  return std::binary_search(keys.begin(), keys.end(), key);
}

template <typename Expected, typename Of>
Unordered unordered_keys(const std::vector<Expected>& expected, Of of) {
  Unordered keys;
  for (const Expected& one : expected) {
    if (one.any_order) keys.push_back(key_of(of(one), true));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Hands to `use` each run of equal keys in the second of two sorted lists, with that of the same
// key in the first, which may be empty.
template <typename Use>
void for_each_key(const Entries& a, const Entries& b, Use use) {
  auto i = a.begin();
  for (auto j = b.begin(); j != b.end();) {
    const std::uint64_t key = j->key;
    const auto is_other = [&](const Entry& entry) { return entry.key != key; };
    i = std::find_if(i, a.end(), [&](const Entry& entry) { return entry.key >= key; });
    const auto end_i = std::find_if(i, a.end(), is_other);
    const auto end_j = std::find_if(j, b.end(), is_other);
    use(std::span(i, end_i), std::span(j, end_j));
    j = end_j;
  }
}

// Without an order: equal ones first, and of these those first that equal little else; then what
// must be there, then what may be, as far as enough is left for what must be there. `fits(expected,
// actual)` says whether two are equal, `is_compared` whether that means anything.
template <typename Required, typename Compared, typename Fits>
void match_unordered(std::span<const Entry> expected, std::span<const Entry> actual,
                     Required is_required, Compared is_compared, Fits fits,
                     std::vector<std::int32_t>& matches, std::vector<std::int32_t>& surplus) {
  std::vector<bool> used(actual.size(), false);
  std::size_t left = actual.size();
  auto needed = static_cast<std::size_t>(std::count_if(
      expected.begin(), expected.end(), [&](const Entry& one) { return is_required(one.index); }));
  const auto match_those = [&](bool required, bool compared, bool equal) {
    for (const Entry& one : expected) {
      if (!required && left <= needed) return;
      std::int32_t& match = matches[static_cast<std::size_t>(one.index)];
      if (match != unmatched || is_required(one.index) != required) continue;
      if (is_compared(one.index) != compared) continue;
      for (std::size_t i = 0; i < actual.size(); ++i) {
        if (used[i] || (equal && !fits(one.index, actual[i].index))) continue;
        used[i] = true;
        match = actual[i].index;
        --left;
        if (required) --needed;
        break;
      }
    }
  };
  for (const bool equal : {true, false}) {
    for (const bool compared : {true, false}) {
      match_those(true, compared, equal);
      match_those(false, compared, equal);
    }
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!used[i]) surplus.push_back(actual[i].index);
  }
}

void match_ordered(std::span<const Entry> expected, std::span<const Entry> actual,
                   std::vector<std::int32_t>& matches, std::vector<std::int32_t>& surplus) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    matches[static_cast<std::size_t>(expected[i].index)] = actual[i].index;
  }
  for (std::size_t i = expected.size(); i < actual.size(); ++i) surplus.push_back(actual[i].index);
}

bool compares_something(const ExpectedEvent& event) {
  return event.compare_values || event.compare_number;
}
bool compares_something(const ExpectedStep& step) {
  const auto& known = step.value_known;
  return known.empty() || std::find(known.begin(), known.end(), true) != known.end();
}

// The usual case of one thread, where nothing need be searched.
template <typename Expected, typename Actual, typename Of>
bool came_as_expected(const std::vector<Expected>& expected, const std::vector<Actual>& actual, Of of) {
  return std::equal(expected.begin(), expected.end(), actual.begin(), actual.end(),
                    [&](const Expected& e, const Actual& a) {
                      return key_of(of(e), false) == key_of(a, false);
                    });
}

template <typename Expected, typename Actual, typename Of, typename Fits>
void match(const std::vector<Expected>& expected, const std::vector<Actual>& actual, Of of,
           Fits fits, std::vector<std::int32_t>& matches, std::vector<std::int32_t>& surplus) {
  const Unordered unordered = unordered_keys(expected, of);
  const auto entries_of = [&](std::size_t size, auto get) {
    Entries entries(size);
    for (std::size_t i = 0; i < size; ++i) {
      const bool any_order = contains(unordered, key_of(get(i), true));
      entries[i] = {key_of(get(i), any_order), static_cast<std::int32_t>(i)};
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  };
  matches.assign(expected.size(), unmatched);
  if (unordered.empty() && came_as_expected(expected, actual, of)) {
    std::iota(matches.begin(), matches.end(), 0);
    return;
  }
  const Entries left = entries_of(
      expected.size(), [&](std::size_t i) -> auto& { return of(expected[i]); });
  const Entries right = entries_of(
      actual.size(), [&](std::size_t i) -> auto& { return actual[i]; });
  for_each_key(left, right, [&](std::span<const Entry> a, std::span<const Entry> b) {
    if (!contains(unordered, b[0].key)) return match_ordered(a, b, matches, surplus);
    const auto is_required = [&](std::int32_t index) {
      return expected[static_cast<std::size_t>(index)].required;
    };
    const auto is_compared = [&](std::int32_t index) {
      return compares_something(expected[static_cast<std::size_t>(index)]);
    };
    match_unordered(a, b, is_required, is_compared, fits, matches, surplus);
  });
  std::sort(surplus.begin(), surplus.end());
}

bool values_fit(const std::vector<std::optional<TensorValue>>& expected,
                const std::vector<std::optional<TensorValue>>& actual) {
  if (expected.size() != actual.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (difference(expected[i], actual[i], 0)) return false;
  }
  return true;
}

bool values_fit(const ExpectedStep& expected, const StepResult& actual) {
  const auto& values = expected.result.values;
  const auto& known = expected.value_known;
  if (values.size() != actual.values.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_known = known.empty() || known[i];
    if (is_known && difference(values[i], actual.values[i], expected.bound)) return false;
  }
  return true;
}

}  // namespace

bool error_fits(const ExpectedStep& expected, const std::optional<ErrorReport>& actual) {
  const auto& own = expected.result.error;
  if (!actual) return !own;
  const auto among = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  if (!among(expected.allowed_errors, actual->category)) return false;
  if (!own || actual->category != ErrorCategory::user) return true;
  if (actual->token != own->token) return among(expected.allowed_tokens, actual->token);
  return own->foreign == actual->foreign;
}

Evidence::Evidence(const Case& c) : Case(c) {
  match(
      expectation.events, outcome.events,
      [](const ExpectedEvent& e) -> const Event& { return e.event; },
      [&](std::int32_t expected, std::int32_t actual) {
        const ExpectedEvent& e = expectation.events[static_cast<std::size_t>(expected)];
        const Event& a = outcome.events[static_cast<std::size_t>(actual)];
        return e.number_fits(a.number) &&
               (!e.compare_values || values_fit(e.event.values, a.values));
      },
      events, surplus_events);
  match(
      expectation.steps, outcome.steps,
      [](const ExpectedStep& e) -> const StepResult& { return e.result; },
      [&](std::int32_t expected, std::int32_t actual) {
        const ExpectedStep& e = expectation.steps[static_cast<std::size_t>(expected)];
        const StepResult& a = outcome.steps[static_cast<std::size_t>(actual)];
        return error_fits(e, a.error) && values_fit(e, a);
      },
      steps, surplus_steps);
}

namespace {

bool owns(std::string_view owned, std::string_view clause) {
  for (std::size_t at = owned.find(clause); at != std::string_view::npos;
       at = owned.find(clause, at + 1)) {
    const bool begins = at == 0 || owned[at - 1] == ' ';
    const std::size_t end = at + clause.size();
    if (begins && (end == owned.size() || owned[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

std::string choose_clause(const Scenario& scenario, std::string_view owned, const char* own) {
  for (const std::string& cited : scenario.clauses) {
    if (owns(owned, cited)) return cited;
  }
  return own;
}

}  // namespace gradcts
