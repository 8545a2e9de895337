// Hooks of every kind, as the engine runs them.
#include <algorithm>
#include <cmath>
#include <thread>

#include "reference_engine/engine/multi_tensor_hook.h"
#include "reference_engine/graph/anomaly.h"
#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Log {
  std::vector<std::string> lines;
  TensorHook tensor(const char* name) {
    return [this, name](const Tensor&) { return lines.push_back(name), std::nullopt; };
  }
  NodePreHook pre(const char* name) {
    return [this, name](const Gradients&) { return lines.push_back(name), std::nullopt; };
  }
  NodePostHook post(const char* name) {
    return [this, name](const Gradients&, const Gradients&) {
      return lines.push_back(name), std::nullopt;
    };
  }
};

std::optional<Tensor> times_ten(const Tensor& gradient) {
  return scale(gradient, 10);
}

TEST(Hooks, HOOK_1_order_at_a_node) {
  Log log;
  Tensor x = leaf({1});
  Tensor mid = custom({x}, [&](Gradients g) { return log.lines.push_back("node"), g; });
  add_tensor_hook(mid, log.tensor("first"));
  retain_grad(mid);
  add_tensor_hook(mid, [&](const Tensor& g) {
    EXPECT_FALSE(gradient(mid).defined());  // retain-grad is the last
    log.lines.push_back("second");
    return times_ten(g);
  });
  producer(mid)->add_pre_hook([&](const Gradients&) {
    EXPECT_THAT(gradient_values(mid), ElementsAre(10));
    log.lines.push_back("pre");
    return std::nullopt;
  });
  producer(mid)->add_post_hook(log.post("post"));
  backward({mid});
  EXPECT_THAT(log.lines, ElementsAre("first", "second", "pre", "node", "post"));
  EXPECT_THAT(gradient_values(x), ElementsAre(10));
}

TEST(Hooks, HOOK_1_order_at_a_leaf) {
  Log log;
  Tensor x = leaf({1});
  add_tensor_hook(x, log.tensor("tensor"));
  add_post_accumulate_hook(x, [&](const Tensor& t) {
    EXPECT_THAT(gradient_values(t), ElementsAre(2));
    log.lines.push_back("accumulated");
  });
  accumulator(x)->add_post_hook(log.post("post"));
  backward({scale(x, 2)});
  EXPECT_THAT(log.lines, ElementsAre("tensor", "accumulated", "post"));
}

TEST(Hooks, HOOK_2_only_tensor_hooks_run_where_a_node_is_only_captured) {
  Log log;
  Tensor x = leaf({1});
  Tensor mid = scale(x, 2);
  add_tensor_hook(mid, [&](const Tensor& g) {
    log.lines.push_back("tensor");
    return times_ten(g);
  });
  producer(mid)->add_pre_hook(log.pre("pre"));
  producer(mid)->add_post_hook(log.post("post"));
  EXPECT_THAT(values(grad({scale(mid, 3)}, {}, {mid})[0]), ElementsAre(30));
  EXPECT_THAT(log.lines, ElementsAre("tensor"));
}

TEST(Hooks, HOOK_3_a_wrong_result_names_the_hook) {
  Tensor x = leaf({1});
  Tensor y = scale(x, 2);
  add_tensor_hook(y, [](const Tensor&) { return std::nullopt; });
  add_tensor_hook(y, [](const Tensor&) { return vector_of({1, 2, 3}); });
  const auto call = [&] { backward({y}); };
  EXPECT_EQ(category_of(call), ErrorCategory::hook_result);
  EXPECT_THAT(message_of(call), HasSubstr("tensor hook 1 of node Scale"));

  Tensor z = scale(x, 2);
  producer(z)->add_post_hook([](const Gradients&, const Gradients&) { return Gradients(2); });
  EXPECT_EQ(category_of([&] { backward({z}); }), ErrorCategory::hook_result);
  Tensor w = scale(x, 2);
  producer(w)->add_pre_hook([](const Gradients&) { return Gradients(2); });
  EXPECT_EQ(category_of([&] { backward({w}); }), ErrorCategory::hook_result);
}

TEST(Hooks, HOOK_3_a_post_hook_may_return_undefined_gradients) {
  Tensor x = leaf({1});
  Tensor y = leaf({1});
  Tensor z = add(x, y);
  producer(z)->add_post_hook([](const Gradients& outputs, const Gradients&) {
    return Gradients{Tensor(), outputs[1]};
  });
  backward({z});
  EXPECT_FALSE(gradient(x).defined());
  EXPECT_THAT(gradient_values(y), ElementsAre(1));
}

TEST(Hooks, HOOK_4_a_hook_sees_the_full_sum_or_undefined_once) {
  Tensor x = leaf({1});
  Tensor h = scale(x, 1);
  std::vector<Values> seen;
  add_tensor_hook(h, [&](const Tensor& g) { return seen.push_back(values(g)), std::nullopt; });
  add_tensor_hook(x, [&](const Tensor& g) { return seen.push_back(values(g)), std::nullopt; });
  backward({add(scale(h, 2), scale(h, 5))});
  EXPECT_THAT(seen, ElementsAre(Values{7}, Values{7}));
  seen.clear();
  backward({custom({h}, [](Gradients) { return Gradients(1); })}, {}, {.keep_graph = true});
  EXPECT_THAT(seen, ElementsAre(Values{}, Values{}));
}

TEST(Hooks, HOOK_5_post_hooks_that_the_running_node_adds_or_removes) {
  Log log;
  Tensor x = leaf({1});
  Node* node = nullptr;
  HookHandle removed;
  Tensor y = custom({x}, [&](Gradients g) {
    node->add_post_hook(log.post("added"));
    removed.remove();
    return g;
  });
  node = producer(y).get();
  removed = node->add_post_hook(log.post("removed"));
  backward({y});
  EXPECT_THAT(log.lines, ElementsAre("added"));
}

TEST(Hooks, HOOK_5_a_hook_removes_itself_and_the_next) {
  Log log;
  Tensor x = leaf({1});
  HookHandle first;
  HookHandle second;
  first = add_tensor_hook(x, [&](const Tensor&) {
    log.lines.push_back("first");
    first.remove();
    second.remove();
    return std::nullopt;
  });
  second = add_tensor_hook(x, log.tensor("second"));
  add_tensor_hook(x, log.tensor("third"));
  backward({scale(x, 1)});
  backward({scale(x, 1)});
  EXPECT_THAT(log.lines, ElementsAre("first", "third", "third"));
}

TEST(Hooks, HOOK_6_hooks_stay_with_their_version_and_retain_grad_follows) {
  for (const bool as_view : {false, true}) {
    Tensor x = leaf({5});
    Tensor base = clone(x);
    Tensor a = as_view ? view_alias(base) : base;
    std::vector<double> seen(2);
    const auto note = [&](std::size_t i) {
      return [&seen, i](const Tensor& g) { return seen[i] = values(g)[0], std::nullopt; };
    };
    add_tensor_hook(a, note(0));
    retain_grad(a);
    scale_(a, 2);
    Tensor b = clone(a);
    add_tensor_hook(a, note(1));
    backward({sum(b)});
    if (!as_view) {
      EXPECT_EQ(seen[0], 2);
    }
    EXPECT_EQ(seen[1], 1);
    EXPECT_THAT(gradient_values(a), ElementsAre(1));
    EXPECT_THAT(gradient_values(x), ElementsAre(2));
  }
}

TEST(Hooks, HOOK_7_capture_hooks_do_not_change_what_flows_on) {
  Tensor x = leaf({1});
  Tensor mid = scale(x, 2);
  const Root root{gradient_edge(scale(mid, 3)), vector_of({1})};
  const std::vector<Capture> captures = {{gradient_edge(mid), {times_ten, times_ten}},
                                         {gradient_edge(x), {}}};
  const auto result = Engine::default_engine().grad({&root, 1}, captures);
  EXPECT_THAT(values(result[0]), ElementsAre(300));
  EXPECT_THAT(values(result[1]), ElementsAre(6));
}

TEST(Hooks, HOOK_10_a_hook_starts_a_pass_queues_a_callback_and_throws) {
  Tensor x = leaf({1});
  Tensor inner = leaf({1});
  bool called = false;
  Tensor y = scale(x, 2);
  add_tensor_hook(y, [&](const Tensor&) {
    const RecordingGuard recording(true);
    backward({scale(inner, 7)});
    queue_callback([&] { called = true; });
    return std::nullopt;
  });
  backward({y});
  EXPECT_THAT(gradient_values(inner), ElementsAre(7));
  EXPECT_TRUE(called);
  Tensor z = scale(x, 2);
  add_tensor_hook(z, [](const Tensor&) -> std::optional<Tensor> { throw std::logic_error("no"); });
  EXPECT_EQ(message_of([&] { backward({z}); }), "no");
}

TEST(Hooks, HOOK_8_a_hook_over_several_tensors_fires_once_a_pass) {
  Tensor x = leaf({1});
  Tensor a = scale(x, 2);
  Tensor b = scale(x, 3);
  Tensor c = scale(x, 5);
  std::vector<std::vector<Values>> calls;
  const HookHandle handle =
      add_multi_tensor_hook(std::vector{a, b, c}, [&](const std::vector<Tensor>& gradients) {
        std::vector<Values> seen;
        for (const Tensor& g : gradients) seen.push_back(values(g));
        calls.push_back(seen);
      });
  const auto keep = BackwardOptions{.keep_graph = true};
  backward({add(scale(a, 10), scale(b, 100))}, {}, keep);
  EXPECT_THAT(calls, ElementsAre(ElementsAre(Values{10}, Values{100}, Values{})));
  calls.clear();
  backward({scale(x, 1)});
  EXPECT_TRUE(calls.empty());
  grad({add(a, c)}, {}, {a, c}, {.keep_graph = true});
  EXPECT_THAT(calls, ElementsAre(ElementsAre(Values{1}, Values{}, Values{1})));
  handle.remove();
  backward({add(a, b)}, {}, keep);
  EXPECT_EQ(calls.size(), 1u);
}

TEST(Anomaly, ANOM_1_a_nan_names_node_and_output) {
  Tensor x = leaf({1});
  const auto call = [&] { backward({log(scale(log(add_scalar(x, -1)), 0))}); };
  call();
  set_gradient(x, Tensor());
  {
    AnomalyGuard guard(true, false);
    call();
  }
  AnomalyGuard guard(true);
  Tensor y = custom(
      {x}, [](Gradients) { return Gradients{vector_of({NAN})}; }, "Bad");
  const auto bad = [&] { backward({y}, {}, {.keep_graph = true}); };
  EXPECT_EQ(category_of(bad), ErrorCategory::nan_gradient);
  EXPECT_THAT(message_of(bad), HasSubstr("node Bad returned NaN in its output 0"));
}

TEST(Anomaly, ANOM_2_the_report_shows_the_chain_of_nodes) {
  AnomalyGuard guard(true, false);
  Tensor x = leaf({2});
  Tensor first = grad({exp(x)}, {}, {x}, {.create_graph = true})[0];
  EXPECT_THAT(
      describe_origin(*producer(first)),
      ::testing::AllOf(HasSubstr("node Mul was made by"), HasSubstr("in the backward of node Exp"),
                       HasSubstr("node Exp was made by")));
}

// Made on the device's thread in the backward of Exp, and in the backward of that one; and the NaN
// shows in a pass of a third thread.
TEST(Anomaly, ANOM_2_the_chain_goes_on_across_threads) {
  const auto on_device = [&](double value) { return full({1}, value, ScalarType::float64, sim0); };
  const AnomalyGuard guard(true);
  const Tensor x = leaf({2}, ScalarType::float64, sim0);
  const Tensor seed = leaf({1}, ScalarType::float64, sim0);
  const auto options = GradOptions{.keep_graph = true, .create_graph = true};
  const Tensor first = grad({exp(x)}, {seed}, {x}, options)[0];
  const Tensor second = grad({first}, {on_device(1)}, {seed}, options)[0];
  std::string text;
  std::thread([&] {
    const AnomalyGuard of_thread(true);
    text = message_of([&] { backward({second}, {on_device(NAN)}); });
  }).join();
  EXPECT_THAT(text, HasSubstr("returned NaN in its output"));
  const auto in_first = text.find("in the backward of node " + producer(first)->name());
  const auto in_exp = text.find("in the backward of node Exp");
  const auto exp_made = text.find("node Exp was made by");
  EXPECT_LT(in_first, in_exp);
  EXPECT_LT(in_exp, exp_made);
  EXPECT_NE(exp_made, std::string::npos);
}

// Each origin refers to the one before; a long chain of them is freed, and told, on a small stack.
TEST(Anomaly, ANOM_2_TOPO_8_a_long_chain_of_origins) {
  static constexpr int length = is_sanitized ? 5'000 : 20'000;
  on_small_stack([] {
    const AnomalyGuard guard(true, false);
    Tensor from = leaf({1});
    Tensor value = scale(from, 1);
    for (int i = 0; i < length; ++i) {
      Tensor seed = leaf({1});
      value = grad({value}, {seed}, {from}, {.create_graph = true})[0];
      from = seed;
    }
    const std::string text = describe_origin(*producer(value));
    EXPECT_GT(std::count(text.begin(), text.end(), '\n'), length);
  });
}

TEST(Anomaly, ANOM_3_modes_nest_and_come_back_after_errors) {
  AnomalyGuard outer(true, false);
  try {
    AnomalyGuard inner(true, true);
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(anomaly_mode().is_enabled);
  EXPECT_FALSE(anomaly_mode().checks_nan);
}

TEST(Hooks, LEAF_7_hooks_of_a_leaf_outlive_its_graphs) {
  Tensor x = leaf({1});
  int runs = 0;
  accumulator(x)->add_post_hook(
      [&](const Gradients&, const Gradients&) { return ++runs, std::nullopt; });
  backward({scale(x, 1)});
  backward({scale(x, 1)});
  EXPECT_EQ(runs, 2);
}

TEST(Hooks, B049_will_run_in_every_kind_of_pass) {
  Tensor x = leaf({1});
  Tensor other = leaf({1});
  Tensor a = scale(x, 2);
  Tensor b = scale(a, 3);
  Tensor c = add(b, scale(other, 1));
  std::vector<bool> seen;
  producer(c)->add_pre_hook([&](const Gradients&) {
    seen = {will_run(*producer(c)), will_run(*producer(b)), will_run(*producer(a)),
            will_run(*accumulator(x)), will_run(*accumulator(other))};
    return std::nullopt;
  });
  const auto keep = BackwardOptions{.keep_graph = true};
  backward({c}, {}, keep);
  EXPECT_THAT(seen, ElementsAre(true, true, true, true, true));
  grad({c}, {}, {a}, {.keep_graph = true});
  EXPECT_THAT(seen, ElementsAre(true, true, false, false, false));
  backward({c}, {}, {.keep_graph = true, .inputs = std::vector{x}});
  EXPECT_THAT(seen, ElementsAre(true, true, true, true, false));
  EXPECT_EQ(category_of([&] { will_run(*producer(c)); }), ErrorCategory::outside_pass);
}

}  // namespace
}  // namespace gradcts::reference
