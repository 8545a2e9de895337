// Strict access to the fields of a JSON object, and to plain values: every mistake is a FormatError
// that says where, what was found and what was expected. Private to the readers of this repository.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "conformance/scenario/json.h"
#include "conformance/scenario/path.h"

namespace gradcts {

// "a string \"2\"", "a list", "null": what was found.
std::string describe(const Json& json);

// Each throws unless the value is of that kind.
const std::string& read_text(const Json& json, const Path& path);
bool read_boolean(const Json& json, const Path& path);
std::int64_t read_integer(const Json& json, const Path& path,
                          std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                          std::int64_t most = std::numeric_limits<std::int64_t>::max());
double read_number(const Json& json, const Path& path);  // also "nan", "inf", "-inf"
const Json::array_t& read_list(const Json& json, const Path& path);

// A number in its canonical form: whole numbers without a point, and the three strings.
Json write_number(double number);

class Fields {
 public:
  // Throws unless `json` is an object all of whose fields are among `allowed`.
  Fields(const Json& json, const Path& path, std::span<const std::string_view> allowed);
  Fields(const Json& json, const Path& path, std::initializer_list<std::string_view> allowed)
      : Fields(json, path, std::span(allowed.begin(), allowed.size())) {}

  const Json* find(std::string_view name) const;  // null when the field is missing
  const Json& need(std::string_view name) const;  // throws when the field is missing
  const Path& path() const { return path_; }

  const std::string& text(std::string_view name) const { return read_text(need(name), at(name)); }
  bool boolean(std::string_view name, bool otherwise) const;
  double number(std::string_view name) const { return read_number(need(name), at(name)); }

  // Calls use(entry, path) on each entry of the list; does nothing when the field is missing.
  template <typename Use>
  void each(std::string_view name, Use&& use) const {
    const Json* list = find(name);
    if (list == nullptr) return;
    const Path list_path = at(name);
    const auto& entries = read_list(*list, list_path);
    for (std::size_t i = 0; i < entries.size(); ++i) use(entries[i], list_path[i]);
  }

  Path at(std::string_view name) const { return Path(path_, name); }

 private:
  const Json::object_t* object_;
  const Path& path_;
};

// Reads a word of a fixed list.
template <typename Enum, typename Words>
Enum read_word(const Json& json, const Path& path, const Words& words) {
  const std::string& word = read_text(json, path);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  std::string list;
  for (const auto& known : words) list += (list.empty() ? "" : ", ") + std::string(known);
  fail(path, "unknown word '" + word + "'; expected one of: " + list);
}

}  // namespace gradcts
