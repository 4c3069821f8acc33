/* A user's op in C: c_op FILE.wick runs a program that uses example::Affine on 1, 2, 3 ..., and
 * then on what the op refuses. Its test compares what it prints. */
#include <stdio.h>

#include "wick/c/ops.h"
#include "wick/c/program.h"

/* y = x * scale + the sum of `shifts`, in parts that may run on several threads. */
typedef struct affine_attrs {
  double scale;
  int64_t shift_count, shifts[4];
} affine_attrs;

static void affine_init(void* attrs) {
  const affine_attrs defaults = {2, 0, {0}};
  *(affine_attrs*)attrs = defaults;
}
static const wick_attr_field affine_fields[] = {
    {"scale", 1, WICK_ATTR_FLOAT, offsetof(affine_attrs, scale), 0},
    {"shifts", 2, WICK_ATTR_INTS, offsetof(affine_attrs, shift_count), 4},
};

enum { kPart = 2 }; /* elements of a task */

static void affine_part(void* arg, int64_t part, int worker) {
  const wick_op_call* call = arg;
  const affine_attrs* attrs = call->attrs;
  const float* x = call->in[0].data;
  float* y = call->out[0].data;
  int64_t i, k, end = (part + 1) * kPart < call->elements ? (part + 1) * kPart : call->elements;
  (void)worker;
  for (i = part * kPart; i < end; ++i) {
    double sum = 0;
    for (k = 0; k < attrs->shift_count; ++k) sum += (double)attrs->shifts[k];
    y[i] = (float)(x[i] * attrs->scale + sum);
  }
}

static int affine_run(wick_op_call* call) {
  const float* x = call->in[0].data;
  if (call->elements > 0 && x[0] < 0) {
    call->why = "x begins with a negative number";
    return WICK_INVALID_ARGUMENT;
  }
  return wick_op_parallel(call, (call->elements + kPart - 1) / kPart, affine_part, call);
}

static int affine_takes(wick_op_call* call) {
  return call->in[0].dtype == WICK_FLOAT32 ? WICK_OK : WICK_TYPE_MISMATCH;
}

static int check(int code) {
  if (code == WICK_OK) return 0;
  printf("%s: %s\n", wick_code_name(code), wick_last_error());
  return 1;
}

int main(int argc, char** argv) {
  wick_op_def affine = WICK_INIT(wick_op_def);
  const wick_op_def* defs[1];
  wick_ops* ops = NULL;
  wick_load_options load = WICK_INIT(wick_load_options);
  wick_program* program = NULL;
  wick_session* session = NULL;
  wick_custom_op op = WICK_INIT(wick_custom_op);
  float x[5] = {1, 2, 3, 4, 5}, y[5] = {0};
  wick_tensor in = {NULL, WICK_FLOAT32, 1, {5}}, out = {NULL, WICK_FLOAT32, 1, {5}};
  if (argc != 2) return 2;
  affine.domain = "example";
  affine.name = "Affine";
  affine.attrs_size = sizeof(affine_attrs);
  affine.fields = affine_fields;
  affine.field_count = 2;
  affine.init = affine_init;
  affine.takes = affine_takes;
  affine.run = affine_run;
  defs[0] = &affine;
  if (check(wick_ops_create(defs, 1, &ops))) return 1;
  printf("%s\n", wick_ops_name(ops, 0));
  load.ops = &ops;
  load.ops_count = 1;
  if (check(wick_program_load(argv[1], &load, &program))) return 1;
  if (check(wick_program_custom_op(program, 0, &op))) return 1;
  printf("given: %d\n", op.given);
  if (check(wick_session_create(program, NULL, &session))) return 1;
  in.data = x;
  out.data = y;
  if (check(wick_session_run(session, &in, 1, &out, 1, NULL))) return 1;
  printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);
  x[0] = -1;
  check(wick_session_run(session, &in, 1, &out, 1, NULL));
  printf("%g\n", y[0]); /* as it was */
  wick_session_free(session);
  wick_program_free(program);
  wick_ops_free(ops);
  return 0;
}
