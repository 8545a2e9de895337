// What a runner and its worker say to each other: one JSON object a line (docs/protocol.md). A
// worker that loads a library has a private channel; an engine that is a program is the worker
// itself and has the channel as its standard input and output.
//
//   runner                                          worker
//   {"request":7,"hello":"gradcts.worker/1"}
//   {"answer":7,"hello":"gradcts.worker/1","description":{...}}
//                                                   {"answer":7,"hello":"gradcts.worker/1","failure":"..."}
//   {"request":8,"run":{scenario}}                  {"answer":8,"outcome":{...}}
//                                                   {"answer":8,"failure":"..."}
//
// The number of a request means nothing but must come back: an answer with another number is an
// error of the engine's side and never taken for an answer to this request. The standard output of
// a worker with a library belongs to the engine, which may print what it likes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/scenario/json.h"

namespace gradcts::wire {

inline constexpr std::string_view protocol = "gradcts.worker/1";

std::string hello_request(std::uint64_t number);
std::string run_request(std::uint64_t number, std::string_view scenario);

// What the worker understood; `scenario` is a part of `line`.
struct Request {
  enum class Kind { hello, run };
  Kind kind = Kind::hello;
  std::uint64_t number = 0;
  std::string_view protocol;
  std::string_view scenario;
};
std::optional<Request> read_request(std::string_view line);

// `json` is what the engine replied: line ends in it, which in JSON are mere space, become spaces.
std::string hello_answer(std::uint64_t number, std::string_view json);
std::string outcome_answer(std::uint64_t number, std::string_view json);
std::string hello_failure(std::uint64_t number, std::string_view text);
std::string failure_answer(std::uint64_t number, std::string_view text);

struct Answer {
  Json content;         // description or outcome; null after a failure
  std::string failure;  // why there is none
};
// Throws std::runtime_error with one clear line: no JSON, another number, another protocol.
Answer read_hello_answer(std::string_view line, std::uint64_t number);
Answer read_run_answer(std::string_view line, std::uint64_t number);

}  // namespace gradcts::wire
