#include "conformance/oracle/oracle.h"

#include <pthread.h>

#include <iterator>

#include "conformance/oracle/interpreter.h"

namespace gradcts {

namespace {

// A nested pass nests the oracle's own calls, no deeper than there are scripts unless a script runs
// itself. So many levels fit on an ordinary stack; scenarios that can nest deeper are given a stack
// of their own.
constexpr std::int32_t ordinary_depth = 400;
constexpr std::int32_t deep_depth = 20000;
constexpr std::size_t deep_stack_bytes = std::size_t{1}
                                         << 30;  // reserved, and used as far as needed

struct Work {
  const Scenario& scenario;
  const Dialect& dialect;
  Expectation expectation;
  std::int32_t deepest = ordinary_depth;
};

void tell(Work& work) {
  Expectation& expectation = work.expectation;
  try {
    oracle::Interpreter(work.scenario, work.dialect, expectation, work.deepest).run();
  } catch (const oracle::CannotTell& reason) {
    expectation.cannot_tell = reason.what();
  } catch (const oracle::Refused&) {
    expectation.cannot_tell = "a hook on a leaf that cannot have one";
  } catch (const oracle::Thrown&) {
    expectation.cannot_tell = "an error outside of all steps";
  }
}

bool tell_on_deep_stack(Work& work) {
  work.deepest = deep_depth;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, deep_stack_bytes);
  const auto start = [](void* argument) -> void* {
    tell(*static_cast<Work*>(argument));
    return nullptr;
  };
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, start, &work) == 0;
  if (started) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

Expectation expect(const Scenario& scenario, const Dialect& dialect) {
  Work work{scenario, dialect, {}};
  const auto scripts_at_most =
      std::ssize(scenario.nodes) + std::ssize(scenario.hooks) + std::ssize(scenario.callbacks);
  const bool deep = scripts_at_most >= ordinary_depth;
  if (!deep || !tell_on_deep_stack(work)) tell(work);
  return std::move(work.expectation);
}

}  // namespace gradcts
