// Text to JSON. The library's parser accepts duplicate keys (one wins) and any depth; this one
// reports them, with line and column. Covered by json_parse_test.cpp.
#include <iterator>
#include <utility>
#include <vector>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

constexpr std::size_t deepest = 200;

// Walks the text and tells how far the parser has come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* position, const char** progress)
      : position_(position), progress_(progress) {}
  reference operator*() const { return *position_; }
  CountingIterator& operator++() {
    *progress_ = ++position_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return position_ == other.position_; }
  bool operator!=(const CountingIterator& other) const { return position_ != other.position_; }

 private:
  const char* position_;
  const char** progress_;
};

std::string place_text(std::string_view text, std::size_t offset) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column;  // a character, not the continuation of one
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// The library's words without its own prefix and place, and without what it had read.
std::string problem_of(const std::string& what) {
  std::size_t begin = what.find("syntax error");
  if (begin == std::string::npos) begin = what.find("] ") + 2;
  std::string problem = what.substr(begin);
  const std::size_t read = problem.find("; last read: ");
  const std::size_t expected = problem.rfind("; expected ");
  if (read == std::string::npos) return problem;
  return problem.substr(0, read) + (expected == std::string::npos ? "" : problem.substr(expected));
}

// Builds the document. `refuse(problem)` is called at the first mistake.
template <typename Refuse>
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(Refuse refuse) : refuse_(std::move(refuse)) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(Json::number_integer_t value) override { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool end_array() override { return end_object(); }

  bool key(std::string& name) override {
    const auto& fields = open_.back()->get_ref<const Json::object_t&>();
    for (const auto& field : fields) {
      if (field.first == name) return refuse_("duplicate field '" + name + "'");
    }
    name_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    return refuse_(problem_of(error.what()));
  }

 private:
  bool open(Json container) {
    if (open_.size() == deepest) {
      return refuse_("nested deeper than " + std::to_string(deepest) + " levels");
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  template <typename Value>
  bool add(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }

  // A container that is still open is the last one in its parent, so the pointers stay valid.
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    auto& fields = parent.get_ref<Json::object_t&>();
    return &fields.emplace_back(std::move(name_), std::move(value))
                .second;  // `key` knows it is new
  }

  Refuse refuse_;
  Json root_;
  std::vector<Json*> open_;
  std::string name_;
};

// Parses again, slowly, to say where the mistake is.
[[noreturn]] void refuse_with_place(std::string_view text) {
  const char* progress = text.data();
  Builder builder([&](const std::string& problem) -> bool {
    const auto read = static_cast<std::size_t>(progress - text.data());
    // At a mistake of its own kind the parser has read the offending character already.
    const bool ours =
        problem.starts_with("duplicate field") || problem.starts_with("nested deeper");
    const bool at_end = problem.find("unexpected end of input") != std::string::npos;
    const bool one_back = read > 0 && !ours && !at_end;
    // To the parser a zero byte is the end, wherever it stands.
    const std::size_t zero = at_end ? text.find('\0') : std::string_view::npos;
    if (zero != std::string_view::npos)
      throw FormatError(place_text(text, zero), "a zero byte; expected text");
    throw FormatError(place_text(text, one_back ? read - 1 : read), problem);
  });
  Json::sax_parse(CountingIterator(text.data(), &progress),
                  CountingIterator(text.data() + text.size(), &progress), &builder);
  throw FormatError("", "the text cannot be parsed");
}

}  // namespace

Json parse_json(std::string_view text) {
  Builder builder([](const std::string&) { return false; });
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) refuse_with_place(text);
  return builder.take();
}

}  // namespace gradcts
