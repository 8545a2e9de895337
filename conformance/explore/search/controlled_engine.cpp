#include "conformance/explore/search/controlled_engine.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <thread>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

// In the engine's library, or else in one that was preloaded.
void* find(const std::string& path, const char* name) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  return found != nullptr ? found : dlsym(RTLD_DEFAULT, name);
}

}  // namespace

ControlledEngine::ControlledEngine(const std::string& path) : library_(path) {
  begin_ = reinterpret_cast<gradcts_schedule_begin_function*>(find(path, "gradcts_schedule_begin"));
  end_ = reinterpret_cast<gradcts_schedule_end_function*>(find(path, "gradcts_schedule_end"));
  if (begin_ == nullptr || end_ == nullptr) {
    throw UnusableEngine(fmt::format(
        "{}: was not rebuilt for controlled schedules, and libgradcts-schedule.so is not preloaded",
        path));
  }
  const AdapterLibrary::Reply reply = library_.describe();
  if (!reply.ok) throw UnusableEngine(fmt::format("{}: {}", path, reply.text));
  description_ = read_description(parse_json(reply.text));
}

// A new thread has nothing on it of the schedule before.
AdapterLibrary::Reply ControlledEngine::take(const gradcts_schedule_options& options,
                                             const std::string& scenario,
                                             gradcts_schedule_result& result) const {
  AdapterLibrary::Reply reply;
  int error = 0;
  std::thread([&] {
    error = begin_(&options);
    if (error != 0) return;
    reply = library_.run(scenario);
    end_(&result);
  }).join();
  if (error != 0) return {false, fmt::format("the schedule could not begin (error {})", error)};
  return reply;
}

}  // namespace gradcts
