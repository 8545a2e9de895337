// Takes the place of libtorch_reducer.cpp where libtorch was not found.
#include "reference_engine/benchmark/reducers.h"

namespace gradcts::reference::benchmark {

std::unique_ptr<Trainer> make_libtorch_trainer(const ModelShape&, int, const std::string&, bool) {
  return nullptr;
}

}  // namespace gradcts::reference::benchmark
