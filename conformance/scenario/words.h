// The words of the JSON form for the enumerations, in the order of their enumerators. Private to
// this folder; others use the to_text functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gradcts {

inline constexpr std::array<std::string_view, 8> scalar_type_words{
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64", "boolean"};
inline constexpr std::array<std::string_view, 4> device_type_words{"cpu", "sim", "other", "cuda"};
inline constexpr std::array<std::string_view, 21> error_category_words{"user",
                                                                       "gradient_count",
                                                                       "gradient_shape",
                                                                       "gradient_type",
                                                                       "gradient_device",
                                                                       "hook_result",
                                                                       "unused_input",
                                                                       "invalid_argument",
                                                                       "graph_released",
                                                                       "saved_modified",
                                                                       "not_differentiable",
                                                                       "outside_pass",
                                                                       "nan_gradient",
                                                                       "incomplete",
                                                                       "forked",
                                                                       "stopped",
                                                                       "in_place",
                                                                       "device_failure",
                                                                       "stream_capture",
                                                                       "reducer",
                                                                       "other"};
inline constexpr std::array<std::string_view, 8> hook_kind_words{
    "tensor",          "retain_grad", "node_pre", "node_post",
    "post_accumulate", "capture",     "multi",    "saved"};
inline constexpr std::array<std::string_view, 4> through_words{"handle", "view", "detached",
                                                               "data"};
inline constexpr std::array<std::string_view, 3> change_words{"add", "multiply", "fill"};
inline constexpr std::array<std::string_view, 2> trace_words{"all", "scripted"};
inline constexpr std::array<std::string_view, 2> added_words{"at_creation", "by_step"};
inline constexpr std::array<std::string_view, 18> observe_words{
    "recording",     "user_state",   "device",   "stream",  "depth",          "checkpoint_valid",
    "inside_pass",   "needed",       "will_run", "anomaly", "engine_threads", "live_objects",
    "stream_events", "stream_waits", "programs", "replays", "compiles",       "compiles_for"};
inline constexpr std::array<std::string_view, 7> cause_words{"none_known", "node",  "edges", "size",
                                                             "number",     "order", "asked"};
inline constexpr std::array<std::string_view, 4> question_words{"buckets", "launches", "ready",
                                                                "collectives"};
inline constexpr std::array<std::string_view, 15> event_words{
    "node_enter",    "node_exit",      "tensor_hook",
    "node_pre_hook", "node_post_hook", "post_accumulate_hook",
    "capture_hook",  "multi_hook",     "pack",
    "unpack",        "callback",       "pass_begin",
    "pass_end",      "observe",        "destroyed"};
inline constexpr std::array<std::string_view, 3> access_kind_words{"read", "write", "free"};

template <std::size_t size, typename Enum>
constexpr std::string_view word_of(const std::array<std::string_view, size>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

template <typename Enum, std::size_t size>
constexpr std::optional<Enum> enum_from_word(const std::array<std::string_view, size>& words,
                                             std::string_view word) {
  for (std::size_t i = 0; i < size; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace gradcts
