#include "conformance/scenario/path.h"

#include <algorithm>
#include <vector>

#include "conformance/scenario/json.h"

namespace gradcts {

std::string Path::text() const {
  if (parent_ == nullptr) return "";
  const std::string before = parent_->text();
  if (field_.empty()) return before + "[" + std::to_string(index_) + "]";
  return before.empty() ? std::string(field_) : before + "." + std::string(field_);
}

FormatError::FormatError(std::string path, const std::string& problem)
    : std::runtime_error(path.empty() ? problem : path + ": " + problem),
      path_(std::move(path)),
      problem_(problem) {}

void fail(const Path& path, const std::string& problem) {
  throw FormatError(path.text(), problem);
}

namespace internal {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last[b.size()];
}

}  // namespace internal
}  // namespace gradcts
