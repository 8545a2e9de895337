// Which devices the scenarios' `sim:N` are.
#pragma once

#include <string>
#include <vector>

namespace gradcts::reference_adapter {

struct ChosenDevices {
  std::string remark;                 // for people, beside the engine's version; may be empty
  std::vector<std::string> features;  // claimed beyond the engine's usual ones
};

// By the environment, once: GRADCTS_REFERENCE_DEVICE=cuda puts them, and `cuda:N`, on the GPUs of
// this machine (docs/cuda.md), and GRADCTS_CUDA_SPIN=SEED:MICROSECONDS lets each piece of work spin
// first; without it they are the simulated ones. Throws std::runtime_error, with one line, where
// that cannot be.
const ChosenDevices& choose_devices();

}  // namespace gradcts::reference_adapter
