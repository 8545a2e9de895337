// The reducer over ranks that are threads of this process.
#include "reference_engine/distributed/reducer.h"

#include <algorithm>
#include <thread>

#include "reference_engine/compiled/compiler.h"
#include "reference_engine/distributed/in_process_group.h"
#include "reference_engine/memory/live_count.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::milliseconds long_limit{60'000};  // never reached by a test that passes
constexpr std::chrono::milliseconds short_limit{50};
const std::vector<std::size_t> one_each = {1};  // each parameter its own bucket

// One rank: its parameters a, b and c, of one element each, and its reducer.
struct Rank {
  Rank(ProcessGroupPointer seat, ReducerOptions options)
      : group(std::move(seat)), reducer(std::make_unique<Reducer>(named(), group, options)) {}
  std::vector<Parameter> named() const { return {{a, "a"}, {b, "b"}, {c, "c"}}; }

  ProcessGroupPointer group;
  Tensor a = leaf({1}), b = leaf({1}), c = leaf({1});
  std::unique_ptr<Reducer> reducer;

  double factor() const { return group->rank() == 0 ? 2 : 6; }  // 4 on average
  void backward_of(const Tensor& output) const { backward({output}, {vector_of({factor()})}); }
  Tensor all() const { return add(add(a, b), c); }

  void step(const Tensor& output) const {
    reducer->prepare({output});
    backward_of(output);
  }
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

Ranks make_ranks(const ReducerOptions& options, int count = 2,
                 std::chrono::milliseconds limit = long_limit) {
  Ranks ranks;
  for (auto& seat : make_in_process_group(count, limit)) {
    ranks.push_back(std::make_unique<Rank>(std::move(seat), options));
  }
  return ranks;
}

// Runs the ranks side by side; returns what each one's error says, empty where there was none.
std::vector<std::string> on_ranks(const Ranks& ranks, const std::function<void(Rank&)>& body) {
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(*ranks[i]);
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void expect_no_errors(const std::vector<std::string>& errors) {
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Reducer, RED_3_gradients_are_averaged_when_backward_returns) {
  for (const bool as_views : {false, true}) {
    auto ranks = make_ranks({.bucket_bytes = {16}, .gradients_as_views = as_views}, 4);
    expect_no_errors(on_ranks(ranks, [](Rank& rank) {
      const Tensor y = add(mul(rank.a, vector_of({10})), rank.all());
      for (int step = 1; step <= 3; ++step) {
        rank.reducer->prepare();
        backward({y}, {vector_of({rank.factor()})}, {.keep_graph = true});
        EXPECT_THAT(gradient_values(rank.a), ElementsAre(11 * 5 * step));  // (2 + 6 + 6 + 6) / 4
        EXPECT_THAT(gradient_values(rank.b), ElementsAre(5 * step));
        EXPECT_THAT(gradient_values(rank.c), ElementsAre(5 * step));
      }
    }));
  }
}

TEST(Reducer, RED_3_the_callers_stream_waits_for_the_reduction) {
  const Device device{DeviceType::sim, 0};
  auto seats = make_in_process_group(2, long_limit);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const Stream side = make_stream(device);
      const Tensor w = leaf({1, 1}, ScalarType::float64, device);
      Reducer reducer({{w, "w"}}, seats[static_cast<std::size_t>(r)]);
      const StreamGuard on_side(side);
      reducer.prepare();
      backward({scale(w, 3)}, {vector_of({r == 0 ? 2.0 : 6.0, 8}, ScalarType::float64, device)});
      EXPECT_THAT(gradient_values(w), ElementsAre(12, 24));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Rank 0's gradients are ready in the order of the buckets, rank 1's in another one (B193).
TEST(Reducer, RED_2_buckets_are_reduced_in_index_order_on_every_rank) {
  auto ranks = make_ranks({.bucket_bytes = one_each});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    const Tensor y = rank.group->rank() == 0 ? mul(mul(rank.c, rank.b), rank.a)
                                             : mul(mul(rank.b, rank.a), rank.c);
    rank.step(y);
    EXPECT_THAT(rank.reducer->statistics().launches, ElementsAre(0, 1, 2));
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
  }));
  EXPECT_EQ(ranks[0]->reducer->statistics().parameters[0].place, 0);
  EXPECT_EQ(ranks[1]->reducer->statistics().parameters[2].place, 0);
}

TEST(Reducer, RED_4_is_over_after_the_one_callback_of_the_outermost_pass) {
  auto ranks = make_ranks({});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    // Nested: the gradients of a and b come in an inner pass, that of c in the outer one.
    const Tensor inner = add(rank.a, rank.b);
    const Tensor outer = custom({rank.c}, [&](Gradients g) {
      backward({inner}, {g[0]});
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(rank.factor()));  // not averaged yet
      return g;
    });
    rank.step(outer);
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
    EXPECT_THAT(gradient_values(rank.c), ElementsAre(4));
    EXPECT_EQ(rank.reducer->statistics().passes, 1);
  }));
}

TEST(Reducer, RED_5_what_no_rank_uses_keeps_its_gradient) {
  for (const bool as_views : {false, true}) {
    auto ranks = make_ranks({.find_unused = true, .gradients_as_views = as_views});
    set_gradient(ranks[0]->c, vector_of({5}));
    expect_no_errors(on_ranks(ranks, [](Rank& rank) {
      rank.step(rank.group->rank() == 0 ? add(rank.a, rank.b) : scale(rank.a, 1));
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
      EXPECT_THAT(gradient_values(rank.b), ElementsAre(1));
    }));
    EXPECT_THAT(gradient_values(ranks[0]->c), ElementsAre(5));
    EXPECT_FALSE(gradient(ranks[1]->c).defined());
    EXPECT_EQ(ranks[0]->reducer->statistics().collectives, 2);
  }
}

TEST(Reducer, RED_5_a_rank_may_use_nothing_at_all) {
  auto ranks = make_ranks({.find_unused = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    if (rank.group->rank() == 0) {
      rank.reducer->prepare();
    } else {
      rank.step(rank.all());
    }
    EXPECT_THAT(gradient_values(rank.b), ElementsAre(3));
  }));
}

TEST(Reducer, RED_5_without_the_search_no_map_is_reduced) {
  auto ranks = make_ranks({.bucket_bytes = one_each});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) { rank.step(rank.all()); }));
  EXPECT_EQ(ranks[0]->reducer->statistics().collectives, 3);
}

// A gradient that is "none" is no gradient, but nothing waits for it.
TEST(Reducer, RED_5_an_undefined_gradient_makes_ready_but_is_no_use) {
  auto ranks = make_ranks({.find_unused = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    const Tensor y = custom({rank.a, rank.b, rank.c}, [](Gradients g) {
      return Gradients{g[0], Tensor(), g[0]};
    });
    rank.step(y);
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
    EXPECT_FALSE(gradient(rank.b).defined());
  }));
}

TEST(Reducer, RED_6_a_second_gradient_is_an_error_that_names_the_parameter) {
  auto ranks = make_ranks({.bucket_bytes = one_each});
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    const Tensor used_again = scale(rank.b, 3);
    rank.step(custom({rank.all()}, [&](Gradients g) {
      backward({used_again}, {g[0]});
      return g;
    }));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("'b'"), HasSubstr("second gradient"),
                                 HasSubstr("static_graph"))));
}

TEST(Reducer, RED_6_use_outside_of_the_outputs_is_an_error_that_says_so) {
  auto ranks = make_ranks({.bucket_bytes = one_each, .find_unused = true});
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    const Tensor output = add(rank.a, rank.b);
    rank.reducer->prepare({output});
    rank.backward_of(add(output, rank.c));
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("'c'"), HasSubstr("outputs given to prepare()"))));
}

TEST(Reducer, RED_6_an_incomplete_pass_is_told_of_and_named_by_the_next) {
  auto ranks = make_ranks({});
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    rank.step(rank.a);
    EXPECT_THAT(rank.reducer->missing(), ElementsAre("'b'", "'c'"));
    rank.reducer->prepare();
  });
  EXPECT_THAT(errors,
              Each(AllOf(HasSubstr("no gradient came for 'b', 'c'"), HasSubstr("find_unused"))));
  for (auto& rank : ranks) set_gradient(rank->a, Tensor());
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(rank.all());
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
  }));
}

TEST(Reducer, RED_6_two_passes_may_bring_the_gradients_together) {
  auto ranks = make_ranks({});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(add(rank.a, rank.b));
    rank.backward_of(rank.c);
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
    EXPECT_THAT(gradient_values(rank.c), ElementsAre(4));
  }));
}

// Report B186: b is used in the pass that is not synchronised, and not in the one that is.
TEST(Reducer, RED_7_what_was_accumulated_without_synchronising_is_averaged) {
  for (const bool as_views : {false, true}) {
    auto ranks = make_ranks({.find_unused = true, .gradients_as_views = as_views});
    expect_no_errors(on_ranks(ranks, [](Rank& rank) {
      rank.backward_of(add(rank.a, rank.b));
      EXPECT_THAT(gradient_values(rank.b), ElementsAre(rank.factor()));
      rank.step(rank.a);
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(8));
      EXPECT_THAT(gradient_values(rank.b), ElementsAre(4));
      EXPECT_FALSE(gradient(rank.c).defined());
    }));
  }
}

TEST(Reducer, RED_8_hooks_go_with_the_reducer_and_a_second_one_works) {
  auto ranks = make_ranks({});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.reducer = nullptr;
    rank.reducer = std::make_unique<Reducer>(rank.named(), rank.group);
    for (int step = 1; step <= 3; ++step) rank.step(rank.all());
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(12));
    EXPECT_EQ(rank.reducer->statistics().collectives, 3);
    rank.reducer = nullptr;
    set_gradient(rank.a, Tensor());
    rank.backward_of(rank.all());
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(rank.factor()));
  }));
}

TEST(Reducer, RED_8_a_reducer_that_is_refused_leaves_nothing_behind) {
  const auto seats = make_in_process_group(1, long_limit);
  const Tensor a = leaf({1}), b = vector_of({1});
  EXPECT_THAT(message_of([&] { Reducer({{a, "a"}, {b, "b"}}, seats[0]); }), HasSubstr("'b'"));
  EXPECT_THAT(message_of([&] {
                Reducer({{a, "a"}, {a, "again"}}, seats[0]);
              }),
              HasSubstr("'again' is the same tensor as 'a'"));
  EXPECT_THAT(message_of([&] {
                Reducer({{a, ""}}, seats[0], {.bucket_bytes = {}});
              }),
              HasSubstr("limit"));
  EXPECT_EQ(category_of([&] {
              Reducer({{a, "a"}}, seats[0], {.buckets = {{{0}, {}}}});
            }),
            ErrorCategory::reducer);
  EXPECT_FALSE(accumulator(a)->hooks());
}

// One bucket is reduced already and one is half full when rank 0 fails. Rank 1 is told at once, and
// the same group goes on.
TEST(Reducer, RED_9_a_failed_pass_leaves_nothing_behind_on_any_rank) {
  for (const bool as_views : {false, true}) {
    auto ranks = make_ranks({.buckets = {{{2}, {0, 1}}}, .gradients_as_views = as_views});
    bool fails = true;
    const auto step = [&](Rank& rank) {
      const Tensor failing = custom({rank.a}, [&](Gradients g) -> Gradients {
        if (fails && rank.group->rank() == 0) throw std::runtime_error("a node failed");
        return g;
      });
      rank.step(add(add(failing, rank.b), rank.c));
    };
    const auto errors = on_ranks(ranks, step);
    EXPECT_EQ(errors[0], "a node failed");
    EXPECT_EQ(errors[1],
              "bucket 1 of 2 cannot be reduced: rank 0 gave up: its backward pass failed");
    fails = false;
    for (auto& rank : ranks) {
      for (const Tensor& leaf : {rank->a, rank->b, rank->c}) set_gradient(leaf, Tensor());
    }
    expect_no_errors(on_ranks(ranks, [&](Rank& rank) {
      step(rank);
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(4));
      EXPECT_THAT(gradient_values(rank.c), ElementsAre(4));
      EXPECT_THAT(rank.reducer->missing(), IsEmpty());
    }));
  }
}

TEST(Reducer, RED_9_another_group_after_an_error) {
  auto ranks = make_ranks({.bucket_bytes = one_each}, 2, short_limit);
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    if (rank.group->rank() == 0) rank.step(rank.all());
  });
  EXPECT_EQ(errors[0], "bucket 0 of 3 was not reduced: rank 1 did not come within 50 ms");
  auto seats = make_in_process_group(2, long_limit);
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[i]->group = seats[i];
    ranks[i]->reducer->set_group(seats[i]);
    for (const Tensor& leaf : {ranks[i]->a, ranks[i]->b}) set_gradient(leaf, Tensor());
  }
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(rank.all());
    EXPECT_THAT(gradient_values(rank.b), ElementsAre(4));
  }));
}

TEST(Reducer, RED_10_statistics_say_when_each_parameter_was_ready) {
  auto ranks = make_ranks({.find_unused = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(mul(rank.a, rank.c));
    const auto seen = rank.reducer->statistics().parameters;
    EXPECT_FALSE(seen[1].place || seen[1].ready_after || seen[1].used);
    EXPECT_TRUE(seen[0].used && seen[2].used);
    EXPECT_EQ(*seen[0].place + *seen[2].place, 1);
    const auto [first, second] = *seen[0].place == 0 ? std::pair(0, 2) : std::pair(2, 0);
    EXPECT_LE(*seen[static_cast<std::size_t>(first)].ready_after,
              *seen[static_cast<std::size_t>(second)].ready_after);
  }));
}

TEST(Reducer, RED_11_a_rank_that_leaves_is_named_at_once) {
  auto ranks = make_ranks({});
  const auto errors = on_ranks(ranks, [&](Rank& rank) {
    if (rank.group->rank() == 1) {
      rank.reducer = nullptr;
      rank.group = nullptr;
      return;
    }
    rank.step(rank.all());
  });
  EXPECT_EQ(errors[0], "bucket 0 of 1 cannot be reduced: rank 1 has left the group");
}

TEST(Reducer, RED_11_a_rank_that_gives_up_is_named_with_its_reason) {
  auto ranks = make_ranks({});
  const auto errors = on_ranks(ranks, [&](Rank& rank) {
    if (rank.group->rank() == 0) return rank.step(rank.all());
    rank.reducer->prepare();
    rank.reducer->reset();
  });
  EXPECT_EQ(errors[0], "bucket 0 of 1 cannot be reduced: rank 1 gave up: its reducer was reset");
}

TEST(Reducer, RED_11_ranks_with_other_parameters_are_told_so) {
  auto seats = make_in_process_group(2, long_limit);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const Tensor w = r == 0 ? leaf({1}) : leaf({1, 2});
      Reducer reducer({{w, "w"}}, seats[r]);
      errors[r] = message_of([&] {
        reducer.prepare();
        backward({w}, {r == 0 ? vector_of({1}) : vector_of({1, 2})});
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("float64[1]"), HasSubstr("float64[2]"))));
}

TEST(Reducer, views_are_gradients_that_are_not_copied) {
  auto ranks = make_ranks({.gradients_as_views = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(rank.all());
    const auto after_one = rank.reducer->statistics().bytes_copied;
    EXPECT_EQ(&gradient(rank.a).storage(), &gradient(rank.c).storage());
    rank.step(rank.all());
    EXPECT_EQ(rank.reducer->statistics().bytes_copied, after_one);
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(8));
  }));
}

TEST(Reducer, buckets_are_rebuilt_in_the_order_of_arrival) {
  auto ranks = make_ranks({.bucket_bytes = {8, 16}, .rebuild_buckets = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    for (int step = 1; step <= 3; ++step) {
      rank.step(mul(mul(rank.a, rank.b), rank.c));
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(4 * step));
    }
    EXPECT_THAT(rank.reducer->buckets()[0], ElementsAre(2));
    EXPECT_THAT(rank.reducer->buckets()[1].size(), 2);
    EXPECT_EQ(rank.reducer->statistics().collectives, 7);  // 2 for each step, one order
  }));
}

// Report B190: b comes twice a step, in an inner and the outer pass; c never comes.
TEST(Reducer, static_graph_waits_for_as_many_gradients_as_in_the_first_pass) {
  auto ranks = make_ranks({.bucket_bytes = one_each, .static_graph = true});
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    for (int step = 1; step <= 3; ++step) {
      const Tensor inner = scale(rank.b, 3);
      rank.step(custom({add(rank.a, rank.b)}, [&](Gradients g) {
        backward({inner}, {g[0]});
        return g;
      }));
      EXPECT_THAT(gradient_values(rank.a), ElementsAre(4 * step));
      EXPECT_THAT(gradient_values(rank.b), ElementsAre(16 * step));
      EXPECT_FALSE(gradient(rank.c).defined());
    }
    EXPECT_EQ(rank.reducer->statistics().collectives, 10);  // the map once
  }));
}

TEST(Reducer, static_graph_that_changes_is_an_error_that_names_the_parameter) {
  auto ranks = make_ranks({.static_graph = true});
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    rank.step(add(rank.a, rank.b));
    rank.step(rank.all());
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("'c'"), HasSubstr("static"))));
}

TEST(Reducer, a_communication_hook_takes_the_place_of_the_average) {
  struct Doubled : CollectiveWork {
    Doubled(CollectiveWorkPointer sum, Tensor contents) : sum(std::move(sum)), bucket(contents) {}
    void wait() override {
      sum->wait();
      double_it(bucket);
    }
    static void double_it(const Tensor& tensor) {
      const RecordingGuard off(false);
      scale_(tensor, 2);
    }
    CollectiveWorkPointer sum;
    Tensor bucket;
  };
  ReducerOptions options;
  options.communication_hook = [](ProcessGroup& group, const FullBucket& bucket) {
    return std::make_shared<Doubled>(group.all_reduce(bucket.contents, bucket.what),
                                     bucket.contents);
  };
  auto ranks = make_ranks(options);
  expect_no_errors(on_ranks(ranks, [](Rank& rank) {
    rank.step(rank.all());
    EXPECT_THAT(gradient_values(rank.a), ElementsAre(16));
  }));
}

// Another caller brings b a second gradient while the first one waits for the sums.
TEST(Reducer, RED_9_a_pass_that_fails_beside_one_that_finishes_ends_that_one_too) {
  struct Meanwhile : CollectiveWork {
    explicit Meanwhile(const std::function<void()>& body) : body(body) {}
    void wait() override { body(); }
    const std::function<void()>& body;
  };
  std::function<void()> meanwhile;
  ReducerOptions options;
  options.communication_hook = [&](ProcessGroup&, const FullBucket&) {
    return std::make_shared<Meanwhile>(meanwhile);
  };
  const auto ranks = make_ranks(options, 1);
  const Rank& rank = *ranks[0];
  std::string error_of_other;
  meanwhile = [&] {
    std::thread([&] { error_of_other = message_of([&] { rank.backward_of(rank.b); }); }).join();
  };
  EXPECT_THAT(message_of([&] { rank.step(rank.all()); }),
              HasSubstr("given up while it was reduced"));
  EXPECT_THAT(error_of_other, HasSubstr("a second gradient came for 'b'"));
  EXPECT_THAT(gradient_values(rank.a), ElementsAre(2));
  EXPECT_THAT(gradient_values(rank.b), ElementsAre(4));
  EXPECT_THAT(rank.reducer->missing(), IsEmpty());
}

TEST(Reducer, COMP_1_passes_that_are_replayed_are_averaged) {
  const auto compiler = std::make_shared<Compiler>();
  Engine::default_engine().set_compiler(compiler);
  for (const bool static_graph : {false, true}) {
    auto ranks = make_ranks({.bucket_bytes = one_each, .static_graph = static_graph});
    expect_no_errors(on_ranks(ranks, [](Rank& rank) {
      for (int step = 1; step <= 3; ++step) {
        const Tensor inner = scale(rank.a, 3);
        rank.step(custom({add(rank.b, rank.c)}, [&](Gradients g) {
          backward({inner}, {g[0]});
          return g;
        }));
        EXPECT_THAT(gradient_values(rank.a), ElementsAre(12 * step));
        EXPECT_THAT(gradient_values(rank.b), ElementsAre(4 * step));
      }
    }));
  }
  Engine::default_engine().set_compiler(nullptr);
  // Of 24 passes of two forms, each form may be compiled once by each rank.
  EXPECT_GE(compiler->statistics().hits, 20);
}

TEST(Reducer, a_sparse_gradient_is_refused_in_words) {
  auto ranks = make_ranks({}, 1);
  const auto errors = on_ranks(ranks, [](Rank& rank) {
    rank.reducer->prepare();
    const Tensor sparse =
        make_sparse(from_values(Values{0}, {1, 1}, ScalarType::int64), vector_of({1}), {1});
    backward({custom({rank.a}, [&](Gradients) { return Gradients{sparse}; })}, {vector_of({1})});
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("'a'"), HasSubstr("sparse")));
}

TEST(Reducer, LIFE_1_nothing_is_left) {
  const auto alive = [] {
    return live_count(LiveKind::tensor) + live_count(LiveKind::node) + live_count(LiveKind::pass);
  };
  const auto before = alive();
  {
    auto ranks = make_ranks({.find_unused = true, .gradients_as_views = true});
    expect_no_errors(on_ranks(ranks, [](Rank& rank) { rank.step(rank.all()); }));
    EXPECT_GT(alive(), before);
  }
  EXPECT_EQ(alive(), before);
}

}  // namespace
}  // namespace gradcts::reference
