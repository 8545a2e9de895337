// Destructors of users' objects: no lock of the engine is held while they run (LIFE-2).
#include <latch>
#include <thread>

#include "reference_engine/engine/multi_tensor_hook.h"
#include "reference_engine/graph/saved_tensor.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT

// An object whose destructor waits for another thread that uses the engine: whatever lock is held
// around the destructor and wanted by that use, the test hangs.
class Waits {
 public:
  Waits(std::function<void()> use, bool& died) : use_(std::move(use)), died_(died) {}
  ~Waits() {
    std::thread(use_).join();
    died_ = true;
  }

 private:
  std::function<void()> use_;
  bool& died_;
};

// What other threads may do with a tensor at any time.
void use(const Tensor& tensor) {
  const RecordingGuard recording(true);
  add_tensor_hook(tensor, [](const Tensor&) { return std::nullopt; }).remove();
  requires_grad(tensor);
  gradient(tensor);
  scale(tensor, 1);
  if (is_leaf(tensor)) {
    accumulator(tensor)
        ->add_post_hook([](const Gradients&, const Gradients&) { return std::nullopt; })
        .remove();
    set_gradient(tensor, zeros(tensor.shape(), tensor.type()));
    backward({sum(tensor)});
  } else {
    producer(tensor)->add_pre_hook([](const Gradients&) { return std::nullopt; }).remove();
  }
}

class Lifetimes : public ::testing::Test {
 protected:
  ~Lifetimes() override { EXPECT_TRUE(died_); }

  // An object whose destructor uses the tensor; which it does not own.
  std::shared_ptr<Waits> waits_for(const Tensor& tensor) {
    TensorImpl* impl = tensor.impl();
    return std::make_shared<Waits>([impl] { use(Tensor(IntrusivePointer<TensorImpl>(impl))); },
                                   died_);
  }

  // A tensor whose graph owns the object.
  static Tensor tensor_that_owns(std::shared_ptr<Waits> object, Device device = cpu) {
    return custom({leaf({1}, ScalarType::float64, device)},
                  [object = std::move(object)](Gradients g) { return g; });
  }

  bool died_ = false;
};

TEST_F(Lifetimes, LIFE_2_a_tensor_hook_that_is_removed) {
  Tensor x = leaf({1});
  const HookHandle handle =
      add_tensor_hook(x, [object = waits_for(x)](const Tensor&) { return std::nullopt; });
  handle.remove();
}

TEST_F(Lifetimes, LIFE_2_a_hook_that_removes_itself) {
  Tensor x = leaf({1});
  HookHandle handle;
  handle = add_tensor_hook(x, [&handle, object = waits_for(x)](const Tensor&) {
    handle.remove();
    return std::nullopt;
  });
  backward({scale(x, 1)});
}

TEST_F(Lifetimes, LIFE_2_a_hook_over_several_tensors) {
  Tensor x = leaf({1});
  const Tensor a = scale(x, 1);
  const Tensor b = scale(x, 2);
  const HookHandle handle = add_multi_tensor_hook(
      std::vector{a, b}, [object = waits_for(a)](const std::vector<Tensor>&) {});
  backward({add(a, b)});
  handle.remove();
}

TEST_F(Lifetimes, LIFE_2_a_gradient_that_is_replaced) {
  Tensor x = leaf({1});
  set_gradient(x, tensor_that_owns(waits_for(x)));
  set_gradient(x, Tensor());
}

// The gradient that arrives comes from a hook, and is the last owner of a graph.
TEST_F(Lifetimes, LIFE_2_a_gradient_that_is_added) {
  Tensor x = leaf({1});
  set_gradient(x, vector_of({1}));
  Tensor given = tensor_that_owns(waits_for(x));
  add_tensor_hook(x, [&](const Tensor&) { return std::exchange(given, Tensor()); });
  const Tensor y = scale(x, 1);
  const Root root{gradient_edge(y), vector_of({1})};
  Engine::default_engine().backward({&root, 1});
}

TEST_F(Lifetimes, LIFE_2_a_gradient_that_is_copied_into_an_empty_one) {
  Tensor x = leaf({1, 2});
  Tensor given = expand(tensor_that_owns(waits_for(x)), {2});
  add_tensor_hook(x, [&](const Tensor&) { return std::exchange(given, Tensor()); });
  const Root root{gradient_edge(scale(x, 1)), vector_of({1, 2})};
  Engine::default_engine().backward({&root, 1});
}

// The view's old history goes when somebody asks for its new one.
TEST_F(Lifetimes, LIFE_2_the_old_history_of_a_view) {
  Tensor base = clone(leaf({1}));
  Tensor view = view_alias(base);
  producer(view)->add_pre_hook(
      [object = waits_for(view)](const Gradients&) { return std::nullopt; });
  scale_(base, 2);
  EXPECT_TRUE(requires_grad(view));
}

TEST_F(Lifetimes, LIFE_2_the_history_of_a_tensor_that_is_changed_in_place) {
  Tensor x = leaf({1});
  Tensor y = tensor_that_owns(waits_for(x));
  fill_(y, 3);
}

// Another thread asks the node for the tensor at that moment.
TEST_F(Lifetimes, LIFE_2_a_packed_tensor_that_is_released) {
  Tensor x = leaf({1});
  Tensor y;
  const auto ask = [&y] {
    EXPECT_EQ(category_of([&] { backward({y}); }), ErrorCategory::graph_released);
  };
  {
    const SavedTensorHooksGuard guard(
        {[&](const Tensor& t) -> std::shared_ptr<void> {
           struct Packed {
             Tensor tensor;
             std::shared_ptr<Waits> object;
           };
           return std::make_shared<Packed>(Packed{t, std::make_shared<Waits>(ask, died_)});
         },
         [](const std::shared_ptr<void>& packed) { return *static_cast<Tensor*>(packed.get()); }});
    y = exp(x);
  }
  backward({y});
  EXPECT_TRUE(died_);
}

TEST_F(Lifetimes, LIFE_2_hooks_for_saved_tensors) {
  Tensor x = leaf({1});
  push_saved_tensor_hooks({[object = waits_for(x)](const Tensor&) { return nullptr; }, nullptr});
  pop_saved_tensor_hooks();
}

TEST_F(Lifetimes, LIFE_2_a_callback) {
  Tensor x = leaf({1});
  const Tensor y = custom({x}, [&](Gradients g) {
    queue_callback([object = waits_for(x)] {});
    return g;
  });
  backward({y});
}

TEST_F(Lifetimes, LIFE_2_a_callback_of_a_pass_that_fails) {
  Tensor x = leaf({1});
  const Tensor y = custom({to_device(x, sim0)}, [&](Gradients) -> Gradients {
    queue_callback([object = waits_for(x)] {});
    throw 1;
  });
  EXPECT_THROW(backward({y}), int);
}

TEST_F(Lifetimes, LIFE_2_a_thread_local_value_that_a_node_sets) {
  Tensor x = leaf({1});
  const Tensor y = custom({to_device(x, sim0)}, [&](Gradients g) {
    set_thread_local_value(waits_for(x));
    return g;
  });
  backward({y});
}

TEST_F(Lifetimes, LIFE_2_gradients_on_their_way_in_a_pass_that_fails) {
  Tensor x = leaf({1});
  Tensor given = tensor_that_owns(waits_for(x), sim0);
  const Tensor a = to_device(x, sim0);
  const Tensor waiting = custom({a}, same);
  const Tensor bad = custom({a}, [](Gradients) -> Gradients { throw 1; });
  const Tensor y = custom({waiting, bad}, [&](Gradients g) {
    return Gradients{std::exchange(given, Tensor()), g[0]};
  });
  EXPECT_THROW(backward({y}), int);
  EXPECT_TRUE(died_);
}

TEST_F(Lifetimes, LIFE_2_the_graph_of_an_announced_gradient) {
  Tensor x = leaf({1});
  const auto announced = std::make_shared<AnnouncedGradient>(gradient_edge(scale(x, 1)));
  Tensor given = tensor_that_owns(std::make_shared<Waits>(
      [announced, impl = x.impl()] {
        announced->fail(std::make_exception_ptr(1));
        use(Tensor(IntrusivePointer<TensorImpl>(impl)));
      },
      died_));
  Tensor w = leaf({1});
  const Tensor y = scale(w, 1);
  announced->deliver(std::move(given));
  // The pass does not need it.
  grad({y}, {}, {w}, {.announced = {announced}});
  EXPECT_TRUE(died_);
}

TEST_F(Lifetimes, LIFE_2_a_capture_hook) {
  Tensor x = leaf({1});
  const Tensor y = scale(x, 1);
  std::vector<Capture> captures = {{gradient_edge(x), {}}};
  captures[0].hooks.push_back(
      [object = waits_for(x)](const Tensor&) -> std::optional<Tensor> { return std::nullopt; });
  const Root root{gradient_edge(y), vector_of({1})};
  Engine::default_engine().grad({&root, 1}, captures);
}

}  // namespace
}  // namespace gradcts::reference
