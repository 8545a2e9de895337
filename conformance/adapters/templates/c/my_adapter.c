/* An adapter in C, by hand: `describe` says what the engine can do, `run` turns a scenario into
 * calls of the engine and reports what happened. docs/scenario.md explains the JSON,
 * docs/protocol.md the contract. */
#include <stdarg.h>
#include <stdio.h>

#include "conformance/adapters/adapter.h"
#include "json.h"
#include "my_engine.h"

enum { most_values = 1000 };

struct text {
  char* data;
  size_t size;
};

/* The tensors of the scenario by name, and the outcome as it grows. */
struct run {
  struct my_tape tape;
  const char* names[most_values];
  struct my_tensor* tensors[most_values];
  int leaves, count;
  struct text steps, events;
  const char* problem; /* the request cannot be run; NULL: it can */
};

static void append(struct text* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  text->data = realloc(text->data, text->size + (size_t)size + 1);
  va_start(arguments, format);
  vsnprintf(text->data + text->size, (size_t)size + 1, format, arguments);
  va_end(arguments);
  text->size += (size_t)size;
}

static struct my_tensor* find(struct run* run, const char* name) {
  for (int i = 0; i < run->count; ++i) {
    if (strcmp(run->names[i], name) == 0) return run->tensors[i];
  }
  run->problem = "a value that nothing made";
  return run->tensors[0];
}

static void keep(struct run* run, const char* name, struct my_tensor* tensor) {
  run->names[run->count] = name;
  run->tensors[run->count++] = tensor;
}

/* A number, or a list of numbers; a full tensor with a shape is more than this adapter claims to
 * need. */
static struct my_tensor* read_tensor(struct run* run, const struct json* json, int requires_grad) {
  if (json->kind == JSON_NUMBER) return my_make(&json->number, 1, requires_grad);
  const int size = json_size(json);
  struct my_tensor* tensor = my_make(NULL, size, requires_grad);
  const struct json* entry = json->first;
  if (json->kind != JSON_LIST) run->problem = "a tensor that is neither a number nor a list";
  for (int i = 0; i < size && json->kind == JSON_LIST; ++i, entry = entry->next) {
    tensor->values[i] = entry->number;
  }
  return tensor;
}

static void write_tensor(struct text* text, const double* values, int size) {
  if (!values) {
    append(text, "null");
  } else if (size == 1) {
    append(text, "%.17g", values[0]);
  } else {
    for (int i = 0; i < size; ++i) append(text, "%s%.17g", i ? "," : "[", values[i]);
    append(text, "]");
  }
}

static void forward(struct run* run, const struct json* scenario, const struct json* step) {
  if (json_field(step, "nodes")) run->problem = "a forward of some nodes";
  for (const struct json* node = json_first(scenario, "nodes"); node; node = node->next) {
    const struct json* input = json_first(node, "inputs");
    const char* op = json_text(node, "op", "");
    const struct json* factor = json_field(node, "factor");
    struct my_tensor* first = find(run, input->text);
    struct my_tensor* second = input->next ? find(run, input->next->text) : NULL;
    const enum my_operation operation =
        second ? (strcmp(op, "mul") == 0 ? MY_MUL : MY_ADD) : MY_SCALE;
    if (second && second->size != first->size) run->problem = "operands of different sizes";
    if (run->problem || run->count == most_values) return;
    keep(run, json_text(node, "name", ""),
         my_apply(&run->tape, operation, first, second, factor ? factor->number : 1));
  }
}

static int backward(struct run* run, const struct json* step) {
  struct my_tensor *roots[64], *seeds[64];
  int count = 0;
  for (const struct json* root = json_first(step, "roots"); root && count < 64; root = root->next) {
    const struct json* seed = json_field(root, "seed");
    const char* from = json_text(seed, "from", NULL);
    roots[count] = find(run, json_text(root, "value", ""));
    seeds[count] = from ? find(run, from) : read_tensor(run, seed, 0);
    if (!from) keep(run, "", seeds[count]);
    ++count;
  }
  return run->problem ? 0 : my_backward(&run->tape, roots, seeds, count);
}

static void read_values(struct run* run, const struct json* step) {
  const char* separator = "";
  for (const struct json* name = json_first(step, "values"); name; name = name->next) {
    append(&run->steps, "%s", separator);
    write_tensor(&run->steps, find(run, name->text)->values, find(run, name->text)->size);
    separator = ",";
  }
  for (const struct json* name = json_first(step, "grads"); name; name = name->next) {
    append(&run->steps, "%s", separator);
    write_tensor(&run->steps, find(run, name->text)->grad, find(run, name->text)->size);
    separator = ",";
  }
}

/* Step results stand in the order of their ends; here no step has steps of its own. */
static void run_step(struct run* run, const struct json* scenario, const struct json* step,
                     int number) {
  const char* verb = json_text(step, "do", "");
  append(&run->steps, "%s{\"step\":%d", number ? "," : "", number);
  if (strcmp(verb, "forward") == 0) {
    forward(run, scenario, step);
  } else if (strcmp(verb, "backward") == 0) {
    append(&run->events, "%s{\"kind\":\"pass_begin\",\"subject\":%d}", run->events.size ? "," : "",
           number);
    if (backward(run, step)) {
      append(&run->steps,
             ",\"error\":{\"category\":\"invalid_argument\",\"text\":\"a root without history\"}");
    }
    append(&run->events, ",{\"kind\":\"pass_end\",\"subject\":%d}", number);
  } else if (strcmp(verb, "read") == 0) {
    append(&run->steps, ",\"values\":[");
    read_values(run, step);
    append(&run->steps, "]");
  } else {
    run->problem = "a step that this adapter does not know";
  }
  append(&run->steps, "}");
}

static void run_scenario(struct run* run, const struct json* scenario, struct text* outcome) {
  for (const struct json* leaf = json_first(scenario, "leaves"); leaf; leaf = leaf->next) {
    const struct json* on = json_field(leaf, "requires_grad");
    keep(run, json_text(leaf, "name", ""),
         read_tensor(run, json_field(leaf, "value"), on ? on->number != 0 : 1));
  }
  run->leaves = run->count;
  int number = 0;
  for (const struct json* step = json_first(scenario, "program"); step && !run->problem;
       step = step->next) {
    run_step(run, scenario, step, number++);
  }
  append(outcome,
         "{\"schema\":\"gradcts.outcome/1\",\"scenario\":\"%s\",\"steps\":[%s],\"events\":[%s]",
         json_text(scenario, "id", ""), run->steps.data ? run->steps.data : "",
         run->events.data ? run->events.data : "");
  append(outcome, ",\"leaf_grads\":{");
  for (int i = 0; i < run->leaves; ++i) {
    append(outcome, "%s\"%s\":", i ? "," : "", run->names[i]);
    write_tensor(outcome, run->tensors[i]->grad, run->tensors[i]->size);
  }
  append(outcome, "},\"state\":{\"live_objects\":0}}");
}

static int my_run(const char* text, size_t size, gradcts_reply reply, void* context) {
  struct run* run = calloc(1, sizeof *run);
  struct text outcome = {NULL, 0};
  char* copy = malloc(size + 1);
  memcpy(copy, text, size);
  copy[size] = 0;
  const char* at = copy;
  struct json* scenario = json_read(&at);
  run_scenario(run, scenario, &outcome);
  const int status = run->problem != NULL;
  if (status) reply(context, run->problem, strlen(run->problem));
  if (!status) reply(context, outcome.data, outcome.size);
  for (int i = 0; i < run->count; ++i) my_free(run->tensors[i]);
  my_clear(&run->tape);
  json_free(scenario);
  free(run->steps.data);
  free(run->events.data);
  free(outcome.data);
  free(copy);
  free(run);
  return status;
}

static int my_describe(gradcts_reply reply, void* context) {
  static const char text[] =
      "{\"schema\":\"gradcts.description/1\",\"name\":\"my-c-engine\",\"version\":\"1\","
      "\"dialect\":\"reference\",\"trace\":\"scripted\","
      "\"features\":[\"pass.backward\",\"operation.add\",\"operation.mul\",\"operation.scale\","
      "\"type.float64\"]}";
  reply(context, text, sizeof text - 1);
  return 0;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const struct gradcts_adapter_functions*
gradcts_adapter(void) {
  static const struct gradcts_adapter_functions functions = {GRADCTS_INTERFACE_VERSION, my_describe,
                                                             my_run};
  return &functions;
}
