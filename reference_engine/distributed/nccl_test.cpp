// The reducer over GPUs, with NCCL: one rank a GPU. Where there is no GPU every test is skipped and
// says so; those of several ranks where there is one.
#include <thread>

#include "reference_engine/device/cuda_devices.h"
#include "reference_engine/distributed/nccl_group.h"
#include "reference_engine/distributed/reducer.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds limit{30'000};

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string trouble = cuda_trouble();
    if (!trouble.empty()) GTEST_SKIP() << trouble;
    static const bool once = (use_cuda_devices(DeviceType::cuda, gpu_count() + 1), true);
    static_cast<void>(once);
  }

  // One device a GPU.
  static std::vector<Device> devices(int count = gpu_count()) {
    std::vector<Device> all;
    for (int i = 0; i < count; ++i) {
      all.push_back({DeviceType::cuda, static_cast<std::int16_t>(i)});
    }
    return all;
  }

  // What each rank says, the ranks side by side.
  using RankBody = std::function<std::string(ProcessGroupPointer seat, Device device)>;
  static std::vector<std::string> on_ranks(std::chrono::milliseconds limit, const RankBody& body) {
    auto seats = make_nccl_group(devices(), limit);
    std::vector<std::string> said(seats.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          said[rank] = body(std::move(seats[rank]), devices()[rank]);
        } catch (const std::exception& error) {
          said[rank] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return said;
  }

  static std::string in_words(const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) text += std::to_string(static_cast<int>(number)) + " ";
    return text;
  }
};

// Bucket by bucket, on streams that are late. The seeds are 2 on average.
TEST_F(Nccl, RED_3_GPUs_average_their_gradients) {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64, ScalarType::float16,
                                ScalarType::bfloat16, ScalarType::complex64}) {
    const auto said = on_ranks(limit, [type](const ProcessGroupPointer& seat, Device device) {
      const StreamGuard on(make_stream(device));
      const auto make = [&](std::int64_t size) {
        const Tensor made = full({size}, 1, type, device);
        set_requires_grad(made, true);
        return made;
      };
      const Tensor a = make(4), b = make(1), unused = make(1);
      Reducer reducer({{a, "a"}, {b, "b"}, {unused, "unused"}}, seat,
                      {.bucket_bytes = {1}, .find_unused = true});
      for (int step = 0; step < 3; ++step) {
        const Tensor y = add(scale(a, 2), b);
        reducer.prepare({y});
        spin_on(current_stream(device), 500);
        const double seed = seat->rank() == 0 ? seat->size() + 1 : 1;
        backward({y}, {full(y.shape(), seed, type, device)});
      }
      return in_words(gradient_values(a)) + "| " + in_words(gradient_values(b)) +
             (gradient(unused).defined() ? "| defined" : "");
    });
    EXPECT_THAT(said, Each(is_complex(type) ? "12 0 12 0 12 0 12 0 | 24 0 " : "12 12 12 12 | 24 "))
        << to_string(type);
  }
}

TEST_F(Nccl, RED_9_after_a_rank_gave_up_another_group_works) {
  const auto failed = on_ranks(limit, [](const ProcessGroupPointer& seat, Device device) {
    const Tensor contents = ones({1}, ScalarType::float32, device);
    if (seat->rank() == 0) seat->give_up("a node failed");
    return message_of([&] { seat->all_reduce(contents, "bucket 1 of 2")->wait(); });
  });
  EXPECT_THAT(failed, Each("bucket 1 of 2 cannot be reduced: rank 0 gave up: a node failed. Make "
                           "another group"));
  const auto sums = on_ranks(limit, [](const ProcessGroupPointer& seat, Device device) {
    const Tensor contents = ones({1}, ScalarType::float32, device);
    seat->all_reduce(contents, "bucket 1 of 2")->wait();
    return in_words(to_values(contents));
  });
  EXPECT_THAT(sums, Each(std::to_string(gpu_count()) + " "));
}

TEST_F(Nccl, RED_11_a_rank_that_leaves_or_does_not_come_is_an_error) {
  if (gpu_count() < 2) GTEST_SKIP() << "one GPU: several ranks need several";
  const auto left = on_ranks(limit, [](ProcessGroupPointer seat, Device device) -> std::string {
    if (seat->rank() == 0) return "";
    return message_of(
        [&] { seat->all_reduce(ones({1}, ScalarType::float32, device), "bucket 0 of 1")->wait(); });
  });
  EXPECT_THAT(left[1], HasSubstr("rank 0 has left the group"));
  const auto late = std::chrono::milliseconds(2000);
  ProcessGroupPointer absent;
  const auto said = on_ranks(late, [&](ProcessGroupPointer seat, Device device) -> std::string {
    if (seat->rank() == 0) return absent = std::move(seat), "";
    return message_of(
        [&] { seat->all_reduce(ones({1}, ScalarType::float32, device), "bucket 0 of 1")->wait(); });
  });
  EXPECT_THAT(said[1], AllOf(HasSubstr("bucket 0 of 1"), HasSubstr("within 2000 ms")));
}

TEST_F(Nccl, what_it_lacks_is_refused_in_words) {
  auto shared = devices();
  shared.push_back({DeviceType::cuda, static_cast<std::int16_t>(gpu_count())});
  EXPECT_THAT(message_of([&] { make_nccl_group(shared, limit); }),
              AllOf(HasSubstr("cuda:0 and cuda:"), HasSubstr("lie on one GPU")));
  const auto said = on_ranks(limit, [](const ProcessGroupPointer& seat, Device) {
    return message_of([&] { seat->all_reduce(ones({1}), "bucket 0"); });
  });
  EXPECT_THAT(said, Each(AllOf(HasSubstr("bucket 0, float64[1] on cpu"), HasSubstr("NCCL"))));
}

}  // namespace
}  // namespace gradcts::reference
