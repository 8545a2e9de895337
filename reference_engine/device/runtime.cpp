#include "reference_engine/device/runtime.h"

#include <array>

#include "reference_engine/device/simulated_runtime.h"
#include "reference_engine/error.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

// Runtimes are replaced rarely and used often: the list owns all that ever were, so that a
// reference stays good without a lock.
struct Registry {
  Registry() {
    put(DeviceType::sim, std::make_shared<SimulatedRuntime>(DeviceType::sim, 2));
    put(DeviceType::other, std::make_shared<SimulatedRuntime>(DeviceType::other, 1));
  }

  void put(DeviceType type, std::shared_ptr<DeviceRuntime> runtime) {
    LockGuard lock(mutex);
    current[static_cast<std::size_t>(type)].store(runtime.get(), std::memory_order_release);
    owned.push_back(std::move(runtime));
  }

  Mutex mutex;
  std::vector<std::shared_ptr<DeviceRuntime>> owned GRADCTS_GUARDED_BY(mutex);
  std::array<CountAtomic<DeviceRuntime*>, device_type_count> current{};
};

Registry& registry() {
  static Registry* const instance = new Registry;  // device threads may outlive main()
  return *instance;
}

}  // namespace

DeviceRuntime& runtime(DeviceType type) {
  DeviceRuntime* found =
      registry().current[static_cast<std::size_t>(type)].load(std::memory_order_acquire);
  if (!found) {
    throw Error(ErrorCategory::invalid_argument,
                "no devices of type " + to_string(type) + " are available");
  }
  return *found;
}

void register_runtime(DeviceType type, std::shared_ptr<DeviceRuntime> runtime) {
  registry().put(type, std::move(runtime));
}

}  // namespace gradcts::reference
