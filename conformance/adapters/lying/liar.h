// Engines that lie. Each is the reference engine but for one fault, and each must be caught by the
// verdict that fits: they test the instrument, and are never installed.
#pragma once

#include "conformance/adapters/adapter.h"

namespace gradcts::lying {

enum class Lie {
  always_wrong,     // every number is off by one
  drops_an_edge,    // the last leaf that got a gradient got none
  counts_twice,     // leaf gradients are doubled
  hangs,            // never answers
  dies,             // a segmentation fault, after the work and before the answer
  claims_too_much,  // claims every feature
  answers_another,  // answers with the outcome of the request before
  speaks_garbage,   // an answer that is no JSON
  wrong_version,    // another version of the interface
  leaks,            // keeps an object alive, and a thread
  prints,           // harmless: writes to the standard output
};

const gradcts_adapter_functions* adapter_of(Lie lie);

}  // namespace gradcts::lying
