#include "conformance/adapters/kit/export.h"

#include "conformance/adapters/reference/reference_binding.h"

GRADCTS_EXPORT_ADAPTER(gradcts::reference_adapter::Binding)
