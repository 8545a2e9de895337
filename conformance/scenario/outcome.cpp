#include "conformance/scenario/outcome.h"

#include "conformance/scenario/words.h"

namespace gradcts {

std::string_view to_text(EventKind kind) {
  return word_of(event_words, kind);
}

}  // namespace gradcts
