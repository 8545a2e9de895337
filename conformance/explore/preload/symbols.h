// Addresses of this process in words, for reports.
#pragma once

#include <dlfcn.h>

#include <string>

namespace gradcts::schedule {

// "library.so+0x1234 function(...)": the first part is what addr2line takes. `info` is what dladdr
// says of the address.
std::string code_name(const void* address, const Dl_info& info);

// The symbol at this address if it has one, and the address.
std::string object_name(const void* object);

}  // namespace gradcts::schedule
