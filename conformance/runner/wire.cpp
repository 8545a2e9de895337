#include "conformance/runner/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace gradcts::wire {
namespace {

// Removes `text` from the front of `line`, if it stands there.
bool skip(std::string_view& line, std::string_view text) {
  if (!line.starts_with(text)) return false;
  line.remove_prefix(text.size());
  return true;
}

bool take_number(std::string_view& line, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return true;
}

std::string one_line(std::string_view json) {
  std::string line(json);
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\r', ' ');
  return line;
}

std::string quoted(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string excerpt(std::string_view line) {
  constexpr std::size_t limit = 80;
  std::string shown(line.substr(0, limit));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return line.size() > limit ? shown + "..." : shown;
}

Json parse_answer(std::string_view line, std::uint64_t number) {
  Json json;
  try {
    json = parse_json(line);
  } catch (const std::exception& problem) {
    throw std::runtime_error(
        fmt::format("the answer is not JSON ({}): {}", problem.what(), excerpt(line)));
  }
  const auto answer = json.is_object() ? json.find("answer") : json.end();
  if (answer == json.end() || !answer->is_number_unsigned()) {
    throw std::runtime_error(fmt::format("the answer has no number: {}", excerpt(line)));
  }
  if (answer->get<std::uint64_t>() != number) {
    throw std::runtime_error(fmt::format("answers the wrong request: {} was asked, {} was answered",
                                         number, answer->get<std::uint64_t>()));
  }
  return json;
}

Answer take_content(Json json, const char* field) {
  if (json.contains("failure") && json["failure"].is_string()) {
    return {nullptr, json["failure"].get<std::string>()};
  }
  if (!json.contains(field)) {
    throw std::runtime_error(fmt::format("the answer has neither '{}' nor 'failure'", field));
  }
  return {std::move(json[field]), {}};
}

}  // namespace

std::string hello_request(std::uint64_t number) {
  return fmt::format("{{\"request\":{},\"hello\":\"{}\"}}\n", number, protocol);
}

std::string run_request(std::uint64_t number, std::string_view scenario) {
  return fmt::format("{{\"request\":{},\"run\":{}}}\n", number, scenario);
}

std::optional<Request> read_request(std::string_view line) {
  Request request;
  if (!skip(line, "{\"request\":") || !take_number(line, request.number)) return std::nullopt;
  if (!line.ends_with('}')) return std::nullopt;
  line.remove_suffix(1);
  if (skip(line, ",\"hello\":")) {
    if (line.size() < 2) return std::nullopt;
    request.protocol = line.substr(1, line.size() - 2);
    return request;
  }
  if (!skip(line, ",\"run\":")) return std::nullopt;
  request.kind = Request::Kind::run;
  request.scenario = line;
  return request;
}

std::string hello_answer(std::uint64_t number, std::string_view json) {
  return fmt::format("{{\"answer\":{},\"hello\":\"{}\",\"description\":{}}}\n", number, protocol,
                     one_line(json));
}

std::string outcome_answer(std::uint64_t number, std::string_view json) {
  return fmt::format("{{\"answer\":{},\"outcome\":{}}}\n", number, one_line(json));
}

std::string hello_failure(std::uint64_t number, std::string_view text) {
  return fmt::format("{{\"answer\":{},\"hello\":\"{}\",\"failure\":{}}}\n", number, protocol,
                     quoted(text));
}

std::string failure_answer(std::uint64_t number, std::string_view text) {
  return fmt::format("{{\"answer\":{},\"failure\":{}}}\n", number, quoted(text));
}

Answer read_hello_answer(std::string_view line, std::uint64_t number) {
  Json json = parse_answer(line, number);
  const std::string spoken =
      json.contains("hello") && json["hello"].is_string() ? json["hello"].get<std::string>() : "";
  if (spoken != protocol) {
    throw std::runtime_error(
        fmt::format("the worker speaks '{}', this gradcts speaks '{}'", spoken, protocol));
  }
  return take_content(std::move(json), "description");
}

Answer read_run_answer(std::string_view line, std::uint64_t number) {
  return take_content(parse_answer(line, number), "outcome");
}

}  // namespace gradcts::wire
