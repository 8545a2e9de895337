#include "conformance/explore/preload/trace.h"

#include <charconv>

namespace gradcts::schedule {
namespace {

// Takes a number from the front of `text`.
template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  if (text.starts_with('-')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool take_run(std::string_view& text, Trace::Run& run) {
  if (!take_number(text, run.choice.thread)) return false;
  run.choice.by_itself = take(text, '!');
  run.count = 1;
  return !take(text, ':') || (take_number(text, run.count) && run.count > 0);
}

}  // namespace

void Trace::clear() {
  runs_.clear();
}

void Trace::append(Choice choice) {
  if (!runs_.empty() && runs_.back().choice == choice && runs_.back().count < UINT32_MAX) {
    ++runs_.back().count;
  } else {
    runs_.push_back({choice, 1});
  }
}

std::optional<Trace> Trace::parse(std::string_view text) {
  Trace trace;
  if (text.empty()) return trace;
  do {
    Run run;
    if (!take_run(text, run)) return std::nullopt;
    trace.runs_.push_back(run);
  } while (take(text, '.'));
  if (!text.empty()) return std::nullopt;
  return trace;
}

void Trace::append_number(std::uint64_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text_.insert(text_.end(), digits, end);
}

const char* Trace::text() {
  text_.clear();
  for (const Run& run : runs_) {
    if (!text_.empty()) text_.push_back('.');
    append_number(static_cast<std::uint64_t>(run.choice.thread));
    if (run.choice.by_itself) text_.push_back('!');
    if (run.count > 1) {
      text_.push_back(':');
      append_number(run.count);
    }
  }
  text_.push_back('\0');
  return text_.data();
}

void TraceReader::start(const Trace& trace) {
  trace_ = &trace;
  run_ = 0;
  within_run_ = 0;
}

std::optional<Choice> TraceReader::peek() const {
  if (trace_ == nullptr || run_ == trace_->runs().size()) return std::nullopt;
  return trace_->runs()[run_].choice;
}

void TraceReader::advance() {
  if (++within_run_ == trace_->runs()[run_].count) {
    ++run_;
    within_run_ = 0;
  }
}

}  // namespace gradcts::schedule
