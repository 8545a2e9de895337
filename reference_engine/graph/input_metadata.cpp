#include "reference_engine/graph/input_metadata.h"

namespace gradcts::reference {

InputMetadata::InputMetadata(const Tensor& tensor)
    : shape(tensor.shape()), stream(current_stream(tensor.device())), type(tensor.type()) {}

std::string describe(const InputMetadata& metadata) {
  return to_string(metadata.type) + to_string(metadata.shape) + " on " +
         to_string(metadata.device());
}

}  // namespace gradcts::reference
