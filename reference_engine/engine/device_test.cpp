// Passes over simulated devices: threads, streams, order of sums.
#include <atomic>
#include <thread>

#include "reference_engine/device/simulated_runtime.h"
#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Device other0{DeviceType::other, 0};

TEST(Devices, DEV_1_nodes_run_on_the_thread_of_their_device) {
  Tensor x = leaf({2});
  std::thread::id on_host;
  std::thread::id on_device;
  Tensor a = custom({x}, [&](Gradients g) { return on_host = std::this_thread::get_id(), g; });
  Tensor b = custom({to_device(a, sim0)}, [&](Gradients g) {
    EXPECT_EQ(current_device(DeviceType::sim), sim0);
    return on_device = std::this_thread::get_id(), g;
  });
  backward({mul(b, b)});
  EXPECT_EQ(on_host, std::this_thread::get_id());
  EXPECT_NE(on_device, std::this_thread::get_id());
  EXPECT_THAT(gradient_values(x), ElementsAre(4));
}

TEST(Devices, DEV_2_threads_start_with_the_first_use_of_their_device) {
  Engine engine;
  const auto run_on = [&](Device device) {
    Tensor x = leaf({1}, ScalarType::float64, device);
    const Root root{gradient_edge(scale(x, 2)), ones({1}, ScalarType::float64, device)};
    engine.backward({&root, 1});
    EXPECT_THAT(gradient_values(x), ElementsAre(2));
  };
  run_on(cpu);
  EXPECT_EQ(engine.device_thread_count(), 0);
  run_on(sim1);
  run_on(sim1);
  EXPECT_EQ(engine.device_thread_count(), 1);
  run_on(sim0);
  EXPECT_EQ(engine.device_thread_count(), 2);
  engine.stop();
  EXPECT_EQ(engine.device_thread_count(), 0);
  EXPECT_EQ(category_of([&] { run_on(cpu); }), ErrorCategory::stopped);
}

TEST(Devices, DEV_4_the_callers_current_device_is_unchanged) {
  const DeviceGuard guard(sim1);
  Tensor x = leaf({1});
  backward({custom({x}, [](Gradients g) { return set_current_device(sim0), g; })});
  EXPECT_EQ(current_device(DeviceType::sim), sim1);
}

// A type of device of the test's own, with two devices, one of which can be told to refuse.
class MoodyRuntime : public SimulatedRuntime {
 public:
  MoodyRuntime() : SimulatedRuntime(DeviceType::cuda, 2) {}
  void check_usable(Device device) const override {
    if (device.index == 1 && refuses) throw std::runtime_error("out of order");
    SimulatedRuntime::check_usable(device);
  }
  static inline std::atomic<bool> refuses{false};
};

class OwnDevices : public ::testing::Test {
 protected:
  OwnDevices() {
    MoodyRuntime::refuses = false;
    static const auto runtime = std::make_shared<MoodyRuntime>();
    register_runtime(DeviceType::cuda, runtime);
  }

  // A pass over the CPU and the device.
  static double run_on(Engine& engine, Device device) {
    Tensor x = leaf({1});
    const Root root{gradient_edge(to_device(scale(to_device(x, device), 2), cpu)), vector_of({3})};
    engine.backward({&root, 1});
    return gradient_values(x)[0];
  }

  Engine engine_;
  const Device first_{DeviceType::cuda, 0};
  const Device second_{DeviceType::cuda, 1};
};

TEST_F(OwnDevices, DEV_5_a_type_registered_later_works_on_a_running_engine) {
  EXPECT_EQ(run_on(engine_, sim0), 6);
  register_runtime(DeviceType::cuda, std::make_shared<MoodyRuntime>());
  EXPECT_EQ(run_on(engine_, first_), 6);
  EXPECT_EQ(run_on(engine_, second_), 6);
  EXPECT_EQ(engine_.device_thread_count(), 3);
}

TEST_F(OwnDevices, DEV_5_a_device_that_refuses_fails_those_that_need_it) {
  EXPECT_EQ(run_on(engine_, first_), 6);
  MoodyRuntime::refuses = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(message_of([&] { run_on(engine_, second_); }), "out of order");
    EXPECT_EQ(run_on(engine_, first_), 6);
    EXPECT_EQ(run_on(engine_, sim0), 6);
    EXPECT_EQ(run_on(engine_, cpu), 6);
  }
  MoodyRuntime::refuses = false;
  EXPECT_EQ(run_on(engine_, second_), 6);
}

TEST_F(OwnDevices, DEV_5_a_nested_pass_that_needs_it_fails_alone) {
  MoodyRuntime::refuses = true;
  Tensor x = leaf({1});
  const Tensor y = custom({to_device(x, sim0)}, [&](Gradients g) {
    const RecordingGuard recording(true);
    EXPECT_EQ(message_of([&] { run_on(engine_, second_); }), "out of order");
    EXPECT_EQ(run_on(engine_, first_), 6);
    return g;
  });
  const Root root{gradient_edge(to_device(y, cpu)), vector_of({1})};
  engine_.backward({&root, 1});
  EXPECT_THAT(gradient_values(x), ElementsAre(1));
}

// An index that the type does not have.
TEST(Devices, DEV_5_a_device_that_is_not_there_fails_the_pass_by_name) {
  constexpr Device other3{DeviceType::other, 3};
  Engine engine;
  Tensor x = leaf({1});
  auto node = make_node<FunctionNode>(same);
  node->set_next_edges({gradient_edge(x)});
  InputMetadata slot(x);
  slot.stream = Stream{other3};
  node->add_slot(slot);
  const Root root{{node, 0}, Tensor()};
  const auto call = [&] { engine.backward({&root, 1}); };
  EXPECT_EQ(category_of(call), ErrorCategory::invalid_argument);
  EXPECT_THAT(message_of(call), HasSubstr("other:3"));
  until([&] { return engine.device_thread_count() == 0; });
}

TEST(Devices, REENT_1_a_pass_started_on_a_device_thread_completes_there) {
  for (const int depth : {1, 61, 130}) {
    Tensor x = leaf({1}, ScalarType::float64, sim0);
    std::function<Gradients(Gradients)> nest = [&](Gradients g) {
      if (current_pass()->depth < depth) {
        backward({custom({x}, nest)}, {ones({1}, ScalarType::float64, sim0)});
      }
      return g;
    };
    backward({custom({x}, nest)});
    EXPECT_THAT(gradient_values(x), ElementsAre(depth + 1.0));
  }
}

TEST(Devices, REENT_7_nested_passes_across_devices) {
  Tensor x = leaf({1});
  Tensor y = leaf({1}, ScalarType::float64, sim1);
  Tensor a = custom({to_device(x, sim0)}, [&](Gradients g) {
    const RecordingGuard recording(true);
    backward({custom({to_device(scale(y, 2), sim0)}, [&](Gradients inner) {
      const RecordingGuard inner_recording(true);
      backward({to_device(scale(y, 3), cpu)});
      return inner;
    })});
    return g;
  });
  backward({to_device(a, cpu)});
  EXPECT_THAT(gradient_values(x), ElementsAre(1));
  EXPECT_THAT(gradient_values(y), ElementsAre(5));
}

TEST(Devices, ACC_5_sums_do_not_depend_on_arrival) {
  // Rounding makes the order of addition visible: 1 is lost beside 2^24 in float32.
  std::vector<Values> results;
  for (int run = 0; run < 50; ++run) {
    Tensor x = leaf({1}, ScalarType::float32);
    std::vector<Tensor> roots;
    for (const auto& [device, factor] :
         std::vector<std::pair<Device, double>>{{sim0, std::ldexp(1, 24)}, {sim1, 1}, {cpu, 1}}) {
      roots.push_back(scale(to_device(x, device), factor));
    }
    backward(roots);
    results.push_back(gradient_values(x));
  }
  EXPECT_THAT(results, ::testing::Each(results[0]));
}

TEST(Devices, ERR_1_an_error_on_a_device_thread_reaches_the_caller) {
  Tensor x = leaf({1});
  Tensor y = custom({to_device(x, sim0)}, [](Gradients) -> Gradients { throw 5; });
  EXPECT_THROW(backward({to_device(y, cpu)}), int);
  backward({to_device(scale(to_device(x, sim0), 2), cpu)});
  EXPECT_THAT(gradient_values(x), ElementsAre(2));
}

TEST(Devices, VAL_4_another_device_is_refused_but_0_dim_is_moved) {
  Tensor x = leaf({1, 2}, ScalarType::float64, sim0);
  const auto gives = [](Tensor gradient) {
    return [gradient](Gradients) { return Gradients{gradient}; };
  };
  const auto call = [&] {
    backward({custom({x}, gives(ones({2}, ScalarType::float64, other0)))},
             {ones({2}, ScalarType::float64, sim0)});
  };
  EXPECT_EQ(category_of(call), ErrorCategory::gradient_device);
  EXPECT_THAT(message_of(call), HasSubstr("sim:0"));
  EXPECT_THAT(message_of(call), HasSubstr("other:0"));
  Tensor scalar = from_values({1}, {}, ScalarType::float64, sim0);
  set_requires_grad(scalar, true);
  backward({custom({scalar}, gives(from_values({4}, {}, ScalarType::float64)))});
  EXPECT_THAT(gradient_values(scalar), ElementsAre(4));
  EXPECT_EQ(gradient(scalar).device(), sim0);
}

TEST(Devices, TLS_1_the_callers_value_is_seen_on_device_threads) {
  set_thread_local_value(std::make_shared<int>(7));
  int seen = 0;
  Tensor x = leaf({1});
  Tensor y = custom({to_device(x, sim0)}, [&](Gradients g) {
    seen = *static_cast<const int*>(thread_local_value().get());
    return g;
  });
  backward({y});
  EXPECT_EQ(seen, 7);
  EXPECT_EQ(thread_local_value().use_count(), 1);  // no worker kept it
  set_thread_local_value(nullptr);
}

// ---- Streams -----------------------------------------------------------------------------------

TEST(Streams, late_work_needs_a_wait) {
  const Stream first = make_stream(sim0);
  const Stream second = make_stream(sim0);
  Tensor x;
  {
    StreamGuard guard(first);
    x = full({1}, 5, ScalarType::float64, sim0);
  }
  StreamGuard guard(second);
  EXPECT_THAT(values(x), ::testing::Not(ElementsAre(5)));
  wait_stream(second, first);
  EXPECT_THAT(values(x), ElementsAre(5));
}

struct Forward {
  Tensor x;
  Tensor out;
};

// out = 3 * (2 * x), each step on a stream of its own, properly ordered.
Forward forward_on_streams(Stream leaf_stream, Stream first, Stream second) {
  Forward forward;
  {
    StreamGuard guard(leaf_stream);
    forward.x = leaf({1}, ScalarType::float64, sim0);
    accumulator(forward.x);
  }
  Tensor mid;
  {
    StreamGuard guard(first);
    wait_stream(first, leaf_stream);
    mid = scale(forward.x, 2);
  }
  StreamGuard guard(second);
  wait_stream(second, first);
  forward.out = scale(mid, 3);
  return forward;
}

TEST(Streams, STREAM_1_2_4_5_every_combination_of_streams_is_right) {
  const std::vector<Stream> streams = {Stream{sim0}, make_stream(sim0), make_stream(sim0)};
  for (Stream leaf_stream : streams) {
    for (Stream first : streams) {
      for (Stream second : streams) {
        for (Stream callers : streams) {
          Forward forward = forward_on_streams(leaf_stream, first, second);
          synchronize(sim0);
          StreamGuard guard(callers);
          const Tensor seed = full({1}, 7, ScalarType::float64, sim0);
          backward({forward.out}, {seed}, {.keep_graph = true});
          EXPECT_THAT(gradient_values(forward.x), ElementsAre(42));
          EXPECT_EQ(current_stream(sim0), callers);
          EXPECT_THAT(values(grad({forward.out}, {seed}, {forward.x})[0]), ElementsAre(42));
        }
      }
    }
  }
}

SimulatedRuntime& simulated() {
  return dynamic_cast<SimulatedRuntime&>(runtime(DeviceType::sim));
}

TEST(Streams, STREAM_5_the_callers_capture_gets_all_work_of_the_pass_back) {
  const Stream captured = make_stream(sim0);
  const Stream side = make_stream(sim0);
  simulated().begin_capture(captured);
  wait_stream(side, captured);
  const Forward forward = forward_on_streams(side, side, captured);
  StreamGuard guard(captured);
  backward({forward.out}, {full({1}, 7, ScalarType::float64, sim0)});
  simulated().end_capture(captured);
  EXPECT_THAT(gradient_values(forward.x), ElementsAre(42));
}

TEST(Streams, STREAM_6_a_leaf_that_got_nothing_does_not_end_a_capture) {
  const Stream captured = make_stream(sim0);
  const Stream outside = make_stream(sim0);
  const auto leaf_on = [](Stream stream) {
    StreamGuard guard(stream);
    Tensor made = leaf({1}, ScalarType::float64, sim0);
    accumulator(made);
    return made;
  };
  const Tensor x = leaf_on(captured);
  const Tensor y = leaf_on(outside);
  synchronize(sim0);
  StreamGuard guard(captured);
  simulated().begin_capture(captured);
  const Tensor out = custom({x, y}, [](Gradients g) { return Gradients{g[0], Tensor()}; });
  backward({out}, {full({1}, 7, ScalarType::float64, sim0)});
  simulated().end_capture(captured);
  EXPECT_THAT(gradient_values(x), ElementsAre(7));
  EXPECT_FALSE(gradient(y).defined());
}

TEST(Streams, STREAM_6_no_event_in_a_graph_on_one_stream) {
  Tensor x = leaf({1}, ScalarType::float64, sim0);
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = scale(y, 1);
  const auto before = stream_counts(DeviceType::sim);
  backward({y});
  const auto after = stream_counts(DeviceType::sim);
  EXPECT_EQ(after.events_recorded, before.events_recorded);
  EXPECT_EQ(after.waits, before.waits);
}

TEST(Streams, CB_4_callbacks_see_the_callers_stream_after_leaves) {
  const Stream side = make_stream(sim0);
  const Stream callers = make_stream(sim0);
  Forward forward = forward_on_streams(side, side, side);
  synchronize(sim0);
  StreamGuard guard(callers);
  Values seen;
  add_tensor_hook(forward.out, [&](const Tensor&) {
    queue_callback([&] {
      EXPECT_EQ(current_stream(sim0), callers);
      seen = gradient_values(forward.x);
    });
    return std::nullopt;
  });
  backward({forward.out});
  EXPECT_THAT(seen, ElementsAre(6));
}

}  // namespace
}  // namespace gradcts::reference
