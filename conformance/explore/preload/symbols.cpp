#include "conformance/explore/preload/symbols.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace gradcts::schedule {
namespace {

std::string demangled(const char* symbol) {
  if (std::strncmp(symbol, "_Z", 2) != 0) return symbol;  // a name of C
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : symbol;
}

std::string in_hexadecimal(std::uintptr_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

std::string code_name(const void* address, const Dl_info& info) {
  const char* slash = std::strrchr(info.dli_fname, '/');
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::string text = std::string(slash ? slash + 1 : info.dli_fname) + "+" + in_hexadecimal(offset);
  if (info.dli_sname != nullptr) text.append(" ").append(demangled(info.dli_sname));
  return text;
}

std::string object_name(const void* object) {
  Dl_info info;
  const std::string address = in_hexadecimal(reinterpret_cast<std::uintptr_t>(object));
  if (dladdr(object, &info) == 0 || info.dli_sname == nullptr) return address;
  // dladdr takes the nearest symbol before the address, however far: only an exact one is a name.
  return info.dli_saddr == object ? demangled(info.dli_sname) + " (" + address + ")" : address;
}

}  // namespace gradcts::schedule
