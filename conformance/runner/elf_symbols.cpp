#include "conformance/runner/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <ios>
#include <optional>

namespace gradcts {
namespace {

constexpr std::uint64_t section_limit = std::uint64_t{256} << 20;

// Reads only the parts that are asked for: libraries can be very large.
class Image {
 public:
  explicit Image(const std::string& file) : file_(file, std::ios::binary) {}

  std::string bytes(std::uint64_t offset, std::uint64_t size) {
    std::string text(std::min(size, section_limit), '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
    return text;
  }

  template <typename Struct>
  std::optional<Struct> at(std::uint64_t offset) {
    return struct_at<Struct>(bytes(offset, sizeof(Struct)), 0);
  }

  template <typename Struct>
  static std::optional<Struct> struct_at(const std::string& bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Struct)) return std::nullopt;
    Struct value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }

 private:
  std::ifstream file_;
};

bool is_ours(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr);
}

std::optional<Elf64_Shdr> section(Image& image, const Elf64_Ehdr& header, std::uint64_t index) {
  return image.at<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
}

std::string name_at(const std::string& names, std::size_t offset) {
  if (offset >= names.size()) return {};
  return names.substr(offset, names.find('\0', offset) - offset);
}

void read_functions(const std::string& symbols, const std::string& names,
                    std::vector<ElfSymbols::Function>& functions) {
  for (std::size_t at = 0; const auto symbol = Image::struct_at<Elf64_Sym>(symbols, at);
       at += sizeof(Elf64_Sym)) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size == 0) continue;
    functions.push_back({symbol->st_value, symbol->st_size, name_at(names, symbol->st_name)});
  }
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& file) {
  Image image(file);
  const auto header = image.at<Elf64_Ehdr>(0);
  if (!header || !is_ours(*header)) return;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto symbols = section(image, *header, i);
    if (!symbols || symbols->sh_type != SHT_SYMTAB) continue;
    const auto names = section(image, *header, symbols->sh_link);
    if (!names) continue;
    read_functions(image.bytes(symbols->sh_offset, symbols->sh_size),
                   image.bytes(names->sh_offset, names->sh_size), functions_);
  }
  std::ranges::sort(functions_, {}, &Function::start);
}

const ElfSymbols::Function* ElfSymbols::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin()) return nullptr;
  const Function& function = *--after;
  return address - function.start < function.size ? &function : nullptr;
}

}  // namespace gradcts
