#include "conformance/runner/engine_locator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "conformance/scenario/test_folder.h"

namespace gradcts {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Two folders, the first of which hides an engine of the second.
class EngineLocator : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"a/libgradcts-one.so", "b/libgradcts-one.so", "b/libgradcts-two.so",
                             "b/libother.so", "b/libgradcts-.so", "b/libgradcts-three.so.1"}) {
      fs::create_directories((root_ / file).parent_path());
      std::ofstream(root_ / file) << "x";
    }
    folders_ = {(root_ / "a").string(), (root_ / "b").string(), (root_ / "none").string()};
  }

  std::string complaint(const std::string& engine) {
    try {
      find_engine(engine, folders_);
    } catch (const UnknownEngine& problem) {
      return problem.what();
    }
    return "none";
  }

  TestFolder root_;
  std::vector<std::string> folders_;
};

TEST_F(EngineLocator, ListsByNameAndTheFirstFolderWins) {
  const auto engines = all_engines(folders_);
  ASSERT_EQ(engines.size(), 2u);
  EXPECT_EQ(engines[0].name, "one");
  EXPECT_EQ(engines[0].path, (root_ / "a/libgradcts-one.so").string());
  EXPECT_EQ(engines[1].name, "two");
}

TEST_F(EngineLocator, FindsByNameAndByPath) {
  EXPECT_EQ(find_engine("two", folders_).path, (root_ / "b/libgradcts-two.so").string());
  const std::string path = (root_ / "b/libother.so").string();
  EXPECT_EQ(find_engine(path, folders_).path, path);
}

TEST_F(EngineLocator, AnUnknownNameListsThoseThatExist) {
  EXPECT_EQ(complaint("three"), "no engine 'three'; there are: one, two");
  EXPECT_THAT(complaint("./nothing.so"), HasSubstr("no such file"));
  folders_ = {(root_ / "none").string()};
  EXPECT_THAT(complaint("one"), HasSubstr("there is none in " + folders_[0]));
}

TEST_F(EngineLocator, FindsPrograms) {
  const auto write = [&](const char* file, int mode) {
    std::ofstream(root_ / file) << "x";
    chmod((root_ / file).c_str(), mode);
    return (root_ / file).string();
  };
  const std::string program = write("a/gradcts-four", 0755);
  write("a/gradcts-five", 0644);
  write("a/gradcts-six.py", 0755);
  write("a/gradcts-", 0755);
  ASSERT_EQ(all_engines(folders_).size(), 3u);
  EXPECT_EQ(find_engine("four", folders_).path, program);
  EXPECT_TRUE(is_program(program));
  EXPECT_FALSE(is_program((root_ / "b/libgradcts-two.so").string()));
  const std::string script = write("a/my_engine.py", 0755);
  EXPECT_EQ(find_engine(script, folders_).name, "my_engine");
  EXPECT_THAT(complaint(write("a/other.py", 0644)), HasSubstr("chmod +x"));
}

TEST_F(EngineLocator, TheEnvironmentComesFirst) {
  setenv("GRADCTS_ENGINE_PATH", (folders_[1] + ":" + folders_[0]).c_str(), 1);
  const auto folders = engine_folders();
  unsetenv("GRADCTS_ENGINE_PATH");
  ASSERT_GE(folders.size(), 3u);
  EXPECT_EQ(folders[0], folders_[1]);
  EXPECT_EQ(folders[1], folders_[0]);
}

}  // namespace
}  // namespace gradcts
