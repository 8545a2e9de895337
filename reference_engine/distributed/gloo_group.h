// Ranks as processes of one machine that talk over TCP on its loopback interface, by Gloo. Built
// where CMake finds Gloo.
//
// Collectives run one after the other on a thread of the group, so that backward goes on meanwhile.
// CPU tensors of the floating types but bfloat16, and int64. Connections that are broken stay so:
// after a rank has failed or given up everything fails with the first reason, and the caller makes
// another group (process_group.h, Note [Rounds]). Gloo does not check that ranks reduce the same
// things: where they do not, the limit ends it.
#pragma once

#include <chrono>
#include <string>

#include "reference_engine/distributed/process_group.h"

namespace gradcts::reference {

// This process's seat. Ranks find each other by files in `folder`, made where it is missing,
// which all can reach and no earlier group has used; returns when all are connected. `limit` is how
// long that, and each collective, lasts at most. Throws Error(rank_failure) where a rank does not
// come.
ProcessGroupPointer make_gloo_group(int rank, int size, const std::string& folder,
                                    std::chrono::milliseconds limit);

}  // namespace gradcts::reference
