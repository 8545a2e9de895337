// The rules that every scenario keeps, whoever made it: a file, the builder, a generator.
#pragma once

#include "conformance/scenario/scenario.h"

namespace gradcts {

// Throws FormatError at the first rule broken, with the path of the JSON form. Checks names (form,
// uniqueness), ids (range, kind), operations (number of inputs and outputs, attributes), tensors
// (number of values, strides, coordinates), cycles among nodes, that every value is made before a
// step uses it, that scripts use only the slots and saves that exist, that a step stands where it
// makes sense (`keep` only in scripts), that locks and barriers are used so that a right engine
// cannot hang, and contradictions (a `grad` without inputs, results of another number than inputs,
// ...).
void validate(const Scenario& scenario);

}  // namespace gradcts
