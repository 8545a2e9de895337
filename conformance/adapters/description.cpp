#include "conformance/adapters/description.h"

#include <algorithm>
#include <string_view>

#include "conformance/scenario/features.h"

namespace gradcts {

namespace {

constexpr std::string_view schema = "gradcts.description/1";

const std::string& text_at(const Json& json, const char* field) {
  const auto found = json.find(field);
  if (found == json.end()) throw FormatError(field, "is missing; expected a text");
  if (!found->is_string()) throw FormatError(field, "is no text");
  return found->get_ref<const std::string&>();
}

void refuse_unknown_fields(const Json& json) {
  constexpr std::string_view known[] = {"schema",  "name",     "version", "dialect",
                                        "choices", "features", "trace"};
  for (const auto& [field, value] : json.items()) {
    if (std::find(std::begin(known), std::end(known), field) == std::end(known)) {
      throw FormatError(field, "is no field of a description");
    }
  }
}

// A feature, or a whole group: "operation.*".
bool is_claim(std::string_view claim) {
  if (!claim.ends_with(".*")) return is_feature(claim);
  const std::string_view group = claim.substr(0, claim.size() - 1);
  return group == "operation." || group == "type." ||
         std::any_of(all_features().begin(), all_features().end(),
                     [&](const FeatureSpec& feature) { return feature.name.starts_with(group); });
}

std::vector<std::string> read_features(const Json& json) {
  const auto found = json.find("features");
  if (found == json.end() || !found->is_array()) {
    throw FormatError("features", "is missing; expected a list of texts");
  }
  std::vector<std::string> features;
  for (const Json& entry : *found) {
    const std::string path = "features[" + std::to_string(features.size()) + "]";
    if (!entry.is_string()) throw FormatError(path, "is no text");
    features.push_back(entry.get<std::string>());
    if (!is_claim(features.back())) {
      throw FormatError(path, "'" + features.back() + "' is no feature");
    }
  }
  return features;
}

void read_choices(const Json& json, Description& description) {
  const auto found = json.find("choices");
  if (found == json.end()) return;
  if (!found->is_object()) throw FormatError("choices", "is no object of clauses and alternatives");
  for (const auto& [clause, choice] : found->items()) {
    if (!choice.is_string()) throw FormatError("choices." + clause, "is no text");
    description.choices[clause] = choice.get<std::string>();
  }
}

Trace read_trace(const Json& json) {
  if (!json.contains("trace")) return Trace::all;
  const std::string& text = text_at(json, "trace");
  if (text != "all" && text != "scripted") {
    throw FormatError("trace", "is '" + text + "'; expected 'all' or 'scripted'");
  }
  return text == "all" ? Trace::all : Trace::scripted;
}

}  // namespace

Description read_description(const Json& json) {
  if (!json.is_object()) throw FormatError("", "a description is an object");
  refuse_unknown_fields(json);
  if (text_at(json, "schema") != schema) {
    throw FormatError(
        "schema", "is '" + text_at(json, "schema") + "'; expected '" + std::string(schema) + "'");
  }
  Description description;
  description.name = text_at(json, "name");
  description.version = text_at(json, "version");
  description.dialect = text_at(json, "dialect");
  read_choices(json, description);
  description.features = read_features(json);
  description.trace = read_trace(json);
  try {
    description.make_dialect();
  } catch (const std::invalid_argument& error) {
    throw FormatError("dialect", error.what());
  }
  return description;
}

Json write_description(const Description& description) {
  Json json;
  json["schema"] = schema;
  json["name"] = description.name;
  json["version"] = description.version;
  json["dialect"] = description.dialect;
  if (!description.choices.empty()) {
    Json& choices = json["choices"] = Json::object();
    for (const auto& [clause, choice] : description.choices) choices[clause] = choice;
  }
  json["features"] = description.features;
  if (description.trace == Trace::scripted) json["trace"] = "scripted";
  return json;
}

}  // namespace gradcts
