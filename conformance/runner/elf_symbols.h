// Names of functions that a library does not export, from its symbol table: without them the stacks
// of most engines would be bare numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradcts {

class ElfSymbols {
 public:
  // No symbols when the file cannot be read, is stripped, or is no 64-bit ELF file of this machine.
  explicit ElfSymbols(const std::string& file);

  struct Function {
    std::uint64_t start = 0;  // relative to where the file is loaded
    std::uint64_t size = 0;
    std::string name;  // as the linker knows it
  };
  // The function that holds this address; null when none is known.
  const Function* find(std::uint64_t address) const;

 private:
  std::vector<Function> functions_;  // by start
};

}  // namespace gradcts
