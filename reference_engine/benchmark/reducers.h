// Two ranks that train one model, for the reducer's benchmark: the same model on each contestant.
//
// The model is a chain: a node for each parameter, which passes on what it gets and gives the
// parameter ones. So gradients come one after another, in the order of the parameters, and nothing
// but the reducer takes time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gradcts::reference::benchmark {

inline constexpr int rank_count = 2;
inline constexpr std::size_t first_bucket_bytes = std::size_t{1} << 20;
inline constexpr std::size_t bucket_bytes = std::size_t{25} << 20;

struct ModelShape {
  std::size_t parameters;
  std::int64_t each;  // elements, of 4 bytes

  std::int64_t elements() const { return static_cast<std::int64_t>(parameters) * each; }
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // One synchronised pass, on all ranks alike: the time from the moment the last gradient is handed
  // to its leaf until backward() returns, when all averages are there.
  virtual std::chrono::nanoseconds step() = 0;

  // Another one: the bytes that this rank copied between gradients and buckets.
  virtual std::int64_t bytes_copied_in_a_step() = 0;

  // An element of the last parameter's gradient, which is the average of the ranks' sums so far.
  virtual double average() = 0;
};

// The ranks find each other in `folder`, which nothing else uses. With `as_views` gradients are
// views of the buckets.
std::unique_ptr<Trainer> make_reference_trainer(const ModelShape& shape, int rank,
                                                const std::string& folder, bool as_views);

// c10d::Reducer, what DistributedDataParallel is made of. Null where libtorch was not found.
std::unique_ptr<Trainer> make_libtorch_trainer(const ModelShape& shape, int rank,
                                               const std::string& folder, bool as_views);

}  // namespace gradcts::reference::benchmark
