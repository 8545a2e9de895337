// Which expected events are told apart by their order, on traces written by hand.
#include "conformance/oracle/trace.h"

#include <gmock/gmock.h>

namespace gradcts::oracle {
namespace {

using testing::ElementsAre;

struct Traced {
  // An event that follows those, or nothing at all.
  std::int32_t add(std::int32_t subject, const std::vector<std::int32_t>& after = {}) {
    trace.cursor.clear();
    for (const std::int32_t event : after) trace.cursor.push_back({event, "ORDER-1"});
    return trace.other(EventKind::observe, subject, "ORDER-1", "ORDER-1");
  }
  void add_step(StepId id, const std::vector<std::int32_t>& after) {
    trace.cursor.clear();
    for (const std::int32_t event : after) trace.cursor.push_back({event, "ORDER-1"});
    trace.step(id);
  }
  std::vector<bool> in_any_order() {
    trace.settle();
    std::vector<bool> found;
    for (const ExpectedEvent& event : expectation.events) found.push_back(event.any_order);
    return found;
  }

  Expectation expectation;
  Trace trace{expectation};
};

constexpr std::int32_t h = 1, other = 2, another = 3;  // subjects

TEST(WhichIsWhich, WhatFollowsTheSameEventHasNoOrder) {
  Traced traced;
  const std::int32_t start = traced.add(other);
  traced.add(h, {start});
  traced.add(h, {start});
  EXPECT_THAT(traced.in_any_order(), ElementsAre(false, true, true));
  EXPECT_TRUE(traced.expectation.order.empty());
}

TEST(WhichIsWhich, AnOrderIsFoundAlongALineBesideAnother) {
  Traced traced;
  traced.add(another);
  const std::int32_t first = traced.add(h);
  const std::int32_t middle = traced.add(other, {first});
  traced.add(h, {middle});
  EXPECT_THAT(traced.in_any_order(), ElementsAre(false, false, false, false));
}

TEST(WhichIsWhich, WhatOnceHadNoOrderHasNoneLater) {
  Traced traced;
  const std::int32_t one = traced.add(h);
  const std::int32_t two = traced.add(h);
  traced.add(h, {one, two});
  EXPECT_THAT(traced.in_any_order(), ElementsAre(true, true, true));
}

// So many ways lead through this that a search along each of them would not end.
TEST(WhichIsWhich, EachEventIsVisitedOnce) {
  Traced traced;
  traced.add(h);
  std::int32_t top = traced.add(other);
  for (int i = 0; i < 64; ++i) {
    const std::int32_t left = traced.add(other, {top});
    const std::int32_t right = traced.add(another, {top});
    top = traced.add(other, {left, right});
  }
  traced.add(h, {top});
  EXPECT_TRUE(traced.in_any_order().back());
}

TEST(WhichIsWhich, ResultsOfAStepAreToldApartByTheEventsBeforeThem) {
  Traced traced;
  const std::int32_t start = traced.add(other);
  const std::int32_t left = traced.add(h, {start});
  const std::int32_t right = traced.add(another, {start});
  const StepId before_all = 0, twice = 1, on_both_sides = 2;
  traced.add_step(before_all, {});
  traced.add_step(before_all, {});
  traced.add_step(before_all, {start});
  traced.add_step(twice, {left});
  traced.add_step(twice, {left});
  traced.add_step(on_both_sides, {left});
  traced.add_step(on_both_sides, {right});
  traced.trace.settle();
  std::vector<bool> found;
  for (const ExpectedStep& step : traced.expectation.steps) found.push_back(step.any_order);
  EXPECT_THAT(found, ElementsAre(false, false, false, false, false, true, true));
}

TEST(WhichIsWhich, DEV_1_TheDeviceStaysWhereAllThatMayBeMeantHaveIt) {
  const auto device_is_left = [](bool in_order, Device first, Device second) {
    Traced traced;
    const std::int32_t one = traced.add(h);
    const std::int32_t two = in_order ? traced.add(h, {one}) : traced.add(h);
    traced.trace.event(one).device = first;
    traced.trace.event(two).device = second;
    traced.trace.settle();
    const bool left = traced.trace.event(one).device.has_value();
    EXPECT_EQ(traced.trace.event(two).device.has_value(), left);
    return left;
  };
  const Device cpu, sim{DeviceType::sim, 0};
  EXPECT_TRUE(device_is_left(false, sim, sim));
  EXPECT_FALSE(device_is_left(false, sim, cpu));
  EXPECT_TRUE(device_is_left(true, sim, cpu));
}

}  // namespace
}  // namespace gradcts::oracle
