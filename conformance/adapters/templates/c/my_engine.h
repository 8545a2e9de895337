/* The engine under test: replace it by yours. This one knows vectors of doubles of one length,
 * three operations and a tape. */
#ifndef MY_ENGINE_H
#define MY_ENGINE_H

struct my_tensor {
  int size;
  double* values;
  double* grad; /* NULL: undefined */
  int requires_grad;
  struct my_node* made_by; /* NULL: a leaf or a constant */
};

enum my_operation { MY_ADD, MY_MUL, MY_SCALE };

struct my_node {
  enum my_operation operation;
  double factor;
  struct my_tensor* inputs[2]; /* the second is NULL for MY_SCALE */
  struct my_tensor* output;
  double* incoming; /* during a pass: the gradient of the output; NULL: none yet */
};

struct my_tape {
  struct my_node* nodes[1000];
  int count;
};

struct my_tensor* my_make(const double* values, int size, int requires_grad);
struct my_tensor* my_apply(struct my_tape* tape, enum my_operation operation,
                           struct my_tensor* first, struct my_tensor* second, double factor);
/* Gradients go into the leaves. Returns 0, or 1 when a root has no history. */
int my_backward(struct my_tape* tape, struct my_tensor** roots, struct my_tensor** seeds,
                int count);
void my_free(struct my_tensor* tensor);
void my_clear(struct my_tape* tape);

#endif /* MY_ENGINE_H */
