// Passes over real GPUs: a node's kernel first spins for a random time, so that whoever should have
// waited for it and did not reads a wrong number. Where there is no GPU, every test is skipped and
// says so.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "reference_engine/device/basic_runtime.h"
#include "reference_engine/device/cuda_devices.h"
#include "reference_engine/engine/announced_gradient.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

constexpr Device first{DeviceType::cuda, 0};
constexpr Device second{DeviceType::cuda, 1};

// Elements of a tensor: enough for several blocks of a kernel.
constexpr std::int64_t size = 2048;
constexpr int longest_spin = 150;  // microseconds

// A number in [0, limit), another one each time; safe from any thread.
int random_below(int limit) {
  static std::atomic<std::uint64_t> calls{1};
  std::uint64_t x = calls++ * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int>((x ^ (x >> 31)) % static_cast<std::uint64_t>(limit));
}

void spin_here(Device device) {
  spin_on(current_stream(device), random_below(longest_spin));
}

Tensor filled(double value, Device device = first) {
  return full({size}, value, ScalarType::float64, device);
}

// Written late on the current stream.
Tensor late(double value, Device device = first) {
  Tensor tensor = filled(-1, device);  // what a reader that comes too early is to see
  spin_here(device);
  fill_(tensor, value);
  return tensor;
}

Tensor leaf_on(Stream stream, double value = 1) {
  const StreamGuard guard(stream);
  Tensor x = filled(value, stream.device);
  set_requires_grad(x, true);
  accumulator(x);  // whose stream is this one
  return x;
}

// Runs on the stream: the copy of x there, whose node multiplies the gradient by the factor, late.
Tensor late_scale(const Tensor& x, double factor, Stream stream) {
  const StreamGuard guard(stream);
  const Device device = stream.device;
  return custom({x}, [factor, device](Gradients g) {
    spin_here(device);
    return Gradients{scale(g[0], factor)};
  });
}

void synchronize_all() {
  synchronize(first);
  synchronize(second);
}

// The one value that all elements have, read on the current stream; or NaN.
double value_of(const Tensor& tensor) {
  const Values all = values(tensor);
  const bool is_one =
      !all.empty() && std::all_of(all.begin(), all.end(), [&](double x) { return x == all[0]; });
  return is_one ? all[0] : std::numeric_limits<double>::quiet_NaN();
}

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string trouble = cuda_trouble();
    if (!trouble.empty()) GTEST_SKIP() << trouble;
    static const bool is_ready =
        (use_cuda_devices(DeviceType::cuda, std::max(2, gpu_count())), true);
    ASSERT_TRUE(is_ready);
    static const std::vector<Stream> made = [] {
      std::vector<Stream> six;
      for (int i = 0; i < 6; ++i) six.push_back(make_stream(first));
      return six;
    }();
    streams = made;
  }
  void TearDown() override {
    if (streams.empty()) return;
    synchronize_all();
  }

  Stream any_stream() const {
    return streams[static_cast<std::size_t>(random_below(static_cast<int>(streams.size())))];
  }

  std::vector<Stream> streams;  // of the first device
};

// ---- The device itself -------------------------------------------------------------------------

TEST_F(Cuda, a_reader_without_a_wait_comes_too_early_and_with_one_it_does_not) {
  const Stream writer = streams[0];
  const StreamGuard reader(streams[1]);
  int early = 0;
  for (int round = 1; round <= 50; ++round) {
    Tensor x;
    {
      const StreamGuard guard(writer);
      x = filled(0);
      synchronize(writer);
      spin_on(writer, 300);
      fill_(x, round);
    }
    early += value_of(x) == 0;
    wait_stream(streams[1], writer);
    EXPECT_EQ(value_of(x), round);
  }
  EXPECT_GT(early, 0);  // else this program would find no missing wait at all
}

template <typename T>
void same_bits(const Tensor& on_gpu, const Tensor& on_cpu, const char* what) {
  const Tensor moved = to_device(on_gpu, cpu);
  const auto* a = static_cast<const T*>(moved.storage().data());
  const auto* b = static_cast<const T*>(on_cpu.storage().data());
  for (std::int64_t i = 0; i < on_cpu.element_count(); ++i) {
    ASSERT_TRUE(std::memcmp(a + i, b + i, sizeof(T)) == 0 || (a[i] != a[i] && b[i] != b[i]))
        << what << ", element " << i << ": " << a[i] << " where the CPU has " << b[i];
  }
}

// Numbers of all sizes, with signed zeros, infinities and numbers below the normal ones.
Tensor numbers(std::int64_t count, ScalarType type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double sign = random() % 2 ? 1 : -1;
    const double mantissa = static_cast<double>(random() % 16777216) / 16777216;
    const int exponent = static_cast<int>(random() % 340) - 170;
    values.push_back(i % 17 == 0 ? sign * 0 : sign * std::ldexp(mantissa, exponent));
  }
  return from_values(values, {count}, type);
}

template <typename T>
void kernels_agree(ScalarType type) {
  for (const std::int64_t count : {1, 3, 1000, 300000}) {
    const Tensor a = numbers(count, type, 1);
    const Tensor b = numbers(count, type, 2);
    const Tensor x = to_device(a, first);
    const Tensor y = to_device(b, first);
    same_bits<T>(x, a, "moved");
    same_bits<T>(clone(x), a, "copied");
    same_bits<T>(add(x, y), add(a, b), "a + b");
    same_bits<T>(sub(x, y), sub(a, b), "a - b");
    same_bits<T>(mul(x, y), mul(a, b), "a * b");
    same_bits<T>(scale(x, 0.1), scale(a, 0.1), "0.1 * a");
    same_bits<T>(add_scalar(x, 0.1), add_scalar(a, 0.1), "a + 0.1");
    same_bits<T>(full({count}, 0.1, type, first), full({count}, 0.1, type), "0.1");
    add_(x, y);
    add_(a, b);
    same_bits<T>(x, a, "a += b");
  }
}

TEST_F(Cuda, kernels_give_the_bits_of_the_cpu) {
  const StreamGuard guard(streams[0]);
  kernels_agree<float>(ScalarType::float32);
  kernels_agree<double>(ScalarType::float64);
}

TEST_F(Cuda, operations_without_a_kernel_run_on_the_stream_too) {
  const StreamGuard guard(streams[0]);
  const Tensor a = from_values({1, 2, 3, 4, 5, 6}, {2, 3}, ScalarType::bfloat16);
  for (int round = 0; round < 20; ++round) {
    Tensor x = to_device(a, first);
    spin_here(first);
    x = add(x, x);                                     // a host function: half types have no kernel
    x = cast(x, ScalarType::float32);                  // another
    x = scale(x, 0.5);                                 // a kernel
    const Tensor product = mm(x, transpose(x, 0, 1));  // a host function that reads with strides
    EXPECT_THAT(values(add(product, product)), ElementsAre(28, 64, 64, 154));
  }
}

TEST_F(Cuda, memory_that_is_freed_waits_for_registered_readers_and_for_no_other) {
  const Stream owner = streams[0];
  const Stream reader = streams[1];
  int overwritten = 0;
  for (int round = 1; round <= 60; ++round) {
    const bool is_registered = round % 2 == 0;
    Tensor seen;
    {
      Tensor x;
      {
        const StreamGuard guard(owner);
        x = filled(round);
        synchronize(owner);
      }
      const StreamGuard guard(reader);
      spin_on(reader, 300);
      seen = clone(x);
      if (is_registered) register_use(x, reader);
    }
    const StreamGuard guard(owner);
    const Tensor next = filled(-round);  // gets the same block
    synchronize(owner);
    const StreamGuard back(reader);
    if (is_registered) {
      EXPECT_EQ(value_of(seen), round);
    } else {
      overwritten += value_of(seen) != round;
    }
  }
  EXPECT_GT(overwritten, 0);  // else the memory is not used again soon enough to notice
}

// ---- Waits -------------------------------------------------------------------------------------

TEST_F(Cuda, STREAM_1_2_every_combination_of_streams_of_a_chain) {
  const std::vector<Stream> three = {Stream{first}, streams[0], streams[1]};
  double round = 1;
  for (int repeat = 0; repeat < 4; ++repeat) {
    for (const Stream of_leaf : three) {
      for (const Stream low : three) {
        for (const Stream high : three) {
          for (const Stream callers : three) {
            const Tensor x = leaf_on(of_leaf);
            const Tensor out = late_scale(late_scale(x, 2, low), 3, high);
            synchronize_all();
            const StreamGuard guard(callers);
            round += 1;
            backward({out}, {late(round)}, {.keep_graph = true});
            EXPECT_EQ(current_stream(first), callers);
            EXPECT_EQ(value_of(gradient(x)), 6 * round);
            round += 1;
            EXPECT_EQ(value_of(grad({out}, {late(round)}, {x})[0]), 6 * round);
          }
        }
      }
    }
  }
}

TEST_F(Cuda, STREAM_2_a_slot_is_fed_from_many_streams) {
  for (int round = 1; round <= 150; ++round) {
    const Tensor x = leaf_on(any_stream());
    const Tensor shared = late_scale(x, 1, any_stream());
    std::vector<Tensor> roots;
    std::vector<Tensor> seeds;
    const int count = 2 + random_below(6);
    for (int i = 0; i < count; ++i) {
      roots.push_back(late_scale(shared, std::ldexp(1, 4 * i), any_stream()));
    }
    synchronize_all();
    const StreamGuard guard(any_stream());
    for (int i = 0; i < count; ++i) seeds.push_back(filled(round));
    backward(roots, seeds);
    EXPECT_EQ(value_of(gradient(x)), round * (std::ldexp(1, 4 * count) - 1) / 15);
  }
}

TEST_F(Cuda, STREAM_4_seeds_that_are_written_late_on_a_foreign_stream) {
  for (int round = 1; round <= 100; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor a = late_scale(x, 2, streams[0]);
    const Tensor b = late_scale(x, 3, streams[2]);
    synchronize_all();
    const StreamGuard guard(streams[1]);
    const Tensor u = late(round);
    const Tensor v = late(1000 * round);
    backward({a, b}, {u, v});
    EXPECT_EQ(value_of(gradient(x)), 3002.0 * round);
  }
}

TEST_F(Cuda, STREAM_5_the_callers_stream_waits_for_leaves_of_other_streams) {
  for (int round = 1; round <= 100; ++round) {
    std::vector<Tensor> leaves;
    std::vector<Tensor> outs;
    std::vector<Tensor> seeds;
    const StreamGuard guard(streams[5]);
    for (int i = 0; i < 5; ++i) {
      const Stream stream = streams[static_cast<std::size_t>(i)];
      leaves.push_back(leaf_on(stream));
      set_gradient(leaves.back(), filled(-1));
      outs.push_back(late_scale(leaves.back(), i + 2, stream));
      seeds.push_back(filled(round));
    }
    synchronize_all();
    backward(outs, seeds);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(value_of(gradient(leaves[static_cast<std::size_t>(i)])), (i + 2) * round - 1);
    }
  }
}

TEST_F(Cuda, STREAM_5_the_callers_stream_waits_for_captures) {
  for (int round = 1; round <= 100; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor mid = late_scale(x, 7, streams[1]);
    const Tensor out = late_scale(mid, 5, streams[2]);
    synchronize_all();
    const StreamGuard guard(streams[3]);
    const std::vector<Tensor> got = grad({out}, {filled(round)}, {x, mid});
    EXPECT_EQ(value_of(got[1]), 5 * round);
    EXPECT_EQ(value_of(got[0]), 35 * round);
  }
}

TEST_F(Cuda, STREAM_3_a_gradient_is_not_overwritten_while_another_stream_reads_it) {
  for (int round = 1; round <= 100; ++round) {
    const Stream writer = streams[0];
    const Stream slow = streams[1];
    const Tensor x = leaf_on(slow);
    const Tensor y = leaf_on(writer);
    // By their numbers: `top` runs first, then `reads`, whose input is freed while its kernel still
    // waits to run, then the chain, which asks for such a block at every step.
    Tensor chain = y;
    for (int i = 0; i < 4; ++i) chain = late_scale(chain, 2, writer);
    Tensor reads;
    {
      const StreamGuard guard(slow);
      reads = custom({x}, [slow](Gradients g) {
        spin_on(slow, 1500);
        return Gradients{scale(g[0], 3)};
      });
    }
    Tensor top;
    {
      const StreamGuard guard(writer);
      top = custom({reads, chain}, [](Gradients g) {
        return Gradients{scale(g[0], 5), scale(g[0], 7)};
      });
    }
    synchronize_all();
    const StreamGuard guard(writer);
    backward({top}, {filled(round)});
    EXPECT_EQ(value_of(gradient(x)), 15 * round);
    EXPECT_EQ(value_of(gradient(y)), 112 * round);
  }
}

TEST_F(Cuda, STREAM_3_a_captured_gradient_is_kept_for_the_callers_stream) {
  for (int round = 1; round <= 100; ++round) {
    const Stream writer = streams[0];
    const Tensor x = leaf_on(writer);
    const Tensor out = late_scale(late_scale(x, 2, writer), 3, writer);
    synchronize_all();
    const StreamGuard callers(streams[1]);
    Tensor copy;
    {
      const Tensor got = grad({out}, {filled(round)}, {x})[0];
      spin_on(streams[1], 300);
      copy = clone(got);
    }
    const StreamGuard guard(writer);
    const Tensor next = filled(-round);  // gets its memory
    synchronize(writer);
    const StreamGuard back(streams[1]);
    EXPECT_EQ(value_of(copy), 6 * round);
  }
}

// A sum is not made in a buffer that another stream has still to read.
TEST_F(Cuda, STREAM_2_ACC_2_a_sum_under_a_reader) {
  for (int round = 1; round <= 100; ++round) {
    const Stream summing = streams[2];
    const Tensor a = leaf_on(summing);
    const Tensor b = leaf_on(summing);
    const Tensor last = late_scale(a, 2, summing);
    const Tensor sum = late_scale(b, 3, summing);
    Tensor reads;
    {
      const StreamGuard guard(streams[1]);
      reads = custom({last}, [&](Gradients g) {
        spin_on(streams[1], 500);
        return Gradients{scale(g[0], 5)};
      });
    }
    const Tensor other = late_scale(late_scale(sum, 7, summing), 1, summing);
    synchronize_all();
    Tensor out;
    {
      const StreamGuard guard(streams[0]);
      out = late_scale(add(reads, sum), 1, streams[0]);
    }
    synchronize_all();
    const StreamGuard guard(streams[3]);
    backward({out, other}, {filled(round), filled(1)});
    EXPECT_EQ(value_of(gradient(a)), 10 * round);
    EXPECT_EQ(value_of(gradient(b)), 3 * (round + 7));
  }
}

TEST_F(Cuda, STREAM_7_hooks_and_callbacks_see_what_was_written) {
  for (int round = 1; round <= 60; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor mid = late_scale(x, 2, streams[1]);
    const Tensor out = late_scale(mid, 3, streams[2]);
    synchronize_all();
    std::vector<double> seen;
    add_tensor_hook(mid, [&](const Tensor& g) {
      seen.push_back(value_of(g));
      queue_callback([&] { seen.push_back(value_of(gradient(x))); });
      return std::nullopt;
    });
    const StreamGuard guard(streams[3]);
    backward({out}, {late(round)});
    EXPECT_THAT(seen, ElementsAre(3 * round, 6 * round));
  }
}

TEST_F(Cuda, STREAM_8_a_gradient_that_another_thread_delivers_late) {
  for (int round = 1; round <= 60; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor y = late_scale(x, 2, streams[0]);
    synchronize_all();
    const auto announced = std::make_shared<AnnouncedGradient>(gradient_edge(y));
    std::thread transport([&] {
      const StreamGuard side(streams[4]);
      announced->deliver(late(round));
    });
    const StreamGuard guard(streams[0]);
    backward({}, {}, {.announced = {announced}});
    transport.join();
    EXPECT_EQ(value_of(gradient(x)), 2 * round);
  }
}

TEST_F(Cuda, STREAM_6_no_event_in_a_graph_on_one_stream) {
  const Stream only = streams[0];
  const Tensor x = leaf_on(only);
  Tensor y = x;
  for (int i = 0; i < 50; ++i) y = late_scale(y, 1, only);
  const StreamGuard guard(only);
  const Tensor seed = filled(3);
  const StreamCounts before = stream_counts(DeviceType::cuda);
  backward({y}, {seed});
  const StreamCounts after = stream_counts(DeviceType::cuda);
  EXPECT_EQ(after.events_recorded, before.events_recorded);
  EXPECT_EQ(after.waits, before.waits);
  EXPECT_EQ(value_of(gradient(x)), 3);
}

TEST_F(Cuda, STREAM_6_no_wait_for_a_leaf_that_got_nothing) {
  const Stream only = streams[0];
  const Tensor x = leaf_on(only);
  const Tensor y = leaf_on(streams[1]);
  synchronize_all();
  const StreamGuard guard(only);
  const Tensor out = custom({x, y}, [](Gradients g) { return Gradients{g[0], Tensor()}; });
  const Tensor seed = filled(3);
  const StreamCounts before = stream_counts(DeviceType::cuda);
  backward({out}, {seed});
  EXPECT_EQ(stream_counts(DeviceType::cuda).events_recorded, before.events_recorded);
  EXPECT_EQ(value_of(gradient(x)), 3);
}

// ---- Several devices ---------------------------------------------------------------------------

TEST_F(Cuda, DEV_1_STREAM_2_a_pass_over_two_devices_and_the_cpu) {
  static const Stream elsewhere = make_stream(second);
  for (int round = 1; round <= 60; ++round) {
    const StreamGuard on_second(any_stream().id % 2 ? elsewhere : Stream{second});
    const StreamGuard on_first(any_stream());
    const Tensor x = leaf_on(any_stream());
    const Tensor z = leaf({1, 2});
    const Tensor near = late_scale(x, 2, any_stream());
    synchronize_all();
    const Tensor far = late_scale(to_device(near, second), 3, current_stream(second));
    synchronize_all();
    const Tensor out = late_scale(to_device(far, first), 5, any_stream());
    synchronize_all();
    backward({out, scale(z, round)}, {late(round), vector_of({1, 1})});
    EXPECT_EQ(value_of(gradient(x)), 30 * round);
    EXPECT_THAT(gradient_values(z), ElementsAre(round, round));
  }
}

TEST_F(Cuda, STREAM_2_a_copy_between_devices_waits_for_its_source) {
  for (int round = 1; round <= 50; ++round) {
    const StreamGuard writer(streams[0]);
    const Tensor copy = to_device(late(round), second);
    EXPECT_EQ(value_of(copy), round);
  }
}

TEST_F(Cuda, STREAM_3_the_source_of_a_copy_between_devices_is_kept) {
  // The stream that copies waits for the copy. The memory belongs to another one, which does not.
  for (int round = 1; round <= 50; ++round) {
    const StreamGuard writer(streams[0]);
    Tensor source = filled(round);
    Tensor copy;
    {
      const StreamGuard copier(streams[1]);
      wait_stream(streams[1], streams[0]);
      spin_on(current_stream(second), 300);
      copy = to_device(source, second);
    }
    source = Tensor();  // freed long before the copy is made
    const Tensor next = filled(-round);
    synchronize(streams[0]);
    EXPECT_EQ(value_of(copy), round);
  }
}

// ---- Threads -----------------------------------------------------------------------------------

TEST_F(Cuda, LEAF_many_callers_add_into_one_leaf) {
  constexpr int callers = 4;
  constexpr int passes = 40;
  const Tensor x = leaf_on(streams[5]);
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      const StreamGuard guard(streams[static_cast<std::size_t>(i)]);
      for (int pass = 0; pass < passes; ++pass) {
        const Tensor out = late_scale(x, i + 1, streams[static_cast<std::size_t>(i)]);
        backward({out}, {late(pass)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronize_all();
  EXPECT_EQ(value_of(gradient(x)), (callers * (callers + 1) / 2) * (passes * (passes - 1) / 2));
}

TEST_F(Cuda, REENT_a_pass_inside_a_node_on_another_stream) {
  for (int round = 1; round <= 60; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor y = leaf_on(streams[1]);
    const Tensor inner = late_scale(y, 2, streams[2]);
    synchronize_all();
    Tensor out;
    {
      const StreamGuard guard(streams[3]);
      out = custom({x}, [&](Gradients g) {
        spin_here(first);
        const Tensor result = grad({inner}, {g[0]}, {y}, {.keep_graph = true})[0];
        return Gradients{add(result, g[0])};
      });
      synchronize_all();
    }
    const StreamGuard guard(streams[4]);
    backward({out}, {late(round)});
    EXPECT_EQ(value_of(gradient(x)), 3 * round);
  }
}

TEST_F(Cuda, ERR_a_failed_pass_leaves_the_next_one_right) {
  for (int round = 1; round <= 40; ++round) {
    const Tensor x = leaf_on(streams[0]);
    const Tensor good = late_scale(x, 2, streams[1]);
    Tensor bad;
    {
      const StreamGuard guard(streams[2]);
      bad = custom({good}, [](Gradients) -> Gradients {
        spin_here(first);
        throw 5;
      });
    }
    synchronize_all();
    const StreamGuard guard(streams[3]);
    EXPECT_THROW(backward({good, bad}, {late(round), late(round)}, {.keep_graph = true}), int);
    set_gradient(x, Tensor());
    backward({good}, {late(round)});
    EXPECT_EQ(value_of(gradient(x)), 2 * round);
  }
}

// ---- Same result -------------------------------------------------------------------------------

// A random graph over three leaves, in which sums are rounded: its gradients are the same bits in
// every run and on every device.
class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, Device device, const std::vector<Stream>& streams)
      : random_(seed), device_(device), streams_(streams) {
    for (int i = 0; i < 3; ++i) {
      const StreamGuard guard(stream());
      Tensor x = element_values();
      set_requires_grad(x, true);
      accumulator(x);
      leaves_.push_back(x);
      values_.push_back(x);
    }
    for (int i = 0; i < 14; ++i) {
      const StreamGuard guard(stream());
      const Tensor a = values_[random_() % values_.size()];
      const Tensor b = values_[random_() % values_.size()];
      synchronize(device_);
      values_.push_back(node(random_() % 4, a, b));
    }
    synchronize(device_);
  }

  // The bits of the leaves' gradients, read on the current stream.
  std::vector<std::uint32_t> gradients() {
    std::vector<Tensor> roots(values_.end() - 3, values_.end());
    std::vector<Tensor> seeds;
    for (int i = 0; i < 3; ++i) {
      seeds.push_back(scale(ones({64}, ScalarType::float32, device_), 1 + i / 3.0));
    }
    std::vector<std::uint32_t> bits;
    const std::vector<Tensor> got =
        grad(roots, seeds, leaves_, {.keep_graph = true, .materialise_unused = true});
    for (const Tensor& gradient : got) {
      for (const double value : values(gradient)) {
        bits.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
      }
    }
    return bits;
  }

 private:
  Stream stream() { return streams_[random_() % streams_.size()]; }

  Tensor element_values() {
    std::vector<double> numbers;
    for (int i = 0; i < 64; ++i) {
      numbers.push_back(0.5 + static_cast<double>(random_() % 65536) / 65536);
    }
    return vector_of(numbers, ScalarType::float32, device_);
  }

  Tensor node(std::uint64_t kind, const Tensor& a, const Tensor& b) {
    if (kind == 0) return add(a, b);
    if (kind == 1) return mul(a, scale(b, 0.7));
    if (kind == 2) return scale(a, 1.1);
    const Device device = device_;
    return custom({a}, [device](Gradients g) {
      if (device.type == DeviceType::cuda) spin_here(device);
      return Gradients{scale(g[0], 0.9)};
    });
  }

  std::mt19937_64 random_;
  const Device device_;
  const std::vector<Stream> streams_;
  std::vector<Tensor> leaves_;
  std::vector<Tensor> values_;
};

TEST_F(Cuda, DET_random_graphs_give_the_bits_of_the_simulated_device) {
  std::vector<Stream> simulated;
  for (std::size_t i = 0; i < streams.size(); ++i) simulated.push_back(make_stream(sim0));
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const StreamGuard guard(streams[0]);
    const StreamGuard simulated_guard(simulated[0]);
    const auto expected = RandomGraph(seed, sim0, simulated).gradients();
    EXPECT_EQ(RandomGraph(seed, first, streams).gradients(), expected) << "graph " << seed;
  }
}

TEST_F(Cuda, DET_a_thousand_repeats_give_the_same_bits) {
  const StreamGuard guard(streams[0]);
  RandomGraph graph(3, first, streams);
  const auto expected = graph.gradients();
  for (int repeat = 0; repeat < 1000; ++repeat) ASSERT_EQ(graph.gradients(), expected) << repeat;
}

}  // namespace
}  // namespace gradcts::reference
