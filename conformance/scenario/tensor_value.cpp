#include "conformance/scenario/tensor_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "conformance/scenario/words.h"

namespace gradcts {
namespace {

bool same_number(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

std::int64_t TensorValue::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

TensorValue TensorValue::scalar(double value, ScalarType type) {
  return filled({}, value, type);
}

TensorValue TensorValue::vector(std::initializer_list<double> values, ScalarType type) {
  TensorValue tensor;
  tensor.type = type;
  tensor.shape = {static_cast<std::int64_t>(values.size()) / (tensor.is_complex() ? 2 : 1)};
  tensor.values.assign(values);
  return tensor;
}

TensorValue TensorValue::filled(Shape shape, double value, ScalarType type) {
  TensorValue tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  const auto count = static_cast<std::size_t>(tensor.element_count());
  tensor.values.assign(tensor.is_complex() ? 2 * count : count, value);
  if (tensor.is_complex()) {
    for (std::size_t i = 1; i < tensor.values.size(); i += 2) tensor.values[i] = 0;
  }
  return tensor;
}

bool same_bits(const TensorValue& a, const TensorValue& b) {
  return a.type == b.type && a.device == b.device && a.layout == b.layout && a.shape == b.shape &&
         a.coordinates == b.coordinates &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    same_number);
}

std::string_view to_text(ScalarType type) {
  return word_of(scalar_type_words, type);
}
std::string_view to_text(DeviceType type) {
  return word_of(device_type_words, type);
}

std::string to_text(Device device) {
  if (device.type == DeviceType::cpu) return "cpu";
  return fmt::format("{}:{}", to_text(device.type), static_cast<int>(device.index));
}

std::optional<ScalarType> scalar_type_from_text(std::string_view text) {
  return enum_from_word<ScalarType>(scalar_type_words, text);
}

std::optional<Device> device_from_text(std::string_view text) {
  if (text == "cpu") return Device{};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto type = enum_from_word<DeviceType>(device_type_words, text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  const bool is_number = !digits.empty() && digits.front() >= '0' && digits.front() <= '9';
  if (!type || *type == DeviceType::cpu || !is_number) return std::nullopt;
  std::int8_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Device{*type, index};
}

std::string to_text(const TensorValue& value) {
  constexpr std::size_t most_shown = 16;
  std::string text = fmt::format("{} ({}) [", to_text(value.type), fmt::join(value.shape, ","));
  const std::size_t step = value.is_complex() ? 2 : 1;
  for (std::size_t i = 0; i + step <= value.values.size(); i += step) {
    if (i > 0) text += ' ';
    if (i >= most_shown * step) {
      text += "...";
      break;
    }
    text += fmt::format("{}", value.values[i]);
    if (step == 2) text += fmt::format("{:+}i", value.values[i + 1]);
  }
  text += ']';
  if (value.device.type != DeviceType::cpu) text += " on " + to_text(value.device);
  if (value.coordinates)
    text += fmt::format(" at [{}]", fmt::join(value.coordinates->indices, " "));
  return text;
}

}  // namespace gradcts
