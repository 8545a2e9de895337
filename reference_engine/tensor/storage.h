// A block of elements on a device, shared by all tensors that look at it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "reference_engine/device/stream.h"
#include "reference_engine/memory/intrusive_pointer.h"

namespace gradcts::reference {

// Thread safety: counts are atomic; the elements are the users' business.
class Storage {
 public:
  // On a device other than the CPU the memory belongs to the stream that is current.
  static IntrusivePointer<Storage> allocate(Device device, std::size_t bytes);

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return stream_.device; }
  Stream stream() const { return stream_; }

  // The number of in-place changes so far. Views and detached aliases share it, because they share
  // the storage (KEEP-3).
  std::uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  // A buffer that its owner writes to again (a pool, a static output): the engine never takes it
  // over and never adds into it, whatever the use counts say (ACC-2).
  bool is_static() const { return is_static_.load(std::memory_order_relaxed); }
  void mark_static() { is_static_.store(true, std::memory_order_relaxed); }

  // Streams other than its own have read or written the elements, or will (STREAM-3).
  void mark_crossed() { has_crossed_.store(true, std::memory_order_relaxed); }

  // Whatever was asked for so far by any stream is done before what the current stream does next.
  // On the CPU always; elsewhere only for the stream that owns the memory, if it is the only user.
  bool is_of_current_stream() const;

  std::uint32_t use_count() const { return references_.load(std::memory_order_acquire); }
  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const;

 private:
  Storage(Stream stream, std::size_t bytes) : stream_(stream), bytes_(bytes) {}
  ~Storage() = default;

  mutable std::atomic<std::uint32_t> references_{0};
  std::atomic<std::uint32_t> version_{0};
  std::atomic<bool> is_static_{false};
  std::atomic<bool> has_crossed_{false};
  Stream stream_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace gradcts::reference
