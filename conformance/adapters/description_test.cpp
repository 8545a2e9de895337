#include "conformance/adapters/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradcts {
namespace {

using ::testing::HasSubstr;

Json valid() {
  return parse_json(R"({
    "schema": "gradcts.description/1", "name": "mine", "version": "3", "dialect": "reference",
    "choices": {"HOOK-1": "capture-first"}, "features": ["operation.*", "hook.tensor"]
  })");
}

// The message of the refusal; empty: accepted.
std::string refusal(const Json& json) {
  try {
    read_description(json);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(Description, ReadsBackAsItWasWritten) {
  const Description description = read_description(valid());
  EXPECT_EQ(description.name, "mine");
  EXPECT_EQ(description.choices.at("HOOK-1"), "capture-first");
  EXPECT_EQ(write_description(description), valid());
  EXPECT_TRUE(description.make_dialect().follows("HOOK-1", "capture-first"));
}

TEST(Description, SaysWhichNodesAreSeen) {
  EXPECT_EQ(read_description(valid()).trace, Trace::all);
  Json scripted = valid();
  scripted["trace"] = "scripted";
  EXPECT_EQ(read_description(scripted).trace, Trace::scripted);
  EXPECT_EQ(write_description(read_description(scripted)), scripted);
  scripted["trace"] = "some";
  EXPECT_THAT(refusal(scripted), HasSubstr("trace"));
}

TEST(Description, RefusesWhatIsUnknown) {
  Json field = valid();
  field["colour"] = "blue";
  EXPECT_THAT(refusal(field), HasSubstr("colour"));
  Json feature = valid();
  feature["features"].push_back("hook.telepathy");
  EXPECT_THAT(refusal(feature), HasSubstr("features[2]"));
  Json group = valid();
  group["features"].push_back("telepathy.*");
  EXPECT_THAT(refusal(group), HasSubstr("telepathy"));
  Json dialect = valid();
  dialect["dialect"] = "martian";
  EXPECT_THAT(refusal(dialect), HasSubstr("martian"));
  Json choice = valid();
  choice["choices"]["HOOK-1"] = "never";
  EXPECT_THAT(refusal(choice), HasSubstr("never"));
}

TEST(Description, RefusesWhatIsMissingOrOfAnotherKind) {
  for (const char* name : {"schema", "name", "version", "dialect", "features"}) {
    Json missing = valid();
    missing.erase(name);
    EXPECT_THAT(refusal(missing), HasSubstr(name));
    Json other = valid();
    other[name] = 7;
    EXPECT_THAT(refusal(other), HasSubstr(name));
  }
  EXPECT_NE(refusal(Json::array()), "");
}

}  // namespace
}  // namespace gradcts
