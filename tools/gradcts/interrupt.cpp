#include "tools/gradcts/interrupt.h"

#include <csignal>

namespace gradcts {
namespace {

std::atomic<bool> stop_asked{false};

void ask_to_stop(int) {
  stop_asked = true;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_when_interrupted() {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  return stop_asked;
}

}  // namespace gradcts
