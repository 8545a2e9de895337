#include <gtest/gtest.h>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

std::string text_refusal(std::string_view text) {
  try {
    parse_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ParseJson, KeepsTheOrderOfFields) {
  EXPECT_EQ(parse_json(R"({"b": [1, -2, 2.5, "x", null, true], "a": {}})").dump(),
            R"({"b":[1,-2,2.5,"x",null,true],"a":{}})");
}

TEST(ParseJson, RefusesDuplicateFields) {
  EXPECT_EQ(text_refusal("{\"a\": 1,\n \"b\": {\"a\": 2},\n \"a\": 3}"),
            "line 3, column 5: duplicate field 'a'");
}

TEST(ParseJson, SaysWhereTheSyntaxBreaks) {
  EXPECT_EQ(text_refusal("{\"a\": 1,}"),
            "line 1, column 9: syntax error while parsing object key - unexpected '}'; expected "
            "string literal");
  EXPECT_EQ(text_refusal("[1,\n  tru]"),
            "line 2, column 6: syntax error while parsing value - invalid literal");
}

TEST(ParseJson, SaysWhereTheTextEnds) {
  EXPECT_EQ(text_refusal("[1"),
            "line 1, column 3: syntax error while parsing array - unexpected end of input; "
            "expected ']'");
  EXPECT_EQ(text_refusal(""),
            "line 1, column 1: syntax error while parsing value - unexpected end of input; "
            "expected '[', '{', or a literal");
}

TEST(ParseJson, RefusesTextAfterTheEnd) {
  EXPECT_EQ(text_refusal("[1] [2]"),
            "line 1, column 5: syntax error while parsing value - unexpected '['; expected end of "
            "input");
}

TEST(ParseJson, RefusesInvalidUtf8) {
  EXPECT_EQ(text_refusal("{\"a\": \"\xff\"}"),
            "line 1, column 8: syntax error while parsing value - invalid string: ill-formed UTF-8 "
            "byte");
}

TEST(ParseJson, CountsColumnsInCharacters) {
  EXPECT_EQ(text_refusal("[\"\xc3\xa9\xc3\xa9\", ?]"),
            "line 1, column 8: syntax error while parsing value - invalid literal");
}

TEST(ParseJson, RefusesNumbersOutOfRange) {
  EXPECT_EQ(text_refusal("[1e999]"), "line 1, column 7: number overflow parsing '1e999'");
}

TEST(ParseJson, LimitsTheDepth) {
  EXPECT_EQ(text_refusal(std::string(200, '[') + std::string(200, ']')), "accepted");
  EXPECT_EQ(text_refusal(std::string(201, '[') + std::string(201, ']')),
            "line 1, column 202: nested deeper than 200 levels");
}

}  // namespace
}  // namespace gradcts
