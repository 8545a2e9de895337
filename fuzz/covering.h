// Few rows in which all choices meet.
//
// Note [Covering arrays]
// Some factors, each with some levels, are to be combined so that any two levels of any two factors
// stand together in some row. For a prime p that is no less than any number of levels, take a row
// for each pair (a, b) of numbers below p, and in it the factors a, b, a+b, a+2b, a+3b, ... modulo
// p: two of these numbers determine a and b, so any two factors take each pair of values exactly
// once (an orthogonal array, after Bush). A value that is too large for its factor is taken modulo
// its number of levels, which loses no pair.
//
// A line b = a + t of this array has p rows. In it each factor takes each of its levels: the
// factors are a, a + t and then k*a + (k-1)*t for k = 2, 3, ..., and k is not 0 modulo p. The lines
// t = 0, 1,
// ..., p-1 together are the whole array. So shapes that are given one line each see every choice,
// and p of them in a row see every pair.
#pragma once

#include <cstdint>
#include <vector>

namespace gradcts::fuzz {

// The smallest prime that is at least each number, and at least the count of them.
std::uint64_t prime_for(const std::vector<std::uint64_t>& levels);

// For each factor its level, from 0 on, in the row with these two numbers, both below the prime.
std::vector<std::uint64_t> covering_row(const std::vector<std::uint64_t>& levels,
                                        std::uint64_t prime, std::uint64_t a, std::uint64_t b);

}  // namespace gradcts::fuzz
