#include "reference_engine/distributed/buckets.h"

#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

std::vector<Tensor> tensors_of(std::initializer_list<std::int64_t> sizes) {
  std::vector<Tensor> tensors;
  for (const std::int64_t size : sizes) tensors.push_back(zeros({size}, ScalarType::float32));
  return tensors;
}

TEST(Buckets, RED_1_are_filled_in_order_and_the_first_limits_come_first) {
  const auto tensors = tensors_of({1, 1, 1, 1, 1, 1});
  EXPECT_THAT(assign_buckets(tensors, std::vector<std::size_t>{4, 8}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
}

TEST(Buckets, RED_1_a_bucket_is_full_at_its_limit_and_not_only_beyond) {
  EXPECT_THAT(assign_buckets(tensors_of({1, 2, 1}), std::vector<std::size_t>{12}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
}

TEST(Buckets, RED_1_types_and_devices_have_buckets_and_limits_of_their_own) {
  auto tensors = tensors_of({1, 1, 1});
  tensors.push_back(zeros({1}, ScalarType::float64));
  tensors.push_back(zeros({1}, ScalarType::float64));
  tensors.push_back(zeros({1}, ScalarType::float32));
  tensors.push_back(zeros({1}, ScalarType::float32, {DeviceType::sim, 0}));
  EXPECT_THAT(assign_buckets(tensors, std::vector<std::size_t>{4, 100}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 5), ElementsAre(3), ElementsAre(4),
                          ElementsAre(6)));
}

TEST(Buckets, RED_1_another_order_is_gone_by) {
  const std::vector<std::size_t> order = {2, 0, 1};
  EXPECT_THAT(assign_buckets(tensors_of({1, 1, 1}), std::vector<std::size_t>{8}, order),
              ElementsAre(ElementsAre(2, 0), ElementsAre(1)));
}

std::string refused(const BucketAssignment& buckets, absl::Span<const Tensor> tensors) {
  try {
    check_buckets(buckets, tensors);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), ErrorCategory::reducer);
    return error.what();
  }
  return "";
}

TEST(Buckets, RED_1_invalid_ones_are_refused_in_words) {
  auto tensors = tensors_of({1, 1});
  tensors.push_back(zeros({1}, ScalarType::float64));
  EXPECT_EQ(refused({{0, 1}, {2}}, tensors), "");
  EXPECT_EQ(refused({{0, 1}, {}, {2}}, tensors), "bucket 1 is empty");
  EXPECT_EQ(refused({{0, 3}}, tensors), "bucket 0 lists parameter 3, but there are 3");
  EXPECT_EQ(refused({{0}, {1, 0}}, tensors), "parameter 0 is in bucket 0 and again in bucket 1");
  EXPECT_EQ(refused({{0}, {2}}, tensors), "parameter 1 is in no bucket");
  EXPECT_EQ(
      refused({{0, 1, 2}}, tensors),
      "a bucket has one type and one device, but in bucket 0 parameter 0 is float32[1] on cpu "
      "and parameter 2 is float64[1] on cpu");
}

}  // namespace
}  // namespace gradcts::reference
