// Whether a scenario orders its own streams. What it does not order may come in any order on a
// device: then its results say nothing about an engine.
//
// Note [Streams are waited for]
// What the program puts on a stream comes after all that it put on streams before, and is over when
// the program ends. So with streams:
//   1. a forward, a pass and a read run on a stream that has waited for all that came before;
//   2. a pass hands over to the stream that is current where it is started (STREAM-5). A node's
//      script that starts one makes the program's stream, the first one, wait for all others
//      afterwards. A hook starts it on the first stream: its own may be the default one, since on
//      which an accumulator runs an engine decides by itself;
//   3. a script reads no value, and writes no buffer that it gave away before (`pool`): a node
//      that gets no gradient has nothing to wait for, so its stream need not have waited for what
//      made the value, or used the buffer;
//   4. what comes last is a read: it waits until its stream is done.
// The generator writes nothing else, and the shrinker takes no wait away that is needed.
#pragma once

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// True without streams. Pure; threads do not occur together with streams.
bool orders_its_streams(const Scenario& scenario);

}  // namespace gradcts::fuzz
