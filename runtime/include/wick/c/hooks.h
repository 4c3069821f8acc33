/* Hooks of a session: a trace that sees each step that ran, and a report of where steps run.
 * Example (examples/c_session/main.c):
 *
 *   static void on_step(void* user, const wick_trace_event* event) {
 *     printf("ran %s %s on %s\n", event->op, event->node, event->backend);
 *   }
 *   trace.on_step = on_step;
 *   open.trace = &trace;
 *
 * Hooks are called by the thread that runs or explains. What an event points to is valid during the
 * call. A hook must not call its own session and must return: no longjmp, no exception. A newer
 * library passes longer events; `size` is the library's own, so a caller that knows more fields
 * than an older library compares it before it reads them.
 */
#ifndef WICK_C_HOOKS_H_
#define WICK_C_HOOKS_H_

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The inputs or outputs of a step: opaque, valid during the call that gives it. */
typedef struct wick_views wick_views;
/* Returns the number of tensors; 0 for null. */
WICK_API size_t wick_views_count(const wick_views* views);
/* Describes tensor i. dtype 0: an absent optional input. Data may be null, where only shapes are
 * known. WICK_INVALID_ARGUMENT: null or out of range. */
WICK_API int wick_views_tensor(const wick_views* views, size_t i, wick_tensor* tensor);
/* Describes the layout of tensor i: strides in elements, one for each dim, and *block. Block is 0
 * but in a trace with takes_blocks: else channels (dim 1) are in blocks of that many, [N][ceil(C /
 * block)][H][W][block], and the strides mean nothing. WICK_INVALID_ARGUMENT: null or out of range.
 */
WICK_API int wick_views_layout(const wick_views* views, size_t i, int64_t strides[WICK_MAX_RANK],
                               int* block);

/* A step that ran. */
typedef struct wick_trace_event {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char* op;             /* op name */
  const char* node;           /* the node's name, or "" */
  const char* kernel;         /* the kernel's name */
  const char* backend;        /* "cpu", "vulkan" */
  int64_t index;              /* step number */
  uint64_t begin_ns, end_ns;  /* of a clock that never goes back */
  const wick_views *in, *out; /* data must not be written */
} wick_trace_event;

/* Sees each step of a session (wick_session_options.trace). */
struct wick_trace_hook {
  /* sizeof the struct. */
  size_t size;
  void* user; /* passed to on_step */
  /* Not 0: on_step reads no values, or reads those whose channels are in blocks. With 0 a session
   * keeps every value plain, which makes convolutions slower. */
  int takes_blocks;
  /* Is called after each step. */
  void (*on_step)(void* user, const wick_trace_event* event);
};

/* A node of the program, in order of execution. */
typedef struct wick_placed_step {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char *op, *node;
  const char* backend; /* "cpu", "vulkan" */
  const char* kernel;  /* the CPU's; "" on a device, which reports its kernels */
  const char* why;     /* why it is not on the session's device; "": it is, or there is none */
  int64_t index;       /* step number as in traces; -1: not a step of a run */
  size_t region;       /* region of the entry point */
  const wick_views *in, *out; /* dtypes and shapes */
} wick_placed_step;

/* A kernel that a device runs for a step. */
typedef struct wick_placed_kernel {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char* name;                     /* the shader's */
  int64_t index;                        /* the step's */
  uint32_t groups[3], group_size[3];    /* how many run, and of how many invocations each */
  uint32_t shared_bytes, subgroup_size; /* of a group */
  const uint32_t* constants;            /* specialisation */
  size_t constant_count;
  uint64_t read_bytes, written_bytes; /* of memory */
} wick_placed_kernel;

/* A value that is copied between host and device in every run. */
typedef struct wick_placed_copy {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char* value;
  wick_tensor type; /* dtype and dims */
  int to_device;    /* 0: from it */
  /* The step at the other end; "": it is an input or an output of the program. */
  const char *op, *node, *backend;
} wick_placed_copy;

/* Consecutive steps that a device runs at once. Bytes are per run, except those that are held. */
typedef struct wick_placed_part {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char* backend;
  uint64_t kernels, barriers;                          /* that are recorded */
  uint64_t read_bytes, written_bytes;                  /* by kernels */
  uint64_t flops;                                      /* floating-point operations */
  uint64_t arena_bytes, constant_bytes, staging_bytes; /* held */
} wick_placed_part;

/* Receives where steps run. Any function may be null. For a device's part the order is: its copies
 * to the device, its steps, its kernels, the part itself, its copies back. */
typedef struct wick_explain_hook {
  /* sizeof the struct. */
  size_t size;
  void* user; /* passed to each function */
  /* Are called for each step, kernel, copied value and part of a device. */
  void (*on_step)(void* user, const wick_placed_step* step);
  void (*on_kernel)(void* user, const wick_placed_kernel* kernel);
  void (*on_copy)(void* user, const wick_placed_copy* copy);
  void (*on_part)(void* user, const wick_placed_part* part);
} wick_explain_hook;

/* Reports where the present binding runs, why, and the copies between host and device. Stages whose
 * shapes depend on values, and the regions of If and Loop, are included once a run has reached
 * them. WICK_INVALID_ARGUMENT: null, or a call is running in the session. */
WICK_API int wick_session_explain(const wick_session* session, const wick_explain_hook* hook);

#ifdef __cplusplus
}
#endif

#endif
