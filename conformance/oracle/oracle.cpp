#include "conformance/oracle/oracle.h"

#include "conformance/oracle/interpreter.h"

namespace gradcts {

Expectation expect(const Scenario& scenario, const Dialect& dialect) {
  Expectation expectation;
  try {
    oracle::Interpreter(scenario, dialect, expectation).run();
  } catch (const oracle::CannotTell& reason) {
    expectation.cannot_tell = reason.what();
  } catch (const oracle::Refused&) {
    expectation.cannot_tell = "a hook on a leaf that cannot have one";
  } catch (const oracle::Thrown&) {
    expectation.cannot_tell = "an error outside of all steps";
  }
  return expectation;
}

}  // namespace gradcts
