#include "conformance/scenario/tensor_value.h"

#include <gtest/gtest.h>

#include <limits>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

TEST(TensorValue, ConvenientMakers) {
  EXPECT_EQ(TensorValue::scalar(3).element_count(), 1);
  EXPECT_EQ(TensorValue::vector({1, 2, 3}).shape, Shape{3});
  EXPECT_EQ(TensorValue::filled({2, 3}, 7).values.size(), 6U);
  const TensorValue complex = TensorValue::filled({2}, 7, ScalarType::complex64);
  EXPECT_EQ(std::vector<double>(complex.values.begin(), complex.values.end()),
            (std::vector<double>{7, 0, 7, 0}));
}

TEST(TensorValue, SameBitsTellsZerosApartAndKeepsNanEqual) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same_bits(TensorValue::scalar(nan), TensorValue::scalar(nan)));
  EXPECT_FALSE(same_bits(TensorValue::scalar(0.0), TensorValue::scalar(-0.0)));
  EXPECT_FALSE(same_bits(TensorValue::scalar(1), TensorValue::scalar(1, ScalarType::float32)));
  EXPECT_FALSE(same_bits(TensorValue::scalar(1), TensorValue::vector({1})));
}

TEST(TensorValue, SameBitsIgnoresStrides) {
  TensorValue expanded = TensorValue::vector({4, 4});
  expanded.strides = {0};
  EXPECT_TRUE(same_bits(expanded, TensorValue::vector({4, 4})));
}

TEST(TensorValue, DevicesAsText) {
  for (const auto* text : {"cpu", "sim:0", "other:12", "cuda:127"}) {
    ASSERT_TRUE(device_from_text(text).has_value()) << text;
    EXPECT_EQ(to_text(*device_from_text(text)), text);
  }
  for (const auto* text :
       {"", "cpu:0", "sim", "sim:", "sim:-1", "sim:128", "gpu:0", "sim:0x", "sim: 0"}) {
    EXPECT_FALSE(device_from_text(text).has_value()) << text;
  }
}

TEST(TensorValue, ReadsWellForPeople) {
  EXPECT_EQ(to_text(TensorValue::filled({2, 3}, 1, ScalarType::float32)),
            "float32 (2,3) [1 1 1 1 1 1]");
  EXPECT_EQ(to_text(TensorValue::scalar(-0.5)), "float64 () [-0.5]");
  EXPECT_EQ(to_text(TensorValue::vector({1, -2}, ScalarType::complex128)), "complex128 (1) [1-2i]");
  EXPECT_EQ(to_text(TensorValue::filled({20}, 1)),
            "float64 (20) [1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ...]");
}

// ------------------------------------------------------------------------------------------------
// Reading errors

std::string tensor_refusal(std::string_view text) {
  try {
    read_tensor(parse_json(text), "t");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TensorErrors, Kind) {
  EXPECT_EQ(tensor_refusal("null"),
            "t: expected a tensor (a number, a list of numbers or an object), found null");
  EXPECT_EQ(tensor_refusal("\"two\""), "t: expected a number, found the string \"two\"");
  EXPECT_EQ(tensor_refusal("[1, [2]]"), "t[1]: expected a number, found a list");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "valeus": [1, 2]})"),
            "t: unknown field 'valeus'; did you mean 'values'?");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2]})"), "t: expected one of 'values' and 'fill'");
  EXPECT_EQ(tensor_refusal(R"({"values": [2], "fill": 2})"),
            "t: expected one of 'values' and 'fill'");
  EXPECT_EQ(tensor_refusal(R"({"type": "float", "fill": 1})"),
            "t.type: unknown word 'float'; expected one of: float16, bfloat16, float32, float64, "
            "complex64, complex128, int64, boolean");
  EXPECT_EQ(tensor_refusal(R"({"device": "gpu:0", "fill": 1})"),
            "t.device: unknown device 'gpu:0'; expected cpu, sim:N, other:N or cuda:N");
}

TEST(TensorErrors, NumberOfValues) {
  EXPECT_EQ(tensor_refusal(R"({"shape": [2, 3], "values": [1, 2, 3, 4, 5]})"),
            "t: the shape (2,3) needs 6 values, found 5");
  EXPECT_EQ(tensor_refusal(R"({"shape": [], "values": []})"),
            "t: the shape () needs 1 values, found 0");
  EXPECT_EQ(tensor_refusal(R"({"shape": [-1], "fill": 1})"),
            "t.shape[0]: expected at least 0, found the number -1");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2.5], "fill": 1})"),
            "t.shape[0]: expected an integer, found the number 2.5");
  EXPECT_EQ(tensor_refusal(R"({"shape": [1000000, 1000000], "fill": 1})"),
            "t: the tensor has more than 2^26 elements");
}

TEST(TensorErrors, ExactValues) {
  EXPECT_EQ(tensor_refusal(R"({"type": "float32", "fill": 0.1})"),
            "t: 0.1 cannot be represented exactly in float32; write the exact value that is meant");
  EXPECT_EQ(tensor_refusal(R"({"type": "float16", "fill": 65504})"), "accepted");
  EXPECT_EQ(
      tensor_refusal(R"({"type": "float16", "fill": 65536})"),
      "t: 65536 cannot be represented exactly in float16; write the exact value that is meant");
  EXPECT_EQ(
      tensor_refusal(R"({"type": "bfloat16", "fill": 257})"),
      "t: 257 cannot be represented exactly in bfloat16; write the exact value that is meant");
  EXPECT_EQ(tensor_refusal(R"({"type": "int64", "fill": "inf"})"),
            "t: inf cannot be represented exactly in int64; write the exact value that is meant");
  EXPECT_EQ(tensor_refusal(R"({"type": "boolean", "fill": 2})"),
            "t: 2 cannot be represented exactly in boolean; write the exact value that is meant");
  EXPECT_EQ(tensor_refusal("9007199254740993"),
            "t: the integer 9007199254740993 is not exact as a double; write a nearby one that is");
}

TEST(TensorErrors, SmallestNumbersOfEachTypeAreExact) {
  EXPECT_EQ(tensor_refusal(R"({"type": "float32", "fill": 1.401298464324817e-45})"), "accepted");
  EXPECT_EQ(
      tensor_refusal(R"({"type": "float32", "fill": 7e-46})"),
      "t: 7e-46 cannot be represented exactly in float32; write the exact value that is meant");
  EXPECT_EQ(tensor_refusal(R"({"type": "float16", "fill": 5.960464477539063e-08})"), "accepted");
}

TEST(TensorErrors, Complex) {
  EXPECT_EQ(tensor_refusal(R"({"type": "complex64", "values": [1]})"),
            "t.values[0]: expected a list, found the number 1");
  EXPECT_EQ(tensor_refusal(R"({"type": "complex64", "values": [[1, 2, 3]]})"),
            "t.values[0]: expected [real, imaginary]");
}

TEST(TensorErrors, Strides) {
  EXPECT_EQ(tensor_refusal(R"({"shape": [2, 2], "strides": [1], "fill": 1})"),
            "t: 1 strides do not fit 2 dimensions");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "strides": [0], "values": [1, 2]})"),
            "t: elements that share memory through the strides have different values");
  EXPECT_EQ(tensor_refusal(
                R"({"shape": [2], "strides": [1], "sparse": {"indices": [[0]]}, "values": [1]})"),
            "t: a sparse tensor has no strides");
}

TEST(TensorErrors, Sparse) {
  EXPECT_EQ(tensor_refusal(R"({"sparse": {"indices": [[0]]}, "values": [1]})"),
            "t: field 'shape' is missing");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "sparse": {}, "values": [1]})"),
            "t.sparse: field 'indices' is missing");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "sparse": {"indices": []}, "values": [1]})"),
            "t.sparse.indices: expected one list for each sparse dimension");
  EXPECT_EQ(
      tensor_refusal(R"({"shape": [2, 2], "sparse": {"indices": [[0], [0, 1]]}, "values": [1]})"),
      "t.sparse.indices[1]: the rows of indices differ in length");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "sparse": {"indices": [[2]]}, "values": [1]})"),
            "t: index 2 is outside of dimension 0 of size 2");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "sparse": {"indices": [[0], [0]]}, "fill": 1})"),
            "t: more rows of sparse indices than dimensions");
  EXPECT_EQ(tensor_refusal(R"({"shape": [2], "sparse": {"indices": [[0], [0]]}, "values": [1]})"),
            "t: 2 sparse dimensions do not fit 1 dimensions");
  EXPECT_EQ(
      tensor_refusal(
          R"({"shape": [3], "sparse": {"indices": [[1, 0]], "coalesced": true}, "values": [1, 2]})"),
      "t: a coalesced tensor has its entries in ascending order, each once");
  EXPECT_EQ(tensor_refusal(R"({"shape": [3, 2], "sparse": {"indices": [[1]]}, "values": [1]})"),
            "t: the shape (3,2) needs 2 values, found 1");
}

}  // namespace
}  // namespace gradcts
