// Whether a scenario orders its own streams. What it does not order may come in any order on a
// device: then its results say nothing about an engine.
//
// Note [Streams are waited for]
// What the program puts on a stream comes after all that it put on streams before, and is over when
// the program ends. So with streams:
//   1. a forward, a pass and a read run on a stream that has waited for all that came before;
//   2. a script that starts a pass makes the program's stream, the first one, wait for all others
//      afterwards: the pass hands over to the stream that is current in the script (STREAM-5);
//   3. what comes last is a read: it waits until its stream is done.
// The generator writes nothing else, and the shrinker takes no wait away that is needed.
#pragma once

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// True without streams. Pure; threads do not occur together with streams.
bool orders_its_streams(const Scenario& scenario);

}  // namespace gradcts::fuzz
