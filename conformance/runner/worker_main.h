// The worker: a process that holds one engine and answers requests (wire.h) until its runner hangs
// up. It is the hidden subcommand `worker` of the command. For an engine that is a program it only
// prepares the process, and then becomes that program.
#pragma once

namespace gradcts {

// The arguments after the program's name: "worker", the engine's path, the file descriptors of the
// channel and of the stack report, and the process id of the runner.
bool is_worker_call(int argc, char** argv);
int worker_main(int argc, char** argv);

}  // namespace gradcts
