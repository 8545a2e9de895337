/* Both headers are C, and an engine that uses the points needs no library. */
#include "conformance/explore/preload/points.h"
#include "conformance/explore/preload/schedule.h"

int main(void) {
  int word = 0;
  const struct gradcts_schedule_options options = {.version = GRADCTS_SCHEDULE_VERSION};
  GRADCTS_ENTER();
  GRADCTS_POINT(&word);
  GRADCTS_WAKE(&word);
  GRADCTS_LEAVE();
  return GRADCTS_WAIT(&word) || options.strategy != GRADCTS_SCHEDULE_RANDOM;
}
