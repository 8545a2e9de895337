#include "reference_engine/tensor/storage.h"

#include <cstdlib>
#include <new>

#include "reference_engine/device/runtime.h"

namespace gradcts::reference {
namespace {

// Elements of a CPU storage lie behind its header, in one block.
constexpr std::size_t header_bytes = (sizeof(Storage) + 15) / 16 * 16;

}  // namespace

IntrusivePointer<Storage> Storage::allocate(Device device, std::size_t bytes) {
  void* block = std::malloc(header_bytes + (device.is_cpu() ? bytes : 0));
  if (!block) throw std::bad_alloc();
  auto storage = IntrusivePointer<Storage>(new (block) Storage(current_stream(device), bytes));
  storage->data_ = device.is_cpu() ? static_cast<char*>(block) + header_bytes
                                   : runtime(device.type).allocate(storage->stream_, bytes);
  return storage;
}

bool Storage::is_of_current_stream() const {
  if (stream_.device.is_cpu()) return true;
  return !has_crossed_.load(std::memory_order_relaxed) && current_stream(stream_.device) == stream_;
}

void Storage::release() const {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!device().is_cpu() && data_) runtime(device().type).free(data_);
  auto* self = const_cast<Storage*>(this);
  self->~Storage();
  std::free(self);
}

}  // namespace gradcts::reference
