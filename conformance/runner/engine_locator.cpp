#include "conformance/runner/engine_locator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>

namespace gradcts {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view library_prefix = "libgradcts-";
constexpr std::string_view library_suffix = ".so";
constexpr std::string_view program_prefix = "gradcts-";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_executable(const fs::path& path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

// "libtorch" for "libgradcts-libtorch.so", "jax" for the program "gradcts-jax"; empty for other
// files.
std::string engine_name(const fs::path& file) {
  std::string name = file.filename().string();
  if (!is_program(name)) {
    if (!name.starts_with(library_prefix)) return {};
    if (name.size() <= library_prefix.size() + library_suffix.size()) return {};
    name.resize(name.size() - library_suffix.size());
    return name.substr(library_prefix.size());
  }
  const bool named = name.starts_with(program_prefix) && name.find('.') == std::string::npos;
  return named && is_executable(file) ? name.substr(program_prefix.size()) : std::string();
}

EngineFile engine_at(const std::string& path) {
  if (!is_file(path)) {
    std::error_code ignored;
    throw UnknownEngine(fmt::format("no engine at '{}': {}", path,
                                    fs::is_directory(path, ignored) ? "a folder" : "no such file"));
  }
  if (is_program(path) && !is_executable(path)) {
    throw UnknownEngine(fmt::format(
        "no engine at '{0}': a library's name ends in .so, and a program must be executable "
        "(chmod +x {0})",
        path));
  }
  const std::string name = engine_name(path);
  return {name.empty() ? fs::path(path).stem().string() : name, fs::absolute(path).string()};
}

// None when the folder cannot be read.
std::vector<fs::path> sorted_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    if (is_file(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string list_of(const std::vector<EngineFile>& engines,
                    const std::vector<std::string>& folders) {
  if (engines.empty()) return fmt::format("there is none in {}", fmt::join(folders, ", "));
  std::vector<std::string> names;
  for (const EngineFile& engine : engines) names.push_back(engine.name);
  return fmt::format("there are: {}", fmt::join(names, ", "));
}

}  // namespace

bool is_program(const std::string& path) {
  return !path.ends_with(library_suffix);
}

std::string program_folder() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  return failure ? std::string(".") : program.parent_path().string();
}

std::vector<std::string> engine_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("GRADCTS_ENGINE_PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');) {
      if (!entry.empty()) folders.push_back(entry);
    }
  }
  const fs::path library = fs::path(program_folder()).parent_path() / "lib";
  folders.push_back((library / "gradcts").string());
#ifdef GRADCTS_MULTIARCH
  folders.push_back((library / GRADCTS_MULTIARCH / "gradcts").string());
#endif
  return folders;
}

std::vector<EngineFile> all_engines(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> found;
  for (const std::string& folder : folders) {
    for (const fs::path& file : sorted_files(folder)) {
      const std::string name = engine_name(file);
      if (!name.empty()) found.emplace(name, fs::absolute(file).string());
    }
  }
  std::vector<EngineFile> engines;
  for (const auto& [name, path] : found) engines.push_back({name, path});
  return engines;
}

EngineFile find_engine(const std::string& name_or_path, const std::vector<std::string>& folders) {
  if (name_or_path.find('/') != std::string::npos) return engine_at(name_or_path);
  const std::vector<EngineFile> engines = all_engines(folders);
  for (const EngineFile& engine : engines) {
    if (engine.name == name_or_path) return engine;
  }
  throw UnknownEngine(fmt::format("no engine '{}'; {}", name_or_path, list_of(engines, folders)));
}

}  // namespace gradcts
