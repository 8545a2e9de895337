// The reducer over ranks that are processes, with Gloo over TCP on the loopback interface.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "reference_engine/distributed/gloo_group.h"
#include "reference_engine/distributed/reducer.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// Longer than a test that passes ever waits, and shorter than the time limit of the program.
constexpr GlooLimits limits{std::chrono::seconds(30)};

// What one rank does, in a process of its own; what it returns is what it has to say.
using RankBody = std::function<std::string(int rank, const std::string& folder)>;

// Forks the ranks and returns what each said, or how it died.
std::vector<std::string> in_processes(int size, const RankBody& body) {
  std::string folder = (std::filesystem::temp_directory_path() / "gradcts-gloo-XXXXXX").string();
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  struct Child {
    pid_t process;
    int reader;
  };
  std::vector<Child> children;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      std::string said;
      try {
        said = body(rank, folder);
      } catch (const std::exception& error) {
        said = error.what();
      }
      const auto written = write(ends[1], said.data(), said.size());
      _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(ends[1]);
    children.push_back({process, ends[0]});
  }
  std::vector<std::string> said;
  for (const Child& child : children) {
    std::string& text = said.emplace_back();
    char buffer[512];
    for (ssize_t got = 0; (got = read(child.reader, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    close(child.reader);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (WIFSIGNALED(status)) text += "ended by signal " + std::to_string(WTERMSIG(status));
  }
  std::filesystem::remove_all(folder);
  return said;
}

std::string in_words(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += std::to_string(static_cast<int>(number)) + " ";
  return text;
}

TEST(Gloo, RED_3_processes_average_their_gradients) {
  for (const ScalarType type :
       {ScalarType::float32, ScalarType::float64, ScalarType::float16, ScalarType::complex64}) {
    const auto said = in_processes(3, [&](int rank, const std::string& folder) {
      const auto make = [&](const Shape& shape) {
        const Tensor made = ones(shape, type);
        set_requires_grad(made, true);
        return made;
      };
      const Tensor a = make({4}), b = make({1}), unused = make({1});
      Reducer reducer({{a, "a"}, {b, "b"}, {unused, "unused"}},
                      make_gloo_group(rank, 3, folder, limits),
                      {.bucket_bytes = {1}, .find_unused = true});
      for (int step = 0; step < 3; ++step) {
        const Tensor y = add(scale(a, 2), b);
        reducer.prepare({y});
        backward({y}, {full(y.shape(), 3 * rank, type)});  // 3 on average
      }
      return in_words(gradient_values(a)) + "| " + in_words(gradient_values(b)) +
             (gradient(unused).defined() ? "| defined" : "");
    });
    const bool is_complex_type = is_complex(type);  // of each number the imaginary part as well
    EXPECT_THAT(said, Each(is_complex_type ? "18 0 18 0 18 0 18 0 | 36 0 " : "18 18 18 18 | 36 "))
        << to_string(type);
  }
}

// Sums of numbers that are rounded: in whatever order Gloo adds, all get the same.
TEST(Gloo, RED_3_all_ranks_get_the_same_bits) {
  const auto said = in_processes(4, [&](int rank, const std::string& folder) {
    const auto group = make_gloo_group(rank, 4, folder, limits);
    Values numbers;
    for (int i = 0; i < 1000; ++i) numbers.push_back(std::sin(1 + i + 1000 * rank));
    const Tensor sum = vector_of(numbers);
    group->all_reduce(sum, "a sum")->wait();
    std::string bits;
    for (const double number : values(sum)) {
      bits += std::to_string(std::bit_cast<std::uint64_t>(number)) + " ";
    }
    return bits;
  });
  EXPECT_THAT(said, Each(said[0]));
  EXPECT_GT(said[0].size(), 1000U);
}

// Rank 2 is killed when bucket 0 has been reduced and bucket 1 has not.
TEST(Gloo, RED_11_a_rank_that_is_killed_is_an_error_for_the_others) {
  const auto said = in_processes(3, [&](int rank, const std::string& folder) -> std::string {
    const Tensor a = leaf({1}), b = leaf({1});
    auto group = make_gloo_group(rank, 3, folder, limits);
    Reducer reducer({{b, "b"}, {a, "a"}}, group, {.bucket_bytes = {1}});
    const Tensor y = add(custom({a},
                                [&](Gradients g) -> Gradients {
                                  group->all_reduce(ones({1}), "a sign of life")->wait();
                                  if (rank == 2) raise(SIGKILL);
                                  return g;
                                }),
                         b);
    const auto step = [&] { backward({y}, {vector_of({1})}, {.keep_graph = true}); };
    reducer.prepare();
    const std::string first = message_of(step);
    reducer.prepare();
    return first + " | " + message_of(step);
  });
  // Who of the two is done first has left as well.
  const std::string names_it =
      "bucket 1 of 2 cannot be reduced: rank 2 has left the group \\| "
      "a sign of life cannot be reduced: rank [012] has left the group";
  EXPECT_THAT(said[0], MatchesRegex(names_it));
  EXPECT_THAT(said[1], MatchesRegex(names_it));
  EXPECT_EQ(said[2], "ended by signal 9");
}

// Rank 0 fails when b's gradient has come, of which the reducer learns, or before any has, when it
// must be told: rank 1's connection ends, and not its patience. Then they go on, with the same
// group or another.
TEST(Gloo, RED_9_after_a_failed_pass_the_same_group_works_and_another_does) {
  for (const bool is_told : {false, true}) {
    const auto said = in_processes(2, [&](int rank, const std::string& folder) {
      const Tensor a = leaf({1}), b = leaf({1});
      Reducer reducer({{a, "a"}, {b, "b"}}, make_gloo_group(rank, 2, folder + "/first", limits));
      bool fails = rank == 0;
      const auto fail_or_pass_on = [&](Gradients g) -> Gradients {
        if (fails) throw std::runtime_error("a node failed");
        return g;
      };
      const auto step = [&] {
        const Tensor y =
            is_told ? custom({add(a, b)}, fail_or_pass_on) : add(custom({a}, fail_or_pass_on), b);
        for (const Tensor& leaf : {a, b}) set_gradient(leaf, Tensor());
        reducer.prepare();
        backward({y}, {vector_of({rank == 0 ? 2.0 : 6.0})});
      };
      const std::string first = message_of(step);
      if (is_told) reducer.reset();
      fails = false;
      step();
      const std::string second = in_words(gradient_values(a));
      reducer.set_group(make_gloo_group(rank, 2, folder + "/second", limits));
      step();
      return first + " | " + second + "| " + in_words(gradient_values(a));
    });
    EXPECT_EQ(said[0], "a node failed | 4 | 4 ");
    EXPECT_EQ(
        said[1],
        is_told ? "bucket 0 of 1 cannot be reduced: rank 0 gave up: its reducer was reset | 4 | 4 "
                : "bucket 0 of 1 cannot be reduced: rank 0 gave up: its backward pass failed | "
                  "4 | 4 ");
  }
}

// Rank 0 gives up again and again, with sums on their way or without; the others learn of each.
TEST(Gloo, RED_9_rounds_that_are_given_up_many_times_leave_nothing_behind) {
  constexpr int rounds = 20;
  const auto said = in_processes(3, [&](int rank, const std::string& folder) -> std::string {
    const auto group = make_gloo_group(rank, 3, folder, limits);
    const auto reduce = [&] {
      const Tensor sum = vector_of({rank + 1.0});
      group->all_reduce(sum, "a sum")->wait();
      return in_words(values(sum));
    };
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        if (round % 2 == 0) group->all_reduce(ones({1}), "a sum");
        group->give_up("round " + std::to_string(round));
        continue;
      }
      const std::string error = message_of([&] { reduce(); });
      if (error.find("cannot be reduced: rank ") == std::string::npos) return error;
      group->give_up(error);
    }
    return reduce();
  });
  EXPECT_THAT(said, Each("6 "));
}

// Rank 1 lives, and does nothing, until rank 0 has said what it has to say.
TEST(Gloo, RED_11_a_rank_that_does_not_come_is_an_error_within_the_limit) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto said = in_processes(2, [&](int rank, const std::string& folder) -> std::string {
    const auto group = make_gloo_group(rank, 2, folder, {std::chrono::milliseconds(100)});
    char sign = 0;
    if (rank == 1) return read(ends[0], &sign, 1) == 1 ? "was there" : "read nothing";
    const Tensor a = leaf({1});
    Reducer reducer({{a, "a"}}, group);
    reducer.prepare();
    const std::string error = message_of([&] { backward({a}, {vector_of({1})}); });
    return write(ends[1], &sign, 1) == 1 ? error : "wrote nothing";
  });
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(said[0], "bucket 0 of 1 cannot be reduced: rank 1 did not come within 100 ms");
  EXPECT_EQ(said[1], "was there");
}

// Whoever comes second sees it, and the other one sees that.
TEST(Gloo, RED_11_a_rank_that_does_something_else_is_an_error_at_once) {
  const auto said = in_processes(2, [&](int rank, const std::string& folder) {
    const auto group = make_gloo_group(rank, 2, folder, limits);
    const std::string error =
        message_of([&] { group->all_reduce(ones({rank + 1}), "bucket 0")->wait(); });
    group->give_up(error);
    return error;
  });
  EXPECT_THAT(said[0], StartsWith("bucket 0 cannot be reduced: rank 1 "));
  EXPECT_THAT(said[1], StartsWith("bucket 0 cannot be reduced: rank 0 "));
  EXPECT_THAT(said, Each(HasSubstr("reduces something else")));
}

TEST(Gloo, RED_11_a_rank_that_is_never_there_is_an_error_within_the_limit) {
  const auto said = in_processes(2, [&](int rank, const std::string& folder) -> std::string {
    if (rank == 1) return "";
    return message_of([&] {
      make_gloo_group(rank, 3, folder, {limits.collective, std::chrono::milliseconds(100)});
    });
  });
  EXPECT_THAT(said[0], StartsWith("rank 0 found not all of the 3 ranks in "));
  EXPECT_THAT(said[0], EndsWith(": rank 1 did not come within 100 ms"));
}

TEST(Gloo, RED_11_a_seat_that_is_taken_is_refused) {
  const auto said = in_processes(1, [&](int rank, const std::string& folder) {
    const auto group = make_gloo_group(rank, 1, folder, limits);
    return message_of([&] { make_gloo_group(rank, 1, folder, limits); });
  });
  EXPECT_THAT(said[0], HasSubstr("there is another rank 0 of 1 at"));
}

TEST(Gloo, types_and_devices_that_it_lacks_are_refused_in_words) {
  const auto said = in_processes(1, [](int rank, const std::string& folder) {
    const auto group = make_gloo_group(rank, 1, folder, limits);
    return message_of([&] { group->all_reduce(ones({1}, ScalarType::bfloat16), "bucket 0"); });
  });
  EXPECT_THAT(said[0], AllOf(HasSubstr("bucket 0, bfloat16[1] on cpu"), HasSubstr("Gloo")));
}

}  // namespace
}  // namespace gradcts::reference
