#include "conformance/scenario/suite.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <filesystem>

#include "conformance/scenario/fields.h"
#include "conformance/scenario/file_text.h"
#include "conformance/scenario/path.h"
#include "conformance/scenario/suite_expression.h"

namespace gradcts {
namespace {

constexpr std::int64_t most_entries = 1'000'000;

Json to_json(const ExpressionValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

ExpressionValue to_value(const Json& json, const Path& path) {
  if (json.is_number_integer()) return read_integer(json, path);
  if (json.is_number()) return json.get<double>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return json.get<std::string>();
  fail(path, "expected a number, a string or a boolean, found " + describe(json));
}

// Expands the templates of one scenario under given parameters.
class Expander {
 public:
  explicit Expander(Bindings bindings) : bindings_(std::move(bindings)) {}

  Json expand(const Json& json, const Path& path);
  Json expand_list(const Json& json, const Path& path);

 private:
  Json expand_text(const std::string& text, const Path& path);
  void expand_entry(const Json& json, const Path& path, Json& list);
  void repeat(const Json& json, const Path& path, Json& list);
  void choose(const Json& json, const Path& path, Json& list);
  void give(const Json& json, const Path& path, Json& list);
  ExpressionValue value_of(std::string_view expression, const Path& path) const {
    try {
      return evaluate(expression, bindings_);
    } catch (const ExpressionError& error) {
      fail(path, "in the expression '" + std::string(expression) + "': " + error.what());
    }
  }

  Bindings bindings_;
};

Json Expander::expand(const Json& json, const Path& path) {
  if (json.is_string()) return expand_text(json.get_ref<const std::string&>(), path);
  if (json.is_array()) return expand_list(json, path);
  if (!json.is_object()) return json;
  Json object = Json::object();
  for (const auto& field : json.get_ref<const Json::object_t&>()) {
    object[field.first] = expand(field.second, path / field.first);
  }
  return object;
}

// "=expression", or text with {expressions} in it; "{{" and "}}" stand for braces.
Json Expander::expand_text(const std::string& text, const Path& path) {
  if (!text.empty() && text[0] == '=') {
    return to_json(value_of(std::string_view(text).substr(1), path));
  }
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      result += c;
      ++i;
    } else if (c == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string::npos) fail(path, "'{' without '}'; write '{{' for a brace");
      result += to_text(value_of(std::string_view(text).substr(i + 1, end - i - 1), path));
      i = end;
    } else if (c == '}') {
      fail(path, "'}' without '{'; write '}}' for a brace");
    } else {
      result += c;
    }
  }
  return result;
}

Json Expander::expand_list(const Json& json, const Path& path) {
  Json list = Json::array();
  const auto& entries = read_list(json, path);
  for (std::size_t i = 0; i < entries.size(); ++i) expand_entry(entries[i], path[i], list);
  return list;
}

void Expander::expand_entry(const Json& json, const Path& path, Json& list) {
  if (json.is_object() && json.contains("each")) return repeat(json, path, list);
  if (json.is_object() && json.contains("when")) return choose(json, path, list);
  list.push_back(expand(json, path));
}

// The entries of a `give` (or `otherwise`): one, or a list of several.
void Expander::give(const Json& json, const Path& path, Json& list) {
  if (!json.is_array()) return expand_entry(json, path, list);
  const auto& entries = json.get_ref<const Json::array_t&>();
  for (std::size_t i = 0; i < entries.size(); ++i) expand_entry(entries[i], path[i], list);
}

void Expander::repeat(const Json& json, const Path& path, Json& list) {
  const Fields fields(json, path, {"each", "from", "to", "in", "give"});
  const std::string& name = fields.text("each");
  const Json& body = fields.need("give");
  std::vector<ExpressionValue> values;
  if (const Json* in = fields.find("in")) {
    if (fields.find("from") || fields.find("to")) fail(path, "expected 'in' or 'from' and 'to'");
    const Json expanded = expand_list(*in, fields.at("in"));
    for (const Json& value : expanded) values.push_back(to_value(value, fields.at("in")));
  } else {
    const Json from = expand(fields.need("from"), fields.at("from"));
    const Json to = expand(fields.need("to"), fields.at("to"));
    const std::int64_t first = read_integer(from, fields.at("from"), -most_entries, most_entries);
    const std::int64_t last = read_integer(to, fields.at("to"), -most_entries, most_entries);
    for (std::int64_t i = first; i <= last; ++i) values.emplace_back(i);
  }
  for (const ExpressionValue& value : values) {
    bindings_.emplace_back(name, value);
    give(body, fields.at("give"), list);
    bindings_.pop_back();
  }
}

void Expander::choose(const Json& json, const Path& path, Json& list) {
  const Fields fields(json, path, {"when", "give", "otherwise"});
  const Json condition = expand(fields.need("when"), fields.at("when"));
  const bool holds = read_boolean(condition, fields.at("when"));
  const Json& yes = fields.need("give");
  if (holds) return give(yes, fields.at("give"), list);
  if (const Json* no = fields.find("otherwise")) give(*no, fields.at("otherwise"), list);
}

// Every combination of the parameters' values; the last parameter changes fastest.
std::vector<Bindings> combinations(const Json* parameters, const Path& path) {
  std::vector<Bindings> all{{}};
  if (parameters == nullptr) return all;
  if (!parameters->is_object()) fail(path, "expected an object, found " + describe(*parameters));
  for (const auto& parameter : parameters->get_ref<const Json::object_t&>()) {
    const Path list_path = path / parameter.first;
    const Json values = Expander({}).expand_list(parameter.second, list_path);
    if (values.empty()) fail(list_path, "expected at least one value");
    std::vector<Bindings> longer;
    for (const Bindings& shorter : all) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        longer.push_back(shorter);
        longer.back().emplace_back(parameter.first, to_value(values[i], list_path[i]));
      }
    }
    all = std::move(longer);
  }
  return all;
}

Json plain_scenario(const Json& scenario, const std::string& area, const Bindings& bindings,
                    const Path& path) {
  Json json{{"schema", "gradcts.scenario/1"}};
  Expander expander(bindings);
  for (const auto& field : scenario.get_ref<const Json::object_t&>()) {
    if (field.first == "for") continue;
    if (field.first == "schema") fail(path / "schema", "the suite's schema is not repeated");
    json[field.first] = expander.expand(field.second, path / field.first);
  }
  if (json.contains("id") && json["id"].is_string()) {
    json["id"] = area + "/" + json["id"].get_ref<const std::string&>();
  }
  return json;
}

void expand_scenario(const Json& json, const std::string& area, const Path& path,
                     std::vector<Scenario>& scenarios) {
  if (!json.is_object()) fail(path, "expected an object, found " + describe(json));
  const auto parameters = json.find("for");
  const Json* values = parameters == json.end() ? nullptr : &*parameters;
  for (const Bindings& bindings : combinations(values, path / "for")) {
    const Json plain = plain_scenario(json, area, bindings, path);
    try {
      scenarios.push_back(read_scenario(plain));
    } catch (const FormatError& error) {
      const auto id = plain.find("id");
      const bool named = id != plain.end() && id->is_string();
      const std::string name = named ? " (" + id->get<std::string>() + ")" : "";
      throw FormatError(path.text() + name, error.what());
    }
  }
}

std::vector<Scenario> scenarios_of_file(const std::string& path) {
  const std::string text = read_file(path);
  try {
    const Json json = parse_json(text);
    const bool suite =
        json.is_object() && json.contains("schema") && json["schema"] == "gradcts.suite/1";
    if (suite) return expand_suite(json);
    std::vector<Scenario> scenarios;
    scenarios.push_back(read_scenario(json));
    return scenarios;
  } catch (const FormatError& error) {
    throw FormatError(error.path().empty() ? path : path + ": " + error.path(), error.problem());
  }
}

std::vector<std::string> files_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw FormatError(path, "there is no such file or folder");
  if (!fs::is_directory(status)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    const bool is_json = entry.is_regular_file() && entry.path().extension() == ".json";
    const fs::path folder = entry.path().parent_path();
    const bool is_expectation =
        folder.filename() == "expectations" || folder.parent_path().filename() == "expectations";
    if (is_json && !is_expectation) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Scenario> expand_suite(const Json& suite) {
  const Path document;
  const Fields fields(suite, document, {"schema", "area", "scenarios"});
  if (fields.text("schema") != "gradcts.suite/1") {
    fail(fields.at("schema"), "expected 'gradcts.suite/1', found '" + fields.text("schema") + "'");
  }
  const std::string& area = fields.text("area");
  fields.need("scenarios");
  std::vector<Scenario> scenarios;
  fields.each("scenarios", [&](const Json& json, const Path& path) {
    expand_scenario(json, area, path, scenarios);
  });
  return scenarios;
}

std::vector<SuiteEntry> load_suites(const std::string& path) {
  std::vector<SuiteEntry> entries;
  absl::flat_hash_map<std::string, std::string> file_of_id;
  for (const std::string& file : files_at(path)) {
    for (Scenario& scenario : scenarios_of_file(file)) {
      const auto [first, fresh] = file_of_id.try_emplace(scenario.id, file);
      if (!fresh) {
        throw FormatError(
            file, "the id '" + scenario.id + "' is taken by a scenario in " + first->second);
      }
      entries.push_back({std::move(scenario), file});
    }
  }
  return entries;
}

}  // namespace gradcts
