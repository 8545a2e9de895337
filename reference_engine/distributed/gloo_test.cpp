// The reducer over ranks that are processes, with Gloo over TCP on the loopback interface.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "reference_engine/distributed/gloo_group.h"
#include "reference_engine/distributed/reducer.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Longer than a test that passes ever waits, and shorter than the time limit of the program.
constexpr GlooLimits limit{std::chrono::seconds(30)};

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
                      make_gloo_group(rank, 3, folder, limit),
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

// Rank 2 is killed when bucket 0 has been reduced and bucket 1 has not.
TEST(Gloo, RED_11_a_rank_that_is_killed_is_an_error_for_the_others) {
  const auto said = in_processes(3, [&](int rank, const std::string& folder) -> std::string {
    const Tensor a = leaf({1}), b = leaf({1});
    auto group = make_gloo_group(rank, 3, folder, limit);
    Reducer reducer({{b, "b"}, {a, "a"}}, group, {.bucket_bytes = {1}});
    const Tensor y = add(custom({a},
                                [&](Gradients g) -> Gradients {
                                  group->all_reduce(ones({1}), "a sign of life")->wait();
                                  if (rank == 2) raise(SIGKILL);
                                  return g;
                                }),
                         b);
    reducer.prepare();
    backward({y}, {vector_of({1})});
    return "no error";
  });
  EXPECT_THAT(said[0], AllOf(HasSubstr("bucket 1 of 2 cannot be reduced"), HasSubstr("rank")));
  EXPECT_THAT(said[1], AllOf(HasSubstr("bucket 1 of 2 cannot be reduced"), HasSubstr("rank")));
  EXPECT_EQ(said[2], "ended by signal 9");
}

// Rank 0 fails when b's gradient has come, of which the reducer learns, or before any has, when it
// must be told: rank 1's connection ends, and not its patience.
TEST(Gloo, RED_9_a_failed_pass_is_an_error_for_the_others_and_another_group_works) {
  for (const bool is_told : {false, true}) {
    const auto said = in_processes(2, [&](int rank, const std::string& folder) {
      const Tensor a = leaf({1}), b = leaf({1});
      Reducer reducer({{a, "a"}, {b, "b"}}, make_gloo_group(rank, 2, folder + "/first", limit));
      bool fails = rank == 0;
      const auto fail_or_pass_on = [&](Gradients g) -> Gradients {
        if (fails) throw std::runtime_error("a node failed");
        return g;
      };
      const auto step = [&] {
        const Tensor y =
            is_told ? custom({add(a, b)}, fail_or_pass_on) : add(custom({a}, fail_or_pass_on), b);
        reducer.prepare();
        backward({y}, {vector_of({rank == 0 ? 2.0 : 6.0})});
      };
      const std::string first = message_of(step);
      if (is_told) reducer.reset();
      fails = false;
      for (const Tensor& leaf : {a, b}) set_gradient(leaf, Tensor());
      reducer.set_group(make_gloo_group(rank, 2, folder + "/second", limit));
      step();
      return first + " | " + in_words(gradient_values(a));
    });
    EXPECT_EQ(said[0], "a node failed | 4 ");
    EXPECT_THAT(said[1], AllOf(HasSubstr("bucket 0 of 1 cannot be reduced"), HasSubstr("| 4 "),
                               HasSubstr("by peer")));
  }
}

// Rank 1 lives, and does nothing, until rank 0 has said what it has to say.
TEST(Gloo, RED_11_a_rank_that_does_not_come_is_an_error_within_the_limit) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto said = in_processes(2, [&](int rank, const std::string& folder) -> std::string {
    const auto group = make_gloo_group(rank, 2, folder, {std::chrono::milliseconds(2000)});
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
  EXPECT_THAT(said[0], AllOf(HasSubstr("bucket 0 of 1 cannot be reduced"), HasSubstr("2000 ms")));
  EXPECT_EQ(said[1], "was there");
}

TEST(Gloo, types_and_devices_that_it_lacks_are_refused_in_words) {
  const auto said = in_processes(1, [](int rank, const std::string& folder) {
    const auto group = make_gloo_group(rank, 1, folder, limit);
    return message_of([&] { group->all_reduce(ones({1}, ScalarType::bfloat16), "bucket 0"); });
  });
  EXPECT_THAT(said[0], AllOf(HasSubstr("bucket 0, bfloat16[1] on cpu"), HasSubstr("Gloo")));
}

}  // namespace
}  // namespace gradcts::reference
