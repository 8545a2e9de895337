// Reports for programs, read back: as a run, of which a page is made, and as an earlier one.
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/report/page.h"
#include "conformance/report/record_file.h"
#include "fuzz/readers/reader_fuzzer.h"

namespace gradcts {
namespace {

// The file that the reader opens by its name.
class InMemory {
 public:
  InMemory() : file_(memfd_create("report", 0)) { demand(file_ >= 0, "no file in memory"); }

  std::string with(std::string_view text) const {
    demand(ftruncate(file_, 0) == 0, "no file in memory");
    demand(pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
           "no file in memory");
    return "/proc/self/fd/" + std::to_string(file_);
  }

 private:
  const int file_;
};

void make_page(const std::string& file) {
  Page page;
  const bool complete = read_records(file, [&](const Json& record) {
    if (record.at("record") == "header") {
      page.begin_run(record, file);
    } else {
      page.add(record);
    }
  });
  page.end_run(complete);
  page.html();
}

}  // namespace
}  // namespace gradcts

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradcts;
  static const InMemory file;
  const std::string name = file.with(text_of(data, size));
  for (const bool earlier : {false, true}) {
    try {
      if (earlier) read_earlier_run(name);
      if (!earlier) make_page(name);
    } catch (const std::runtime_error& refusal) {
      demand_one_line(refusal);
    }
  }
  return 0;
}
