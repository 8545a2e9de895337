#include "conformance/runner/stack_text.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <string.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "conformance/runner/elf_symbols.h"

namespace gradcts {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? std::string(text.get()) : name;
}

// Where a frame is, from a line like "/lib/libx.so(_Zfoo+0x12)[0x7f..]" or
// "/lib/libx.so(+0x3f0)[..]".
struct Place {
  std::string path;
  std::string function;      // empty: not exported
  std::uint64_t offset = 0;  // into the function, else into the file
};

std::optional<Place> place_of(const std::string& line) {
  const std::size_t open = line.find('(');
  const std::size_t plus = line.find("+0x", open == std::string::npos ? line.size() : open);
  if (plus == std::string::npos) return std::nullopt;
  return Place{line.substr(0, open), line.substr(open + 1, plus - open - 1),
               std::strtoull(line.c_str() + plus + 1, nullptr, 16)};
}

// Finds names that are not exported; reads each file once.
class Names {
 public:
  void fill(Place& place) {
    if (!place.function.empty()) return;
    const auto file = files_.try_emplace(place.path, place.path).first;
    const ElfSymbols::Function* function = file->second.find(place.offset);
    if (!function) return;
    place.function = function->name;
    place.offset -= function->start;
  }

 private:
  std::map<std::string, ElfSymbols> files_;
};

std::string frame_text(const std::string& line, Names& names) {
  auto place = place_of(line);
  if (!place) return line;
  names.fill(*place);
  const std::string library = place->path.substr(place->path.rfind('/') + 1);
  if (place->function.empty()) return fmt::format("{} +{:#x}", library, place->offset);
  return fmt::format("{} +{:#x} in {}", demangled(place->function), place->offset, library);
}

ThreadStack thread_from(std::istringstream& words) {
  ThreadStack thread;
  words >> thread.thread >> thread.state >> std::ws;
  std::getline(words, thread.name);
  return thread;
}

void take_line(StackReport& report, const std::string& line, Names& names) {
  std::istringstream words(line);
  std::string first;
  words >> first;
  if (first == "report") {
    words >> first;
    report.crash = first == "crash";
    std::uint64_t address = 0;
    if (report.crash && words >> report.signal >> std::hex >> address) report.address = address;
  } else if (first == "thread") {
    report.threads.push_back(thread_from(words));
  } else if (first == "more") {
    words >> report.threads_left_out;
  } else if (first == "end") {
    report.complete = true;
  } else if (!report.threads.empty() && !line.empty()) {
    report.threads.back().frames.push_back(frame_text(line, names));
  }
}

// A recursion is told by its length.
std::string frames_text(const std::vector<std::string>& frames) {
  std::string text;
  for (std::size_t i = 0; i < frames.size();) {
    std::size_t end = i + 1;
    while (end < frames.size() && frames[end] == frames[i]) ++end;
    text += fmt::format("    #{} {}", i, frames[i]);
    text += end - i > 1 ? fmt::format("  ({} times)\n", end - i) : "\n";
    i = end;
  }
  return text;
}

}  // namespace

StackReport read_stack_report(std::string_view text) {
  StackReport report;
  Names names;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) take_line(report, line, names);
  return report;
}

std::string to_text(const StackReport& report) {
  std::string text;
  for (const ThreadStack& thread : report.threads) {
    const std::string state = thread.state == "silent"    ? "did not answer"
                              : thread.state == "crashed" ? "crashed"
                                                          : "";
    text += fmt::format("  thread {} \"{}\"{}{}\n", thread.thread, thread.name,
                        state.empty() ? "" : " ", state);
    text += frames_text(thread.frames);
  }
  if (report.threads_left_out > 0) {
    text += fmt::format("  and {} more threads\n", report.threads_left_out);
  }
  if (!report.complete) text += "  (the stacks end here: the process could not tell more)\n";
  return text;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace gradcts
