// Parts of the JSON form that several readers and writers of this folder share.
#pragma once

#include "conformance/scenario/fields.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/path.h"
#include "conformance/scenario/words.h"

namespace gradcts {

Device read_device(const Json& json, const Path& path);
Shape read_shape(const Json& json, const Path& path);
TensorValue read_tensor(const Json& json, const Path& path);

// The scenario's meaning alone: without id, title, clauses, reports and expectations.
Json write_meaning(const Scenario& scenario);

}  // namespace gradcts
