// The compiled engine: what is compiled, what is found again, and that it is the same.
#include "reference_engine/compiled/compiler.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto keep = BackwardOptions{.keep_graph = true};

class Compiled : public ::testing::Test {
 protected:
  explicit Compiled(std::size_t most_programs = 1024)
      : compiler(std::make_shared<Compiler>(most_programs)) {
    compiler->set_log([this](const std::string& line) { log.push_back(line); });
    Engine::default_engine().set_compiler(compiler);
  }
  ~Compiled() override { Engine::default_engine().set_compiler(nullptr); }

  std::uint64_t compiles() const { return compiler->statistics().compiles; }
  std::uint64_t hits() const { return compiler->statistics().hits; }

  std::shared_ptr<Compiler> compiler;
  std::vector<std::string> log;
};

TEST_F(Compiled, COMP_1_a_chain_is_captured_and_replayed) {
  for (int i = 1; i <= 3; ++i) {
    Tensor x = leaf({2.0 * i, 3});
    backward({mul(exp(scale(x, 0)), x)}, {vector_of({5, 7})});
    EXPECT_THAT(gradient_values(x), ElementsAre(5, 7));
  }
  EXPECT_EQ(compiles(), 1);
  EXPECT_EQ(hits(), 2);
}

}  // namespace
}  // namespace gradcts::reference
