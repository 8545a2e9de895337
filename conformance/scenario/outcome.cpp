#include "conformance/scenario/outcome.h"

#include "conformance/scenario/words.h"

namespace gradcts {

std::string_view to_text(EventKind kind) {
  return word_of(event_words, kind);
}

std::string_view to_text(DeviceAccess::Kind kind) {
  return word_of(access_kind_words, kind);
}

}  // namespace gradcts
