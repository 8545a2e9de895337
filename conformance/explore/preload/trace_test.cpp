#include "conformance/explore/preload/trace.h"

#include <gtest/gtest.h>

namespace gradcts::schedule {
namespace {

TEST(Trace, EqualChoicesAreCounted) {
  Trace trace;
  for (int i = 0; i < 7; ++i) trace.append({2, false});
  trace.append({0, false});
  trace.append({1, true});
  trace.append({1, false});
  EXPECT_STREQ(trace.text(), "2:7.0.1!.1");
}

TEST(Trace, TextSurvivesARoundTrip) {
  for (const char* text : {"", "0", "0:12.1.0:3.2!.2:4", "140:2.3!:5"}) {
    std::optional<Trace> trace = Trace::parse(text);
    ASSERT_TRUE(trace.has_value()) << text;
    EXPECT_STREQ(trace->text(), text);
  }
}

TEST(Trace, WhatIsNoScheduleIsRefused) {
  for (const char* text :
       {".", "0.", ".0", "a", "0:", "0:0", "-1", "0:-2", "0 1", "0!!", "99999999999"}) {
    EXPECT_FALSE(Trace::parse(text).has_value()) << text;
  }
}

TEST(TraceReader, VisitsEveryChoiceOnce) {
  const std::optional<Trace> trace = Trace::parse("3:2.1!");
  TraceReader reader;
  reader.start(*trace);
  for (Choice expected : {Choice{3, false}, Choice{3, false}, Choice{1, true}}) {
    ASSERT_EQ(reader.peek(), expected);
    reader.advance();
  }
  EXPECT_EQ(reader.peek(), std::nullopt);
}

}  // namespace
}  // namespace gradcts::schedule
