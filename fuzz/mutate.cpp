#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <random>

#include "fuzz/generate.h"

namespace gradcts::fuzz {

namespace {

using Random = std::mt19937_64;
using Record = std::array<std::uint8_t, record_size>;

// 0 .. n-1; 0 where n is 0.
std::size_t below(Random& random, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
}

// Bytes taken apart. What is missing at the end is 0, as it is for the decoder.
struct Parts {
  std::array<std::uint8_t, header_size> header{};
  std::vector<Record> records;
};

Parts parts_of(Bytes bytes) {
  Parts parts;
  const std::size_t head = std::min(bytes.size(), header_size);
  std::copy_n(bytes.begin(), head, parts.header.begin());
  for (std::size_t i = head; i < bytes.size() && parts.records.size() < most_records;
       i += record_size) {
    Record& record = parts.records.emplace_back();
    record.fill(0);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                std::min(record_size, bytes.size() - i), record.begin());
  }
  return parts;
}

std::vector<std::uint8_t> bytes_of(const Parts& parts, std::size_t most) {
  std::vector<std::uint8_t> bytes(parts.header.begin(), parts.header.end());
  for (const Record& record : parts.records) {
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  const std::size_t longest = header_size + most_records * record_size;
  bytes.resize(std::min({bytes.size(), most, longest}));
  return bytes;
}

// Small numbers choose most, so a byte is as often set to one as changed in a bit.
void change_byte(Random& random, std::uint8_t& byte) {
  switch (below(random, 4)) {
    case 0:
      byte = 0;
      break;
    case 1:
      byte = static_cast<std::uint8_t>(below(random, 16));
      break;
    case 2:
      byte ^= static_cast<std::uint8_t>(1U << below(random, 8));
      break;
    default:
      byte = static_cast<std::uint8_t>(random());
  }
}

Record random_record(Random& random) {
  Record record;
  for (std::uint8_t& byte : record) byte = static_cast<std::uint8_t>(random());
  return record;
}

void mutate_once(Random& random, Parts& parts) {
  std::vector<Record>& records = parts.records;
  const auto place = [&](std::size_t slots) {
    return records.begin() + static_cast<std::ptrdiff_t>(below(random, slots));
  };
  const std::size_t kind = records.empty() ? below(random, 2) : below(random, 9);
  switch (kind) {
    case 0:
      return change_byte(random, parts.header[below(random, header_size)]);
    case 1:
      records.insert(place(records.size() + 1), random_record(random));
      return;
    case 2:
      records.erase(place(records.size()));
      return;
    case 3: {  // once more, next to itself
      const auto original = place(records.size());
      const Record copy = *original;
      records.insert(original, copy);
      return;
    }
    case 4:
      std::iter_swap(place(records.size()), place(records.size()));
      return;
    case 5: {  // to another place
      const auto from = place(records.size());
      const Record moved = *from;
      records.erase(from);
      records.insert(place(records.size() + 1), moved);
      return;
    }
    default: {
      Record& record = *place(records.size());
      return change_byte(random, record[below(random, record_size)]);
    }
  }
}

}  // namespace

std::vector<std::uint8_t> mutated(Bytes bytes, std::size_t most, std::uint64_t seed) {
  Random random(seed);
  Parts parts = parts_of(bytes);
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) mutate_once(random, parts);
  return bytes_of(parts, most);
}

std::vector<std::uint8_t> crossed(Bytes one, Bytes other, std::size_t most, std::uint64_t seed) {
  Random random(seed);
  Parts first = parts_of(one);
  Parts second = parts_of(other);
  if (below(random, 2) == 1) std::swap(first, second);
  const std::size_t head = below(random, first.records.size() + 1);
  const std::size_t tail = below(random, second.records.size() + 1);
  first.records.resize(head);
  first.records.insert(first.records.end(),
                       second.records.begin() + static_cast<std::ptrdiff_t>(tail),
                       second.records.end());
  return bytes_of(first, most);
}

}  // namespace gradcts::fuzz
