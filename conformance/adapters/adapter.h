/* The interface of an adapter in C: how gradcts talks to an engine that lives in a shared library.
 *
 * An adapter is a shared library that exports one function, `gradcts_adapter`. It turns a scenario
 * into calls of its engine and reports the outcome. Texts are UTF-8 JSON in the published forms
 * (`gradcts.description/1`, `gradcts.scenario/1`, `gradcts.outcome/1`); docs/scenario.md explains
 * them. C++ authors start from the kit (conformance/adapters/kit) and never see this file.
 *
 * Threads: gradcts calls an adapter from one thread of one process at a time. The adapter may start
 * threads of its own. Errors: a function that fails returns null or non-zero; it never throws
 * across this boundary and never ends the process.
 *
 * Stability: functions are only ever added at the end of the struct, and the interface version
 * rises when that happens. An adapter states the version that it was compiled with; gradcts accepts
 * every version that it knows and refuses others with a clear message.
 */
#ifndef GRADCTS_ADAPTER_H
#define GRADCTS_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADCTS_INTERFACE_VERSION 1

/* Receives a text; called at most once for each request, before the request's function returns. */
typedef void (*gradcts_reply)(void* context, const char* text, size_t size);

struct gradcts_adapter_functions {
  uint32_t interface_version; /* GRADCTS_INTERFACE_VERSION */

  /* Replies with a `gradcts.description/1`: name and version of the engine, dialect, single choices
   * that differ from the dialect, claimed features. Starts nothing. Returns 0, or 1 with a reply
   * that is one line of plain text saying what is wrong. */
  int (*describe)(gradcts_reply reply, void* context);

  /* Runs one scenario, given as `gradcts.scenario/1`, and replies with its `gradcts.outcome/1`.
   * When it returns, the engine holds nothing of the scenario any more. Returns 0, or 1 with a
   * reply that is one line of plain text when the request could not be understood. */
  int (*run)(const char* scenario, size_t size, gradcts_reply reply, void* context);
};

/* The one exported symbol. The result lives as long as the library is loaded. */
const struct gradcts_adapter_functions* gradcts_adapter(void);

#ifdef __cplusplus
}
#endif

#endif /* GRADCTS_ADAPTER_H */
