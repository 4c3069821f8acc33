/* Custom ops written in C. Example (tests/runtime/c_abi/c_op.c):
 *
 *   static int affine_takes(wick_op_call* call) {
 *     return call->in[0].dtype == WICK_FLOAT32 ? WICK_OK : WICK_TYPE_MISMATCH;
 *   }
 *   affine.domain = "example";
 *   affine.name = "Affine";
 *   affine.takes = affine_takes;
 *   affine.run = affine_run;
 *   defs[0] = &affine;
 *   if (check(wick_ops_create(defs, 1, &ops))) return 1;
 *   load.ops = &ops;
 *   load.ops_count = 1;
 *
 * The op has no gradient: models are trained with ops of <wick/custom_op.h>, in C++, and a device
 * may run them with an op in C of the same domain, name, version and attributes.
 *
 * Callbacks return WICK_OK or a wick_code, and may set `why` to a text. They must be pure (same
 * inputs, same results) and must return: no longjmp, no exception. Sessions may call them from
 * several threads at once.
 */
#ifndef WICK_C_OPS_H_
#define WICK_C_OPS_H_

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of an attribute: int64_t, double, or an int64_t with the count followed by `capacity`
 * int64_t; a text has a character in each of them. */
enum { WICK_ATTR_INT = 1, WICK_ATTR_FLOAT = 2, WICK_ATTR_INTS = 3, WICK_ATTR_TEXT = 4 };

/* A field of an op's attribute struct. */
typedef struct wick_attr_field {
  const char* name;  /* as in the model's file */
  uint16_t id;       /* stored in files: never reused within a struct */
  uint16_t kind;     /* WICK_ATTR_INT ... */
  uint16_t offset;   /* of the field, in bytes: a multiple of 8 */
  uint16_t capacity; /* of a list or text; else 0 */
} wick_attr_field;

/* What a callback gets. */
typedef struct wick_op_call {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  void* user;        /* wick_op_def.user */
  const void* attrs; /* the node's attribute struct */
  /* Inputs, row-major without gaps; dtype 0: an absent optional one. Their data are null but in
   * `run`, and must not be written. */
  const wick_tensor* in;
  size_t in_count;
  /* Outputs. `shape` sets their dtype, rank and dims; `run` writes their data. */
  wick_tensor* out;
  size_t out_count;
  int64_t elements;     /* of input 0 where it is there; else 0 */
  void* scratch;        /* in `run`: scratch_bytes of memory, undefined on entry; else null */
  size_t scratch_bytes; /* `plan` sets it */
  int threads;          /* that `run` may use by wick_op_parallel(); results may not depend on it */
  const char* why;      /* the callback may set it where it returns an error; it is copied */
  void* pool;           /* the library's */
} wick_op_call;

/* Defines an op. Its texts and fields must live as long as the wick_ops made of it. */
typedef struct wick_op_def {
  /* sizeof the struct. */
  size_t size;
  void* user;                      /* passed to every callback */
  const char *domain, *name;       /* "com.example", "Swish", as of wick/custom_op.h */
  uint32_t version;                /* of its definition; 0: 1 */
  uint32_t min_inputs, max_inputs; /* 0 for both: 1; at most 16 */
  uint32_t outputs;                /* 0: 1; at most 8 */
  int in_place; /* not 0: output 0 may be input 0's memory, where both have one dtype and shape */
  /* The attribute struct; 0, null and 0: there is none. */
  size_t attrs_size;
  const wick_attr_field* fields;
  size_t field_count;
  void (*init)(void* attrs);        /* sets a struct to its defaults */
  int (*shape)(wick_op_call* call); /* null: every output is like input 0 */
  int (*takes)(wick_op_call* call); /* WICK_OK: `run` takes these dtypes and shapes. null: all */
  int (*plan)(wick_op_call* call);  /* sets scratch_bytes; null: 0 */
  int (*run)(wick_op_call* call);   /* writes the outputs */
} wick_op_def;

/* Makes a library of ops, to be freed by wick_ops_free() after the programs that use it. The
 * structs are copied. WICK_INVALID_ARGUMENT: a null pointer, no op, or an op that is malformed (the
 * text says why). */
WICK_API int wick_ops_create(const wick_op_def* const* defs, size_t count, wick_ops** ops);
/* Runs task(arg, i, worker) for i in [0, tasks) on the threads of the session, with worker in [0,
 * call->threads); returns when all are done. When the run is ended early, tasks that have not begun
 * are skipped. Call it from `run` only. WICK_INVALID_ARGUMENT: a null call or task. */
WICK_API int wick_op_parallel(const wick_op_call* call, int64_t tasks,
                              void (*task)(void* arg, int64_t i, int worker), void* arg);

#ifdef __cplusplus
}
#endif

#endif
