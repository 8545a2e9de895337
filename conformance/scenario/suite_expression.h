// The expression language of suite files: integers, decimals, booleans and strings, with the
// operators and rules of docs/scenario.md, "Suite files".
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gradcts {

using ExpressionValue = std::variant<std::int64_t, double, bool, std::string>;

// What is wrong with an expression, without its place: the caller knows that.
class ExpressionError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Names and what they stand for; the innermost (last) meaning of a name counts.
using Bindings = std::vector<std::pair<std::string, ExpressionValue>>;

ExpressionValue evaluate(std::string_view expression, const Bindings& bindings);

std::string to_text(const ExpressionValue& value);  // as it stands inside a string

}  // namespace gradcts
