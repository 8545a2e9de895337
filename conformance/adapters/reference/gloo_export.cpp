// The reference engine with ranks over Gloo, as an engine under test: the rules of reducers (RED)
// over real connections. Each rank has its own; they are threads of one process, as scenarios have
// them.
#include <stdlib.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "conformance/adapters/kit/export.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/adapters/reference/reference_binding.h"
#include "reference_engine/distributed/gloo_group.h"

namespace gradcts {
namespace {

namespace ref = gradcts::reference;
using reference_adapter::Binding;
using Seats = std::vector<ref::ProcessGroupPointer>;

// Where the ranks of one group meet.
class MeetingFolder {
 public:
  MeetingFolder() {
    path_ = (std::filesystem::temp_directory_path() / "gradcts-gloo-XXXXXX").string();
    if (!mkdtemp(path_.data())) {
      throw std::system_error(errno, std::system_category(),
                              "no folder for ranks to meet, " + path_);
    }
  }
  ~MeetingFolder() {
    std::error_code it_stays;
    std::filesystem::remove_all(path_, it_stays);
  }
  MeetingFolder(const MeetingFolder&) = delete;
  MeetingFolder& operator=(const MeetingFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The folder is there for as long as one of them.
struct Seat {
  std::shared_ptr<MeetingFolder> folder;
  ref::ProcessGroupPointer group;
};

// All ranks connect at the same time.
Seats make_seats(int size, std::chrono::milliseconds limit) {
  const auto folder = std::make_shared<MeetingFolder>();
  Seats seats(static_cast<std::size_t>(size));
  std::exception_ptr trouble;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto seat = std::make_shared<Seat>(
            Seat{folder, ref::make_gloo_group(rank, size, folder->path(), {limit})});
        seats[static_cast<std::size_t>(rank)] = {seat, seat->group.get()};
      } catch (...) {
        const std::lock_guard lock(mutex);
        trouble = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (trouble) std::rethrow_exception(trouble);
  return seats;
}

struct EngineOverGloo {
  // Gloo takes tensors on the CPU alone.
  static Description describe() {
    Description description = Binding::describe();
    description.name = "reference-gloo";
    std::erase_if(description.features,
                  [](const std::string& feature) { return feature.starts_with("device."); });
    return description;
  }

  static Outcome run(std::shared_ptr<const Scenario> scenario) {
    Binding::set_make_group(make_seats);
    return run_on_reference(std::move(scenario));
  }
};

}  // namespace
}  // namespace gradcts

GRADCTS_EXPORT_ADAPTER(gradcts::EngineOverGloo)
