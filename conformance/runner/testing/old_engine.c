/* An adapter of an interface version that never was. */
#include "conformance/adapters/adapter.h"

static const struct gradcts_adapter_functions functions = {999, 0, 0};

const struct gradcts_adapter_functions* gradcts_adapter(void) { return &functions; }
