#include "conformance/scenario/json_entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gradcts {
namespace {

void refuse_unknown_fields(const Json& json, const std::string& path,
                           const std::set<std::string_view>& known) {
  for (const auto& [field, value] : json.items()) {
    if (!known.contains(field)) {
      throw FormatError(path.empty() ? field : path + "." + field,
                        fmt::format("unknown field; known: {}", fmt::join(known, ", ")));
    }
  }
}

}  // namespace

void read_entries(const Json& json, std::string_view schema, const std::string& name,
                  const std::function<void(const Json& entry, const std::string& path)>& read) {
  if (!json.is_object()) throw FormatError("", "expected an object");
  refuse_unknown_fields(json, "", {"schema", name});
  if (!json.contains("schema") || json["schema"] != schema) {
    throw FormatError("schema", fmt::format("expected \"{}\"", schema));
  }
  if (!json.contains(name) || !json[name].is_array()) throw FormatError(name, "expected a list");
  for (std::size_t i = 0; i < json[name].size(); ++i) {
    read(json[name][i], fmt::format("{}[{}]", name, i));
  }
}

void check_entry(const Json& entry, const std::string& path,
                 const std::set<std::string_view>& known) {
  if (!entry.is_object()) throw FormatError(path, "expected an object");
  refuse_unknown_fields(entry, path, known);
}

std::string text_field(const Json& entry, const std::string& path, const char* field) {
  if (!entry.contains(field)) return {};
  if (!entry[field].is_string() || entry[field].get<std::string>().empty()) {
    throw FormatError(path + "." + field, "expected a text that is not empty");
  }
  return entry[field].get<std::string>();
}

std::string required_text(const Json& entry, const std::string& path, const char* field) {
  std::string text = text_field(entry, path, field);
  if (text.empty()) throw FormatError(path, fmt::format("'{}' is missing", field));
  return text;
}

}  // namespace gradcts
