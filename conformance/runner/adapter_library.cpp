#include "conformance/runner/adapter_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace gradcts {
namespace {

struct Inbox {
  int replies = 0;
  std::string text;
};

void take_reply(void* context, const char* text, size_t size) {
  auto& inbox = *static_cast<Inbox*>(context);
  ++inbox.replies;
  if (inbox.replies == 1) inbox.text.assign(text, size);
}

AdapterLibrary::Reply reply_from(int status, Inbox inbox) {
  if (inbox.replies > 1) {
    return {false, fmt::format("the adapter replied {} times to one request", inbox.replies)};
  }
  if (status != 0) {
    return {false, inbox.text.empty()
                       ? fmt::format("the adapter failed with status {} and no reason", status)
                       : inbox.text};
  }
  if (inbox.replies == 0) return {false, "the adapter returned without a reply"};
  return {true, std::move(inbox.text)};
}

// dlerror, without what may follow its first line.
std::string load_error() {
  const char* text = dlerror();
  std::string line = text ? text : "unknown reason";
  return line.substr(0, line.find('\n'));
}

}  // namespace

AdapterLibrary::AdapterLibrary(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw UnusableEngine(fmt::format("engine does not load: {}", load_error()));
  using Entry = const gradcts_adapter_functions* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "gradcts_adapter"));
  if (!entry) {
    throw UnusableEngine(fmt::format("{}: no adapter: it exports no 'gradcts_adapter'", path));
  }
  functions_ = entry();
  if (!functions_) throw UnusableEngine(fmt::format("{}: 'gradcts_adapter' returned null", path));
  if (functions_->interface_version != GRADCTS_INTERFACE_VERSION) {
    throw UnusableEngine(fmt::format("{}: speaks interface version {}; this gradcts speaks {}",
                                     path, functions_->interface_version,
                                     GRADCTS_INTERFACE_VERSION));
  }
}

AdapterLibrary::Reply AdapterLibrary::describe() const {
  Inbox inbox;
  const int status = functions_->describe(take_reply, &inbox);
  return reply_from(status, std::move(inbox));
}

AdapterLibrary::Reply AdapterLibrary::run(std::string_view scenario) const {
  Inbox inbox;
  const int status = functions_->run(scenario.data(), scenario.size(), take_reply, &inbox);
  return reply_from(status, std::move(inbox));
}

}  // namespace gradcts
