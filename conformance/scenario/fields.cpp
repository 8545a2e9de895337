#include "conformance/scenario/fields.h"

#include <algorithm>
#include <cmath>

namespace gradcts {

std::string describe(const Json& json) {
  constexpr std::size_t longest = 40;
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  if (json.is_null()) return "null";
  std::string text = json.dump();
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  if (json.is_string()) return "the string " + text;
  return json.is_boolean() ? text : "the number " + text;
}

namespace {

[[noreturn]] void wrong_kind(const Json& json, const Path& path, std::string_view expected) {
  fail(path, "expected " + std::string(expected) + ", found " + describe(json));
}

}  // namespace

const std::string& read_text(const Json& json, const Path& path) {
  if (!json.is_string()) wrong_kind(json, path, "a string");
  return json.get_ref<const std::string&>();
}

bool read_boolean(const Json& json, const Path& path) {
  if (!json.is_boolean()) wrong_kind(json, path, "true or false");
  return json.get<bool>();
}

std::int64_t read_integer(const Json& json, const Path& path, std::int64_t least,
                          std::int64_t most) {
  if (!json.is_number_integer()) wrong_kind(json, path, "an integer");
  const bool too_large = json.is_number_unsigned() &&
                         json.get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t value = too_large ? 0 : json.get<std::int64_t>();
  if (too_large || value < least || value > most) {
    std::string range = "a smaller integer";
    if (!too_large && value < least) range = "at least " + std::to_string(least);
    if (!too_large && value > most) range = "at most " + std::to_string(most);
    wrong_kind(json, path, range);
  }
  return value;
}

namespace {

// Whether an integer is a double as it stands.
bool is_exact(const Json& integer, double number) {
  constexpr double beyond = 9223372036854775808.0;  // 2^63: the cast below stays defined
  return number < beyond && number >= -beyond &&
         static_cast<std::int64_t>(number) == integer.get<std::int64_t>();
}

}  // namespace

double read_number(const Json& json, const Path& path) {
  if (json.is_string()) {
    const std::string& word = json.get_ref<const std::string&>();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
  }
  if (!json.is_number()) wrong_kind(json, path, "a number");
  const double number = json.get<double>();
  if (json.is_number_integer() && !is_exact(json, number)) {
    fail(path,
         "the integer " + json.dump() + " is not exact as a double; write a nearby one that is");
  }
  return number;
}

const Json::array_t& read_list(const Json& json, const Path& path) {
  if (!json.is_array()) wrong_kind(json, path, "a list");
  return json.get_ref<const Json::array_t&>();
}

Json write_number(double number) {
  constexpr double exact_integers = 9007199254740992.0;  // 2^53
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  const bool negative_zero = number == 0 && std::signbit(number);
  if (std::trunc(number) == number && std::abs(number) <= exact_integers && !negative_zero) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

Fields::Fields(const Json& json, const Path& path, std::span<const std::string_view> allowed)
    : object_(nullptr), path_(path) {
  if (!json.is_object()) wrong_kind(json, path, "an object");
  object_ = &json.get_ref<const Json::object_t&>();
  for (const auto& field : *object_) {
    if (std::find(allowed.begin(), allowed.end(), field.first) != allowed.end()) continue;
    fail(path, "unknown field '" + field.first + "'" + suggestion(field.first, allowed));
  }
}

const Json* Fields::find(std::string_view name) const {
  for (const auto& field : *object_) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

const Json& Fields::need(std::string_view name) const {
  const Json* field = find(name);
  if (field == nullptr) fail(path_, "field '" + std::string(name) + "' is missing");
  return *field;
}

bool Fields::boolean(std::string_view name, bool otherwise) const {
  const Json* field = find(name);
  return field == nullptr ? otherwise : read_boolean(*field, at(name));
}

}  // namespace gradcts
