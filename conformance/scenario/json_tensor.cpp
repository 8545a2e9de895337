// Tensors in JSON: see docs/scenario.md, "Tensors".
#include <algorithm>
#include <bit>

#include "conformance/scenario/check_tensor.h"
#include "conformance/scenario/fields.h"
#include "conformance/scenario/json_parts.h"

namespace gradcts {
namespace {

// A list of one value repeated is written as `fill` from this length on.
constexpr std::size_t least_filled = 9;

void read_element(const Json& json, const Path& path, TensorValue& tensor) {
  if (!tensor.is_complex()) {
    tensor.values.push_back(read_number(json, path));
    return;
  }
  const auto& parts = read_list(json, path);
  if (parts.size() != 2) fail(path, "expected [real, imaginary]");
  tensor.values.push_back(read_number(parts[0], path[0]));
  tensor.values.push_back(read_number(parts[1], path[1]));
}

SparseCoordinates read_coordinates(const Json& json, const Path& path) {
  const Fields fields(json, path, {"indices", "coalesced"});
  SparseCoordinates coordinates;
  coordinates.coalesced = fields.boolean("coalesced", false);
  const auto& rows = read_list(fields.need("indices"), fields.at("indices"));
  if (rows.empty()) fail(fields.at("indices"), "expected one list for each sparse dimension");
  coordinates.sparse_dimensions = static_cast<std::int64_t>(rows.size());
  fields.each("indices", [&](const Json& row, const Path& row_path) {
    const auto& entries = read_list(row, row_path);
    if (entries.size() != rows[0].size()) fail(row_path, "the rows of indices differ in length");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      coordinates.indices.push_back(read_integer(entries[i], row_path[i]));
    }
  });
  return coordinates;
}

void read_fill(const Json& json, const Path& path, TensorValue& tensor) {
  TensorValue element;
  element.type = tensor.type;
  read_element(json, path, element);
  const auto count = static_cast<std::size_t>(stored_elements(tensor));
  for (std::size_t i = 0; i < count; ++i) {
    tensor.values.insert(tensor.values.end(), element.values.begin(), element.values.end());
  }
}

// What must hold before `fill` may allocate; check_tensor finds the rest.
void check_before_fill(const TensorValue& tensor, const Path& path) {
  check_size(tensor.shape, path);
  const auto dimensions = static_cast<std::int64_t>(tensor.shape.size());
  if (tensor.coordinates && tensor.coordinates->sparse_dimensions > dimensions) {
    fail(path, "more rows of sparse indices than dimensions");
  }
}

TensorValue read_full(const Json& json, const Path& path) {
  const Fields fields(json, path,
                      {"type", "device", "shape", "strides", "sparse", "values", "fill"});
  TensorValue tensor;
  if (const Json* type = fields.find("type")) {
    tensor.type = read_word<ScalarType>(*type, fields.at("type"), scalar_type_words);
  }
  if (const Json* device = fields.find("device")) {
    tensor.device = read_device(*device, fields.at("device"));
  }
  const Json* values = fields.find("values");
  const Json* fill = fields.find("fill");
  if ((values == nullptr) == (fill == nullptr)) fail(path, "expected one of 'values' and 'fill'");
  if (const Json* sparse = fields.find("sparse")) {
    tensor.layout = Layout::sparse;
    tensor.coordinates = read_coordinates(*sparse, fields.at("sparse"));
    fields.need("shape");
  }
  if (const Json* shape = fields.find("shape")) {
    tensor.shape = read_shape(*shape, fields.at("shape"));
  } else if (values != nullptr) {
    tensor.shape = {static_cast<std::int64_t>(read_list(*values, fields.at("values")).size())};
  }
  if (const Json* strides = fields.find("strides")) {
    tensor.strides = read_shape(*strides, fields.at("strides"));
  }
  fields.each("values", [&](const Json& value, const Path& value_path) {
    read_element(value, value_path, tensor);
  });
  if (fill != nullptr) {
    check_before_fill(tensor, path);
    read_fill(*fill, fields.at("fill"), tensor);
  }
  return tensor;
}

Json write_element(const TensorValue& tensor, std::size_t element) {
  if (!tensor.is_complex()) return write_number(tensor.values[element]);
  return Json::array(
      {write_number(tensor.values[2 * element]), write_number(tensor.values[2 * element + 1])});
}

std::size_t element_total(const TensorValue& tensor) {
  return tensor.values.size() / (tensor.is_complex() ? 2 : 1);
}

bool all_equal(const TensorValue& tensor) {
  const std::size_t width = tensor.is_complex() ? 2 : 1;
  for (std::size_t i = width; i < tensor.values.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(tensor.values[i]) !=
        std::bit_cast<std::uint64_t>(tensor.values[i - width])) {
      return false;
    }
  }
  return true;
}

Json write_values(const TensorValue& tensor) {
  Json values = Json::array();
  for (std::size_t i = 0; i < element_total(tensor); ++i)
    values.push_back(write_element(tensor, i));
  return values;
}

Json write_coordinates(const SparseCoordinates& coordinates) {
  Json rows = Json::array();
  const std::size_t entries =
      coordinates.indices.size() / static_cast<std::size_t>(coordinates.sparse_dimensions);
  for (std::int64_t row = 0; row < coordinates.sparse_dimensions; ++row) {
    const auto begin = coordinates.indices.begin() + row * static_cast<std::int64_t>(entries);
    rows.push_back(
        Json(std::vector<std::int64_t>(begin, begin + static_cast<std::int64_t>(entries))));
  }
  Json json{{"indices", std::move(rows)}};
  if (coordinates.coalesced) json["coalesced"] = true;
  return json;
}

}  // namespace

Device read_device(const Json& json, const Path& path) {
  const std::string& text = read_text(json, path);
  const auto device = device_from_text(text);
  if (!device) {
    fail(path, "unknown device '" + text + "'; expected cpu, sim:N, other:N or cuda:N");
  }
  return *device;
}

Shape read_shape(const Json& json, const Path& path) {
  Shape shape;
  const auto& sizes = read_list(json, path);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    shape.push_back(read_integer(sizes[i], path[i], 0));
  }
  return shape;
}

TensorValue read_tensor(const Json& json, const Path& path) {
  TensorValue tensor;
  if (json.is_object()) {
    tensor = read_full(json, path);
  } else if (json.is_array()) {
    const auto& values = json.get_ref<const Json::array_t&>();
    for (std::size_t i = 0; i < values.size(); ++i) read_element(values[i], path[i], tensor);
    tensor.shape = {static_cast<std::int64_t>(values.size())};
  } else if (json.is_number() || json.is_string()) {
    read_element(json, path, tensor);
  } else {
    fail(path,
         "expected a tensor (a number, a list of numbers or an object), found " + describe(json));
  }
  check_tensor(tensor, path);
  return tensor;
}

TensorValue read_tensor(const Json& json, const std::string& path) {
  const Path document;
  return path.empty() ? read_tensor(json, document) : read_tensor(json, Path(document, path));
}

Json write_tensor(const TensorValue& tensor) {
  const bool own_strides = has_own_strides(tensor);
  const bool filled = element_total(tensor) >= least_filled && all_equal(tensor);
  const bool plain = tensor.type == ScalarType::float64 && tensor.device == Device{} &&
                     tensor.layout == Layout::strided && !own_strides && !filled;
  if (plain && tensor.shape.empty()) return write_number(tensor.values[0]);
  if (plain && tensor.shape.size() == 1) return write_values(tensor);
  Json json = Json::object();
  if (tensor.type != ScalarType::float64) json["type"] = std::string(to_text(tensor.type));
  if (tensor.device != Device{}) json["device"] = to_text(tensor.device);
  json["shape"] = std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end());
  if (own_strides) {
    json["strides"] = std::vector<std::int64_t>(tensor.strides.begin(), tensor.strides.end());
  }
  if (tensor.coordinates) json["sparse"] = write_coordinates(*tensor.coordinates);
  if (filled) {
    json["fill"] = write_element(tensor, 0);
  } else {
    json["values"] = write_values(tensor);
  }
  return json;
}

}  // namespace gradcts
