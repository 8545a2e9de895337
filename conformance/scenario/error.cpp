#include "conformance/scenario/error.h"

#include "conformance/scenario/words.h"

namespace gradcts {

std::string_view to_text(ErrorCategory category) {
  return word_of(error_category_words, category);
}

std::optional<ErrorCategory> error_category_from_text(std::string_view text) {
  return enum_from_word<ErrorCategory>(error_category_words, text);
}

}  // namespace gradcts
