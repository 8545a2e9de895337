// Hooks for saved tensors.
#include "reference_engine/graph/saved_tensor.h"

#include <thread>

#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Hooks that note their calls, and scale what they unpack.
SavedTensorHooks noting(std::vector<std::string>& log, const std::string& name, double factor = 1) {
  return {[&log, name](const Tensor& tensor) -> std::shared_ptr<void> {
            log.push_back("pack " + name);
            return std::make_shared<Tensor>(tensor);
          },
          [&log, name, factor](const std::shared_ptr<void>& packed) {
            log.push_back("unpack " + name);
            return scale(*static_cast<const Tensor*>(packed.get()), factor);
          }};
}

TEST(SavedTensors, HOOK_9_one_pair_packs_and_unpacks) {
  std::vector<std::string> log;
  Tensor x = leaf({3});
  Tensor y;
  {
    const SavedTensorHooksGuard guard(noting(log, "a", 10));
    y = exp(x);
  }
  EXPECT_THAT(log, ElementsAre("pack a"));
  backward({y}, {vector_of({0})});
  EXPECT_THAT(log, ElementsAre("pack a", "unpack a"));
  Tensor z;
  {
    const SavedTensorHooksGuard guard(noting(log, "b", 10));
    z = mul(x, vector_of({1}));
  }
  set_gradient(x, Tensor());
  backward({z});
  EXPECT_THAT(gradient_values(x), ElementsAre(10));
}

TEST(SavedTensors, HOOK_9_pairs_nest_and_the_innermost_applies) {
  std::vector<std::string> log;
  Tensor x = leaf({3});
  std::vector<Tensor> made;
  {
    const SavedTensorHooksGuard outer(noting(log, "outer"));
    {
      const SavedTensorHooksGuard inner(noting(log, "inner"));
      made.push_back(exp(x));
    }
    made.push_back(exp(x));
  }
  made.push_back(exp(x));
  EXPECT_THAT(log, ElementsAre("pack inner", "pack outer"));
  log.clear();
  {
    const SavedTensorHooksGuard others(noting(log, "others"));  // what a pair packed, it unpacks
    for (const Tensor& y : made) backward({y});
  }
  EXPECT_THAT(log, ElementsAre("unpack inner", "unpack outer"));
  EXPECT_EQ(category_of([] { pop_saved_tensor_hooks(); }), ErrorCategory::invalid_argument);
}

TEST(SavedTensors, HOOK_9_pairs_belong_to_their_thread) {
  std::vector<std::string> log;
  Tensor x = leaf({3});
  const SavedTensorHooksGuard guard(noting(log, "a"));
  std::thread([&] { backward({exp(x)}); }).join();
  EXPECT_THAT(log, IsEmpty());
  const Tensor y = exp(to_device(x, sim0));
  // What a node saves on another thread is not packed by the caller's hooks; what the caller packed
  // is unpacked there.
  backward({y}, {}, {.create_graph = true});
  EXPECT_THAT(log, ElementsAre("pack a", "unpack a"));
  set_gradient(x, Tensor());  // its history ends in x: the documented cycle (GRAPH2-4)
}

TEST(SavedTensors, HOOK_9_a_hook_may_close_its_own_context) {
  struct Dies {
    explicit Dies(bool& flag) : is_dead(flag) {}
    ~Dies() { is_dead = true; }
    bool& is_dead;
  };
  bool is_dead = false;
  Tensor x = leaf({3});
  push_saved_tensor_hooks({[&is_dead, dies = std::make_shared<Dies>(is_dead)](
                               const Tensor& tensor) -> std::shared_ptr<void> {
                             pop_saved_tensor_hooks();
                             EXPECT_FALSE(is_dead);
                             return std::make_shared<Tensor>(tensor);
                           },
                           [](const std::shared_ptr<void>& packed) {
                             return *static_cast<const Tensor*>(packed.get());
                           }});
  Tensor y = mul(exp(x), vector_of({2}));  // only the first node that saves finds them
  EXPECT_FALSE(is_dead);                   // its tensor is still to be unpacked
  EXPECT_EQ(category_of([] { pop_saved_tensor_hooks(); }), ErrorCategory::invalid_argument);
  backward({y});
  EXPECT_NEAR(gradient_values(x)[0], 2 * std::exp(3), 0);
  y.reset();
  EXPECT_TRUE(is_dead);
}

TEST(SavedTensors, HOOK_9_a_hook_may_not_change_its_argument) {
  Tensor x = leaf({3});
  const Tensor factor = vector_of({5});
  const auto same_tensor = [](const std::shared_ptr<void>& packed) {
    return *static_cast<const Tensor*>(packed.get());
  };
  const SavedTensorHooksGuard guard({[](const Tensor& tensor) -> std::shared_ptr<void> {
                                       fill_(tensor, 0);
                                       return std::make_shared<Tensor>(tensor);
                                     },
                                     same_tensor});
  const auto call = [&] { mul(x, factor); };
  EXPECT_EQ(category_of(call), ErrorCategory::hook_result);
  EXPECT_THAT(message_of(call), HasSubstr("changed its argument in place"));
  EXPECT_THAT(values(factor), ElementsAre(5));
}

// What was packed is a copy: changes of the original, earlier or later, are none of it.
TEST(SavedTensors, HOOK_9_KEEP_3_packed_ones_see_no_later_changes) {
  std::vector<std::string> log;
  Tensor x = leaf({3});
  const Tensor factor = vector_of({4});
  fill_(factor, 5);
  Tensor y;
  {
    const SavedTensorHooksGuard guard(noting(log, "a"));
    y = mul(x, factor);
  }
  fill_(factor, 7);
  backward({y});
  EXPECT_THAT(gradient_values(x), ElementsAre(5));
}

TEST(SavedTensors, HOOK_9_the_place_in_the_graph_is_kept) {
  std::vector<std::string> log;
  Tensor x = leaf({3});
  Tensor y;
  {
    const SavedTensorHooksGuard guard(noting(log, "a"));
    y = mul(mul(x, x), x);
  }
  const Tensor first = grad({y}, {}, {x}, {.keep_graph = true, .create_graph = true})[0];
  EXPECT_THAT(values(grad({first}, {}, {x})[0]), ElementsAre(18));
}

TEST(SavedTensors, HOOK_9_ERR_1_what_a_hook_throws_arrives) {
  Tensor x = leaf({3});
  const auto throws = [](const Tensor&) -> std::shared_ptr<void> { throw 17; };
  {
    const SavedTensorHooksGuard guard({throws, nullptr});
    EXPECT_THROW(exp(x), int);
  }
  Tensor y;
  {
    const SavedTensorHooksGuard guard(
        {[](const Tensor&) { return nullptr; },
         [](const std::shared_ptr<void>&) -> Tensor { throw std::logic_error("lost"); }});
    y = exp(x);
  }
  EXPECT_EQ(message_of([&] { backward({y}); }), "lost");
}

TEST(SavedTensors, HOOK_9_an_unpacked_tensor_of_another_kind_is_refused) {
  const std::vector<Tensor> wrong = {Tensor(), vector_of({1, 2}),
                                     vector_of({1}, ScalarType::float32)};
  for (const Tensor& given : wrong) {
    for (const bool create_graph : {false, true}) {
      Tensor x = leaf({3});
      Tensor y;
      {
        const SavedTensorHooksGuard guard({[](const Tensor&) { return nullptr; },
                                           [&](const std::shared_ptr<void>&) { return given; }});
        y = mul(x, x);
      }
      const auto call = [&] { backward({y}, {}, {.create_graph = create_graph}); };
      EXPECT_EQ(category_of(call), ErrorCategory::hook_result);
    }
  }
}

}  // namespace
}  // namespace gradcts::reference
