#include "conformance/scenario/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/scenario/scenario_samples.h"
#include "conformance/scenario/words.h"

namespace gradcts {
namespace {

using ::testing::ElementsAre;

TEST(Features, OfASmallScenario) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", TensorValue::scalar(2, ScalarType::float32));
  b.backward({{b.mul(x, x), 3}}, {.keep = true});
  EXPECT_THAT(
      required_features(b.build()),
      ElementsAre("operation.mul", "pass.backward", "pass.keep", "type.float32", "type.float64"));
}

TEST(Features, ASparseGradientNeedsSparseTensors) {
  for (const bool sparse : {false, true}) {
    ScenarioBuilder b("a/b");
    const ValueId index = b.constant_leaf("i", TensorValue::scalar(0, ScalarType::int64));
    b.node(Operation::embedding, {b.leaf("w", TensorValue::filled({2, 1}, 3)), index}, {sparse});
    EXPECT_EQ(required_features(b.build()).contains("layout.sparse"), sparse);
  }
}

TensorValue sparse_on(Device device) {
  TensorValue tensor = TensorValue::filled({2}, 5);
  tensor.device = device;
  tensor.layout = Layout::sparse;
  tensor.coordinates = SparseCoordinates{1, {0}, true};
  tensor.values = {5};
  return tensor;
}

TEST(Features, ASparseTensorOnADeviceIsAFeatureOfItsOwn) {
  for (const bool on_device : {false, true}) {
    ScenarioBuilder b("a/b");
    const Device device = on_device ? Device{DeviceType::sim, 1} : Device{};
    b.backward({{b.leaf("x", TensorValue::filled({2}, 3)), sparse_on(device)}});
    EXPECT_EQ(required_features(b.build()).contains("layout.sparse.on_device"), on_device);
  }
}

TEST(Features, ADeviceIsUsedWhereverOneIsNamed) {
  const auto uses = [](auto&& add) {
    ScenarioBuilder b("a/b");
    const ValueId x = b.leaf("x", 2);
    add(b, x);
    return uses_devices(b.build());
  };
  EXPECT_FALSE(uses([](ScenarioBuilder& b, ValueId x) { b.backward({{b.mul(x, x), 3}}); }));
  EXPECT_TRUE(uses([](ScenarioBuilder& b, ValueId x) { b.to_device(x, {DeviceType::sim, 1}); }));
  EXPECT_TRUE(uses([](ScenarioBuilder& b, ValueId) {
    TensorValue tensor = TensorValue::scalar(1);
    tensor.device = {DeviceType::other, 0};
    b.leaf("there", tensor);
  }));
}

// Each feature follows from some content; `everything` has nearly all content.
TEST(Features, AllAreReachable) {
  std::set<std::string> found = required_features(everything());
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.mul(x, x);
  const ValueId other = b.leaf("other", [] {
    TensorValue tensor = TensorValue::scalar(1);
    tensor.device = {DeviceType::other, 0};
    return tensor;
  }());
  const auto every = [&](auto&& use) {
    for (int i = 0; i < 4; ++i) use(static_cast<Through>(i));
  };
  b.tensor_hook(x, {b.steps([&] { every([&](Through t) { b.keep(0, t); }); }), {}});
  b.node_pre_hook(b.node_of(y), {b.steps([&] { b.observe(ObserveStep::What::needed); }), {}});
  b.tensor_hook(y, returning({scaled(1), scaled(2)}));
  CustomNode saves_other;
  saves_other.saves = {other};
  b.custom({x}, saves_other);
  b.needs("anomaly.report");
  b.needs("compiled");
  b.needs("pass.nested.alone");
  b.forward();
  b.observe_compiles_for(ObserveStep::Cause::node);
  for (std::size_t what = 0; what < observe_words.size(); ++what) {
    const auto asked = static_cast<ObserveStep::What>(what);
    if (asked == ObserveStep::What::needed || asked == ObserveStep::What::compiles_for) continue;
    b.observe(asked, asked == ObserveStep::What::will_run ? b.node_of(y) : no_id);
  }
  every([&](Through t) { b.change(y, ChangeStep::How::add, 1, t); });
  b.backward({});
  b.backward({{x, sparse_on({DeviceType::sim, 0})}});
  b.backward_into({{other, 1}}, {y});
  found.merge(required_features(b.build()));
  for (const FeatureSpec& feature : all_features()) {
    EXPECT_TRUE(found.count(std::string(feature.name)) == 1) << feature.name;
  }
  for (const std::string& feature : found) EXPECT_TRUE(is_feature(feature)) << feature;
}

TEST(Features, ClaimsOfAGroupCoverIt) {
  const std::set<std::string> required{"hook.tensor", "operation.add_", "operation.mul", "threads"};
  EXPECT_THAT(missing_features(required, {"operation.*", "hook.tensor"}), ElementsAre("threads"));
  EXPECT_THAT(missing_features(required, {"operation.mul", "threads", "hook.*"}),
              ElementsAre("operation.add_"));
  EXPECT_THAT(missing_features(required, {}),
              ElementsAre("hook.tensor", "operation.add_", "operation.mul", "threads"));
}

TEST(Features, NamesAreKnown) {
  EXPECT_TRUE(is_feature("operation.scale_"));
  EXPECT_TRUE(is_feature("type.complex64"));
  EXPECT_TRUE(is_feature("anomaly"));
  EXPECT_FALSE(is_feature("operation.custom"));
  EXPECT_FALSE(is_feature("operation.*"));
  EXPECT_FALSE(is_feature("type.float"));
  EXPECT_FALSE(is_feature("hook"));
}

TEST(Features, AddsWhatTheScenarioAsksForItself) {
  ScenarioBuilder b("a/b");
  b.leaf("x", 2);
  b.needs("fork");
  EXPECT_THAT(required_features(b.build()), ElementsAre("fork", "type.float64"));
}

}  // namespace
}  // namespace gradcts
