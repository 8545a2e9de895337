#include "reference_engine/distributed/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reference_engine/error.h"

namespace gradcts::reference {
namespace {

using Key = std::pair<ScalarType, Device>;

Key key_of(const Tensor& tensor) {
  return {tensor.type(), tensor.device()};
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.element_count()) * element_size(tensor.type());
}

// A bucket that is being filled, of one type and device.
struct Filling {
  std::vector<std::size_t> tensors;
  std::size_t bytes = 0;
  std::size_t limit = 0;  // index of its limit
};

std::string number(const char* what, std::size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCategory::reducer, message);
}

}  // namespace

BucketAssignment assign_buckets(absl::Span<const Tensor> tensors,
                                absl::Span<const std::size_t> limits,
                                absl::Span<const std::size_t> order) {
  if (limits.empty()) refuse("buckets need at least one size limit");
  struct Placed {
    std::size_t first;  // place of its first tensor in the order
    std::vector<std::size_t> tensors;
  };
  std::vector<Placed> placed;
  std::map<Key, Filling> filling;
  std::map<Key, std::size_t> first;
  const auto close = [&](const Key& key, Filling& bucket) {
    placed.push_back({first[key], std::exchange(bucket.tensors, {})});
    bucket.bytes = 0;
    bucket.limit = std::min(bucket.limit + 1, limits.size() - 1);
  };
  for (std::size_t place = 0; place < tensors.size(); ++place) {
    const std::size_t index = order.empty() ? place : order[place];
    const Key key = key_of(tensors[index]);
    Filling& bucket = filling[key];
    if (bucket.tensors.empty()) first[key] = place;
    bucket.tensors.push_back(index);
    bucket.bytes += bytes_of(tensors[index]);
    if (bucket.bytes >= limits[bucket.limit]) close(key, bucket);
  }
  for (auto& [key, bucket] : filling) {
    if (!bucket.tensors.empty()) close(key, bucket);
  }
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return a.first < b.first; });
  BucketAssignment result;
  for (Placed& bucket : placed) result.push_back(std::move(bucket.tensors));
  return result;
}

void check_buckets(const BucketAssignment& buckets, absl::Span<const Tensor> tensors) {
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> bucket_of(tensors.size(), none);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (buckets[b].empty()) refuse(number("bucket", b) + " is empty");
    for (const std::size_t index : buckets[b]) {
      if (index >= tensors.size()) {
        refuse(number("bucket", b) + " lists " + number("parameter", index) + ", but there are " +
               std::to_string(tensors.size()));
      }
      if (bucket_of[index] != none) {
        refuse(number("parameter", index) + " is in " + number("bucket", bucket_of[index]) +
               " and again in " + number("bucket", b));
      }
      bucket_of[index] = b;
      const std::size_t first = buckets[b].front();
      if (key_of(tensors[index]) == key_of(tensors[first])) continue;
      refuse("a bucket has one type and one device, but in " + number("bucket", b) + " " +
             number("parameter", first) + " is " + describe(tensors[first]) + " and " +
             number("parameter", index) + " is " + describe(tensors[index]));
    }
  }
  const auto missing = std::find(bucket_of.begin(), bucket_of.end(), none);
  if (missing == bucket_of.end()) return;
  refuse(number("parameter", static_cast<std::size_t>(missing - bucket_of.begin())) +
         " is in no bucket");
}

}  // namespace gradcts::reference
