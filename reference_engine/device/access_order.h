// Which accesses to device memory the waits of streams order, and which they do not.
//
// The simulated device tells of each thing that is asked of it, in the order in which it is asked;
// this says which wait is missing, whatever the numbers came out as.
//
// Not thread-safe: the runtime's mutex guards it.
//
// Note [Clocks of streams]
// ~~~~~~~~~~~~~~~~~~~~~~~~
// Each piece of work gets the next number of one count. A clock says of each stream up to which
// number its work is over. Every stream has one: what is over before the next piece of its work
// begins. An event keeps its stream's clock from when it was recorded; a stream that waits for the
// event takes it over, entry by entry the larger. The host has a clock as well, which grows when
// it waits for a stream; whatever is put on a stream later is ordered after that too.
//
// A block remembers who wrote it last and who has read it since. An access is ordered if the clock
// of its stream covers those that it may not meet: a read the last write, a write the reads as
// well. What is not ordered is reported, and then taken for ordered: one missing wait is one
// report, however much follows from it.
//
// Memory goes back to the stream that it was allocated for (STREAM-3). So when it is freed, what
// other streams did with it must be ordered before whatever comes next on that stream, or must have
// been registered: then the allocator holds the memory back until it is over. What is left in the
// block's memory is part of its next life: a stream that is handed such memory by another one must
// wait for that.
//
// The host's clock is that of all its threads. So an order that came about because two threads
// happened to run one after the other is taken for one that was made; the explorer (docs/
// schedules.md) takes other orders.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference_engine/device/runtime.h"
#include "reference_engine/device/stream.h"

namespace gradcts::reference {

// One use of device memory, in words.
struct DeviceAccess {
  enum class Kind : std::uint8_t { read, write, free };
  Kind kind = Kind::read;
  Stream stream;        // free: the stream that the memory belongs to
  std::string work;     // "mul"; free: empty
  std::string purpose;  // what it was done for: "node y"; may be empty (work_purpose.h)
};

// Two uses of one block of memory of which nothing says that the earlier one is over when the later
// one begins. Missing is a wait of the later one's stream for an event that is recorded on the
// earlier one's stream after it; where the later one frees the memory, the registration of its use
// with the earlier one's stream does as well.
struct UnorderedAccess {
  DeviceAccess access;
  DeviceAccess earlier;
  bool freed_between = false;  // the earlier one used the memory when it was another block
};

class AccessOrder {
 public:
  using Clock = std::map<Stream, std::uint64_t>;

  // The next piece of work of the stream. Blocks that were not allocated here are left alone. What
  // is read by a look comes after all that it must come after, as any read does, and is over at
  // once.
  void work(Stream stream, const Work& work, bool is_look = false);

  // What an event that is recorded now stands for; a stream, or the host, that waits for it.
  Clock now(Stream stream) const;
  void wait(Stream stream, const Clock& event);
  void host_waits(Stream stream);

  // How much work there was so far, of all streams.
  std::uint64_t count() const { return count_; }
  // Whether all work of the other stream, from so much on, is over when the stream's next begins.
  bool covers(Stream stream, Stream other, std::uint64_t since) const;

  void allocated(void* memory);
  // `users`: the other streams whose use was registered.
  void freed(void* memory, Stream owner, std::span<const Stream> users);

  // What was found since the last restart, the earlier first.
  const std::vector<UnorderedAccess>& found() const { return found_; }
  // All work that was put on a stream is over: it is ordered before all that comes.
  void restart();

 private:
  struct Use {
    DeviceAccess access;
    std::uint64_t number = 0;  // 0: there was none
    bool freed = false;        // since then
  };
  struct Block {
    bool is_in_use = false;
    Use last_write;
    std::map<Stream, Use> reads;  // since then, the last of each stream
  };

  // Whether the other stream's work up to the number is over when the stream's next begins.
  bool is_over(Stream other, std::uint64_t number, Stream stream) const;
  bool is_ordered(const Use& earlier, Stream stream) const;
  void check(const Use& earlier, const DeviceAccess& access);

  std::uint64_t count_ = 0;
  std::uint64_t all_over_ = 0;  // whatever has a number up to this
  Clock host_;
  std::map<Stream, Clock> streams_;
  std::map<Stream, std::uint64_t> last_;  // the number of each stream's last work
  std::map<const void*, Block> blocks_;   // by their memory
  std::vector<UnorderedAccess> found_;
};

}  // namespace gradcts::reference
