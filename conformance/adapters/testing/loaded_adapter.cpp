#include "conformance/adapters/testing/loaded_adapter.h"

#include <dlfcn.h>

#include <stdexcept>

namespace gradcts::testing {

namespace {

void store(void* text, const char* data, std::size_t size) {
  static_cast<std::string*>(text)->assign(data, size);
}

std::string checked(int status, std::string reply) {
  if (status != 0) throw std::runtime_error(reply);
  return reply;
}

}  // namespace

LoadedAdapter::LoadedAdapter(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  using Entry = const gradcts_adapter_functions* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "gradcts_adapter"));
  if (!entry) throw std::runtime_error(path + " exports no gradcts_adapter");
  functions_ = entry();
}

Description LoadedAdapter::describe() const {
  std::string reply;
  const int status = functions_->describe(store, &reply);
  return read_description(parse_json(checked(status, std::move(reply))));
}

std::string LoadedAdapter::run_text(const std::string& scenario) const {
  std::string reply;
  const int status = functions_->run(scenario.data(), scenario.size(), store, &reply);
  return checked(status, std::move(reply));
}

Outcome LoadedAdapter::run(const Scenario& scenario) const {
  return read_outcome(parse_json(run_text(write_scenario(scenario).dump())), scenario);
}

}  // namespace gradcts::testing
