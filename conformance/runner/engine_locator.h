// Finds engines: shared libraries that export the adapter interface
// (conformance/adapters/adapter.h) and programs that speak over their standard input and output
// (docs/protocol.md).
//
// An engine is given by name or by path. A name stands for the library `libgradcts-NAME.so` or the
// program `gradcts-NAME` in the first of these folders that has one: those in GRADCTS_ENGINE_PATH
// (separated by ':'), then ../lib/gradcts and ../lib/<multiarch>/gradcts as seen from the command.
// A file whose name ends in `.so` is a library; any other is a program, which must be executable.
// Nothing is loaded or started here.
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

// A text with a '/' is a path, anything else a name. Throws UnknownEngine: nothing is there, or it
// is neither a library nor executable.
EngineFile find_engine(const std::string& name_or_path,
                       const std::vector<std::string>& folders = engine_folders());

// Whether the file is to be started as a program, and not loaded as a library.
bool is_program(const std::string& path);

// The folder of the running program.
std::string program_folder();

}  // namespace gradcts
