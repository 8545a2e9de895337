// Random scenarios: one total decoder from bytes.
//
// Every byte string is a valid scenario (validate.h), and the same bytes are the same scenario on
// every machine. RapidCheck, libFuzzer, AFL++, campaigns and the stored corpus all go through it.
//
// The bytes are a header and then records of one size (see Note [Records]). Pure functions; safe to
// call from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/scenario/scenario.h"
#include "fuzz/choices.h"
#include "fuzz/claims.h"

namespace gradcts::fuzz {

// Note [Records]
// The header chooses what the case may contain at all: of the features each case has some, so that
// two of them meet often and crowd each other out seldom. Each record then is one thing: a leaf, a
// node with its script and hooks, or a step of the program; things come in the order of their
// records, and a record refers to others by counting back. So a mutator may drop, double, move or
// exchange records, and what is left means nearly the same.
inline constexpr std::size_t header_size = 24;
inline constexpr std::size_t record_size = 24;
// Records beyond these are not read.
inline constexpr std::size_t most_records = 64;

// The stored corpus and the seeds of campaigns mean something else when the decoder changes: count
// up.
inline constexpr int decoder_version = 10;

// Asks for nothing that is not claimed, as far as the plan of a case can tell.
Scenario decode(Bytes bytes, const Claims& claims = {});

// The bytes of case `number` of the campaign with this seed: 10 to 30 nodes in most.
std::vector<std::uint8_t> case_bytes(std::uint64_t seed, std::uint64_t number);

// `decode` of these, with the id "fuzz/SEED/NUMBER".
Scenario random_scenario(std::uint64_t seed, std::uint64_t number, const Claims& claims = {});

}  // namespace gradcts::fuzz
