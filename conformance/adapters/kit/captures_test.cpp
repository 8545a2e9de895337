// Scripts that break the capture of a stream, over each engine with devices that was built. In a
// program of its own: where a process has forked, libtorch has no devices any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/adapters/testing/loaded_adapter.h"
#include "conformance/scenario/builder.h"

namespace gradcts {
namespace {

using ::testing::ElementsAre;

class Captures : public ::testing::TestWithParam<const char*> {
 protected:
  // The errors of a pass that is captured on the first of two streams, and of its end; `script`
  // runs in a hook.
  template <typename Script>
  std::vector<std::string> errors_of(Script&& script) const {
    constexpr Device device{DeviceType::sim, 0};
    ScenarioBuilder b("test/capture");
    const StreamId s = b.stream(device, "s"), t = b.stream(device, "t");
    TensorValue two = TensorValue::scalar(2);
    two.device = device;
    const ValueId x = b.leaf("x", two);
    const ValueId y = b.custom({x}, {}, "y");
    b.tensor_hook(y, {b.steps([&] { script(b, s, t, x); }), {}});
    WithStep captured;
    captured.stream = s;
    captured.captured = true;
    b.forward();
    b.with(captured, [&] { b.backward({{y, two}}); });
    std::vector<std::string> errors;
    for (const StepResult& step : testing::LoadedAdapter(GetParam()).run(b.build()).steps) {
      if (!step.error) continue;
      errors.push_back(std::string(to_text(step.error->category)) + ": " + step.error->text);
    }
    return errors;
  }
};

TEST_P(Captures, AForeignWaitIsAnErrorThatNamesTheStreams) {
  const std::string error =
      "stream_capture: stream s is being captured and must not wait for an event of stream t that "
      "was recorded outside of the capture";
  EXPECT_THAT(errors_of([](ScenarioBuilder& b, StreamId s, StreamId t, ValueId) {
                b.wait_stream(s, t);
              }),
              ElementsAre(error, error));  // of the hook's step, and of the pass
}

TEST_P(Captures, WorkThatNobodyWaitsForIsAnErrorAtTheEnd) {
  EXPECT_THAT(errors_of([](ScenarioBuilder& b, StreamId s, StreamId t, ValueId x) {
                b.wait_stream(t, s);
                WithStep other;
                other.stream = t;
                b.with(other, [&] { b.change(x, ChangeStep::How::add, 1); });
              }),
              ElementsAre("stream_capture: the capture of stream s ends without a wait for stream "
                          "t, which has joined it"));
}

INSTANTIATE_TEST_SUITE_P(Reference, Captures, ::testing::Values(GRADCTS_REFERENCE_ADAPTER));
#ifdef GRADCTS_LIBTORCH_ADAPTER
INSTANTIATE_TEST_SUITE_P(Libtorch, Captures, ::testing::Values(GRADCTS_LIBTORCH_ADAPTER));
#endif

}  // namespace
}  // namespace gradcts
