#include "my_engine.h"

#include <stdlib.h>
#include <string.h>

struct my_tensor* my_make(const double* values, int size, int requires_grad) {
  struct my_tensor* tensor = calloc(1, sizeof *tensor);
  tensor->size = size;
  tensor->values = malloc(sizeof(double) * (size_t)size);
  if (values) memcpy(tensor->values, values, sizeof(double) * (size_t)size);
  tensor->requires_grad = requires_grad;
  return tensor;
}

struct my_tensor* my_apply(struct my_tape* tape, enum my_operation operation,
                           struct my_tensor* first, struct my_tensor* second, double factor) {
  const int recorded = first->requires_grad || (second && second->requires_grad);
  struct my_tensor* output = my_make(NULL, first->size, recorded);
  for (int i = 0; i < first->size; ++i) {
    if (operation == MY_ADD) output->values[i] = first->values[i] + second->values[i];
    if (operation == MY_MUL) output->values[i] = first->values[i] * second->values[i];
    if (operation == MY_SCALE) output->values[i] = first->values[i] * factor;
  }
  if (!recorded) return output;
  struct my_node* node = calloc(1, sizeof *node);
  *node = (struct my_node){operation, factor, {first, second}, output, NULL};
  output->made_by = node;
  tape->nodes[tape->count++] = node;
  return output;
}

static void add_to(double** sum, const double* terms, const double* factors, double factor,
                   int size) {
  if (!*sum) *sum = calloc((size_t)size, sizeof(double));
  for (int i = 0; i < size; ++i) (*sum)[i] += terms[i] * factor * (factors ? factors[i] : 1);
}

static void deliver(struct my_tensor* to, const double* terms, const double* factors,
                    double factor) {
  if (!to->requires_grad) return;
  add_to(to->made_by ? &to->made_by->incoming : &to->grad, terms, factors, factor, to->size);
}

int my_backward(struct my_tape* tape, struct my_tensor** roots, struct my_tensor** seeds,
                int count) {
  for (int i = 0; i < count; ++i) {
    if (!roots[i]->requires_grad) return 1;
  }
  for (int i = 0; i < count; ++i) deliver(roots[i], seeds[i]->values, NULL, 1);
  for (int i = tape->count - 1; i >= 0; --i) { /* whoever uses a node stands after it */
    struct my_node* node = tape->nodes[i];
    if (!node->incoming) continue;
    struct my_tensor* const* in = node->inputs;
    const double factor = node->operation == MY_SCALE ? node->factor : 1;
    const int product = node->operation == MY_MUL;
    deliver(in[0], node->incoming, product ? in[1]->values : NULL, factor);
    if (in[1]) deliver(in[1], node->incoming, product ? in[0]->values : NULL, factor);
    free(node->incoming);
    node->incoming = NULL;
  }
  return 0;
}

void my_free(struct my_tensor* tensor) {
  if (!tensor) return;
  free(tensor->values);
  free(tensor->grad);
  free(tensor);
}

void my_clear(struct my_tape* tape) {
  for (int i = 0; i < tape->count; ++i) free(tape->nodes[i]);
  tape->count = 0;
}
