#include "conformance/scenario/suite_expression.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "conformance/scenario/path.h"

namespace gradcts {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw ExpressionError(problem);
}

bool is_integer(const ExpressionValue& value) {
  return std::holds_alternative<std::int64_t>(value);
}
bool is_number(const ExpressionValue& value) {
  return is_integer(value) || std::holds_alternative<double>(value);
}

double as_double(const ExpressionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

bool as_boolean(const ExpressionValue& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
  refuse("expected true or false, found " + to_text(value));
}

void refuse_if(bool overflow) {
  if (overflow) refuse("the result does not fit an integer of 64 bits");
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) refuse("a negative power of an integer; write a decimal");
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent && result != 0; ++i) {
    if (base == 1) break;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    refuse_if(__builtin_mul_overflow(result, base, &result));
  }
  return result;
}

std::int64_t integer_arithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+") refuse_if(__builtin_add_overflow(a, b, &result));
  if (op == "-") refuse_if(__builtin_sub_overflow(a, b, &result));
  if (op == "*") refuse_if(__builtin_mul_overflow(a, b, &result));
  if (op == "+" || op == "-" || op == "*") return result;
  if (op == "**") return integer_power(a, b);
  if (b == 0) refuse("division by zero");
  if (b == -1) return op == "/" ? integer_arithmetic("-", 0, a) : 0;
  if (op == "%") return ((a % b) + b) % b;  // with the sign of the divisor
  if (a % b != 0) refuse(fmt::format("{} / {} is no integer; write a decimal", a, b));
  return a / b;
}

double decimal_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "**") return std::pow(a, b);
  refuse("'%' takes integers");
}

ExpressionValue arithmetic(std::string_view op, const ExpressionValue& a,
                           const ExpressionValue& b) {
  if (!is_number(a) || !is_number(b)) {
    refuse(fmt::format("'{}' takes numbers, found {} and {}", op, to_text(a), to_text(b)));
  }
  if (is_integer(a) && is_integer(b)) {
    return integer_arithmetic(op, std::get<std::int64_t>(a), std::get<std::int64_t>(b));
  }
  return decimal_arithmetic(op, as_double(a), as_double(b));
}

bool compare(std::string_view op, const ExpressionValue& a, const ExpressionValue& b) {
  const bool numbers = is_number(a) && is_number(b);
  if (!numbers && a.index() != b.index()) {
    refuse(fmt::format("cannot compare {} with {}", to_text(a), to_text(b)));
  }
  const bool equal = numbers ? as_double(a) == as_double(b) : a == b;
  if (op == "==") return equal;
  if (op == "!=") return !equal;
  if (!numbers) refuse(fmt::format("'{}' takes numbers", op));
  if (op == "<") return as_double(a) < as_double(b);
  if (op == ">") return as_double(a) > as_double(b);
  if (op == "<=") return as_double(a) <= as_double(b);
  return as_double(a) >= as_double(b);
}

// Recursive descent, one function a level of precedence. An operand that the result does not need
// (the other side of `? :`, `&&`, `||`) is parsed but its errors of value do not count.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Bindings& bindings) : text_(text), bindings_(bindings) {}

  ExpressionValue run() {
    ExpressionValue value = choice();
    skip_space();
    if (position_ != text_.size()) refuse(fmt::format("unexpected '{}'", text_.substr(position_)));
    return value;
  }

 private:
  static constexpr int deepest = 100;

  ExpressionValue choice() {
    if (++depth_ > deepest) refuse("the expression is nested too deep");
    ExpressionValue condition = either();
    if (take("?")) {
      const bool holds = active_ && as_boolean(condition);
      ExpressionValue yes = guarded(holds, &Evaluator::choice);
      expect(":");
      ExpressionValue no = guarded(active_ && !holds, &Evaluator::choice);
      condition = holds ? yes : no;
    }
    --depth_;
    return condition;
  }

  ExpressionValue either() {
    ExpressionValue left = both();
    while (take("||")) {
      const bool holds = active_ && as_boolean(left);
      const ExpressionValue right = guarded(active_ && !holds, &Evaluator::both);
      if (active_) left = holds || as_boolean(right);
    }
    return left;
  }

  ExpressionValue both() {
    ExpressionValue left = comparison();
    while (take("&&")) {
      const bool holds = active_ && as_boolean(left);
      const ExpressionValue right = guarded(holds, &Evaluator::comparison);
      if (active_) left = holds && as_boolean(right);
    }
    return left;
  }

  ExpressionValue comparison() {
    ExpressionValue left = sum();
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(op)) continue;
      const ExpressionValue right = sum();
      return active_ ? ExpressionValue(compare(op, left, right)) : ExpressionValue(false);
    }
    return left;
  }

  ExpressionValue sum() {
    ExpressionValue left = product();
    for (;;) {
      const std::string_view op = take("+") ? "+" : take("-") ? "-" : "";
      if (op.empty()) return left;
      left = apply(op, left, product());
    }
  }

  ExpressionValue product() {
    ExpressionValue left = sign();
    for (;;) {
      const bool power_follows = text_.substr(after_space(), 2) == "**";
      const std::string_view op = power_follows ? ""
                                  : take("*")   ? "*"
                                  : take("/")   ? "/"
                                  : take("%")   ? "%"
                                                : "";
      if (op.empty()) return left;
      left = apply(op, left, sign());
    }
  }

  ExpressionValue sign() {
    if (++depth_ > deepest) refuse("the expression is nested too deep");
    ExpressionValue value;
    if (take("-")) {
      value = apply("-", std::int64_t{0}, sign());
    } else if (text_.substr(after_space(), 2) != "!=" && take("!")) {
      const ExpressionValue operand = sign();
      value = active_ ? ExpressionValue(!as_boolean(operand)) : ExpressionValue(false);
    } else {
      value = power();
    }
    --depth_;
    return value;
  }

  ExpressionValue power() {
    const ExpressionValue base = operand();
    return take("**") ? apply("**", base, sign()) : base;
  }

  ExpressionValue operand() {
    skip_space();
    if (position_ == text_.size()) refuse("the expression ends where an operand was expected");
    const char c = text_[position_];
    if (c == '\'') return quoted();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return named();
    if (!take("(")) refuse(fmt::format("unexpected '{}'", text_.substr(position_)));
    ExpressionValue value = choice();
    expect(")");
    return value;
  }

  ExpressionValue quoted() {
    const std::size_t end = text_.find('\'', position_ + 1);
    if (end == std::string_view::npos) refuse("a quoted string has no end");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }

  ExpressionValue number() {
    const std::size_t begin = position_;
    const auto digits = [this] {
      while (position_ < text_.size() &&
             std::isdigit(static_cast<unsigned char>(text_[position_]))) {
        ++position_;
      }
    };
    digits();
    bool decimal = false;
    if (position_ < text_.size() && text_[position_] == '.') {
      decimal = true;
      ++position_;
      digits();
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + position_;
    if (decimal) {
      double value = 0;
      std::from_chars(first, last, value);
      return value;
    }
    std::int64_t value = 0;
    const bool fits = std::from_chars(first, last, value).ec == std::errc();
    refuse_if(!fits);
    return value;
  }

  ExpressionValue named() {
    const std::size_t begin = position_;
    while (
        position_ < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) {
      ++position_;
    }
    const std::string_view name = text_.substr(begin, position_ - begin);
    if (name == "true") return true;
    if (name == "false") return false;
    if (take("(")) return call(name);
    for (std::size_t i = bindings_.size(); i-- > 0;) {
      if (bindings_[i].first == name) return bindings_[i].second;
    }
    std::vector<std::string> known;
    for (const auto& binding : bindings_) known.push_back(binding.first);
    refuse("there is no parameter '" + std::string(name) + "'" + suggestion(name, known));
  }

  ExpressionValue call(std::string_view function) {
    if (function != "min" && function != "max") {
      refuse("there is no function '" + std::string(function) + "'; expected min or max");
    }
    ExpressionValue a = choice();
    expect(",");
    ExpressionValue b = choice();
    expect(")");
    if (!active_) return a;
    if (!is_number(a) || !is_number(b)) refuse(std::string(function) + " takes numbers");
    const bool a_is_less = as_double(a) < as_double(b);
    return a_is_less == (function == "min") ? a : b;
  }

  ExpressionValue apply(std::string_view op, const ExpressionValue& a, const ExpressionValue& b) {
    return active_ ? arithmetic(op, a, b) : ExpressionValue(std::int64_t{0});
  }

  // Parses with `read`; its value counts only if `active`.
  ExpressionValue guarded(bool active, ExpressionValue (Evaluator::*read)()) {
    const bool before = active_;
    active_ = active;
    ExpressionValue value = (this->*read)();
    active_ = before;
    return value;
  }

  std::size_t after_space() const {
    std::size_t position = position_;
    while (position < text_.size() && text_[position] == ' ') ++position;
    return position;
  }
  void skip_space() { position_ = after_space(); }

  bool take(std::string_view token) {
    const std::size_t start = after_space();
    if (text_.substr(start, token.size()) != token) return false;
    position_ = start + token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (take(token)) return;
    skip_space();
    const std::string_view rest = text_.substr(position_);
    refuse(fmt::format("expected '{}', found {}", token,
                       rest.empty() ? "the end" : fmt::format("'{}'", rest)));
  }

  std::string_view text_;
  const Bindings& bindings_;
  std::size_t position_ = 0;
  int depth_ = 0;
  bool active_ = true;
};

}  // namespace

ExpressionValue evaluate(std::string_view expression, const Bindings& bindings) {
  return Evaluator(expression, bindings).run();
}

std::string to_text(const ExpressionValue& value) {
  struct Text {
    std::string operator()(std::int64_t integer) const { return fmt::format("{}", integer); }
    std::string operator()(double decimal) const { return fmt::format("{}", decimal); }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(const std::string& string) const { return string; }
  };
  return std::visit(Text{}, value);
}

}  // namespace gradcts
