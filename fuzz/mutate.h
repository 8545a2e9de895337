// Mutations of the bytes of a case that know their structure (Note [Records], generate.h): records
// are dropped, doubled, moved, exchanged and taken from other cases, and bytes are changed within
// them. For libFuzzer and AFL++, which find out by coverage which results are worth keeping.
//
// Pure functions of their arguments; safe to call from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/choices.h"

namespace gradcts::fuzz {

// A case like `bytes`, changed in one to four places, of at most `most` bytes. The same seed does
// the same.
std::vector<std::uint8_t> mutated(Bytes bytes, std::size_t most, std::uint64_t seed);

// The header of one of two cases, and records of both.
std::vector<std::uint8_t> crossed(Bytes one, Bytes other, std::size_t most, std::uint64_t seed);

}  // namespace gradcts::fuzz
