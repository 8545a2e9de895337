// Ranks that talk over TCP on the loopback interface of one machine, by Gloo: processes, or threads
// of one. Built where CMake finds Gloo.
//
// Collectives run one after the other on a thread of the group, so that backward goes on meanwhile.
// CPU tensors of the floating types but bfloat16, and int64. Gloo does not know which rank failed,
// nor whether ranks reduce the same things; the ranks tell each other by files (rank_files.h). When
// a round is given up its connections end, and the next one connects anew, unless a rank is gone.
#pragma once

#include <chrono>
#include <string>

#include "reference_engine/distributed/process_group.h"

namespace gradcts::reference {

struct GlooLimits {
  // Of each collective, and of connecting anew in a later round.
  std::chrono::milliseconds collective;

  // How long the ranks may take to find each other: processes start late on a busy machine.
  std::chrono::milliseconds connecting = std::chrono::minutes(2);
};

// This rank's seat. Ranks find each other by files in `folder`, made where it is missing, which all
// can reach and no earlier group has used; returns when all are connected. Throws
// Error(rank_failure) where a rank does not come within the limit, and names it.
ProcessGroupPointer make_gloo_group(int rank, int size, const std::string& folder,
                                    GlooLimits limits);

}  // namespace gradcts::reference
