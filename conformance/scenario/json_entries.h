// Files that are a list of entries with a schema: {"schema": "...", "NAME": [{...}, ...]}. Strict,
// as all readers; each function throws FormatError, which names the place.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "conformance/scenario/json.h"

namespace gradcts {

// Calls `read` with each entry of the list and its path ("NAME[3]").
void read_entries(const Json& json, std::string_view schema, const std::string& name,
                  const std::function<void(const Json& entry, const std::string& path)>& read);

// The entry must be an object and have no other fields.
void check_entry(const Json& entry, const std::string& path,
                 const std::set<std::string_view>& known);

// A text that is not empty; text_field: or an empty one, where the field is left out.
std::string text_field(const Json& entry, const std::string& path, const char* field);
std::string required_text(const Json& entry, const std::string& path, const char* field);

}  // namespace gradcts
