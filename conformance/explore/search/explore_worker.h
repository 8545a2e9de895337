// The process in which an engine runs under control. It takes schedules until one fails or all are
// taken; a schedule that cannot end ends the process, after the answer was written.
#pragma once

namespace gradcts {

bool is_explore_worker_call(int argc, char** argv);

// argv: program, "explore-worker", the file descriptors of request, answers and of a page that
// shows what is being taken, the process that asks.
int explore_worker_main(char** argv);

// The size of that page: a text that ends with a zero.
inline constexpr unsigned long taking_page_size = 1 << 20;

}  // namespace gradcts
