// Finds engines: shared libraries that export the adapter interface
// (conformance/adapters/adapter.h).
//
// An engine is given by name or by the path of its library. A name stands for `libgradcts-NAME.so`
// in the first of these folders that has it: those in GRADCTS_ENGINE_PATH (separated by ':'), then
// ../lib/gradcts and ../lib/<multiarch>/gradcts as seen from the command. Nothing is loaded here.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace gradcts {

struct EngineFile {
  std::string name;  // "libtorch"
  std::string path;
};

// The user named an engine that is not there; one clear line that lists those that are.
class UnknownEngine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where engines are looked for, in order.
std::vector<std::string> engine_folders();

// The engines in those folders, sorted by name; the first of two with one name counts.
std::vector<EngineFile> all_engines(const std::vector<std::string>& folders = engine_folders());

// A text with a '/' is a path, anything else a name. Throws UnknownEngine.
EngineFile find_engine(const std::string& name_or_path,
                       const std::vector<std::string>& folders = engine_folders());

// The folder of the running program.
std::string program_folder();

}  // namespace gradcts
