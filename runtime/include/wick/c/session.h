/* More of a session: runs by name and of some outputs only, runs in two halves, what the session
 * holds, and its packed weights. Example (examples/c_session/main.c):
 *
 *   last.name = port.name;
 *   failed |= check(wick_session_run_named(session, named, inputs, &last, 1, NULL));
 *   failed |= check(wick_tensor_elements(&last.tensor, &elements));
 *
 * Errors and threads are as in wick/wick.h: between start and finish a session does nothing else,
 * and any call but finish and those that only read is WICK_INVALID_ARGUMENT.
 */
#ifndef WICK_C_SESSION_H_
#define WICK_C_SESSION_H_

#include "wick/c/program.h"
#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor by the name of its port. */
typedef struct wick_named_tensor {
  const char* name;
  wick_tensor tensor;
} wick_named_tensor;

/* Runs with all inputs, given by name in any order, and with those outputs that the caller wants.
 * Output tensors are as in wick_session_run. The first of these runs allocates its list.
 * WICK_NOT_FOUND: no such port (the text lists them); WICK_INVALID_ARGUMENT: an input is missing or
 * given twice, or the session has more than 64 inputs or outputs; else as wick_session_run. */
WICK_API int wick_session_run_named(wick_session* session, const wick_named_tensor* inputs,
                                    size_t input_count, wick_named_tensor* outputs,
                                    size_t output_count, const wick_run_options* options);
/* A run in two halves, so that the caller can work meanwhile: start returns as soon as the last
 * part that a device runs was started (on the CPU alone: when all is done). Until finish returns,
 * the inputs must stay unchanged and the cancel flag must live. Errors as of wick_session_run. */
WICK_API int wick_session_start(wick_session* session, const wick_tensor* inputs,
                                size_t input_count, const wick_run_options* options);
/* Waits for the started run and gives its outputs, as in wick_session_run. The run is then over
 * whatever it returns, except when the outputs themselves are wrong (WICK_INVALID_ARGUMENT for
 * their number or a null array, WICK_TYPE_MISMATCH, WICK_SHAPE_MISMATCH). WICK_INVALID_ARGUMENT: no
 * run was started. */
WICK_API int wick_session_finish(wick_session* session, wick_tensor* outputs, size_t output_count);
/* Returns "" while the session's device runs its part, else why everything now runs on the CPU. The
 * text lives as long as the session. Null for a null session. */
WICK_API const char* wick_session_left_backend(const wick_session* session);
/* Returns "" if wick_session_options.device_cache was taken or none was given, else why it was not:
 * it was made for another device or driver, or is damaged. Kernels are then checked and compiled as
 * without it. The text lives as long as the session. Null for a null session. */
WICK_API const char* wick_session_refused_cache(const wick_session* session);
/* Return the number of steps of a run, the bytes of planned memory, those of packed or uploaded
 * weights (wick_session_memory is the sum of both), and the number of threads that a run may use. 0
 * for a null session. */
WICK_API size_t wick_session_step_count(const wick_session* session);
WICK_API size_t wick_session_arena_bytes(const wick_session* session);
WICK_API size_t wick_session_packed_bytes(const wick_session* session);
WICK_API int wick_session_threads(const wick_session* session);
/* Return the number of packed forms that the session made of its constants, and one of them, which
 * lives as long as the session. WICK_INVALID_ARGUMENT: null, out of range, or a call is running in
 * the session. */
WICK_API size_t wick_session_packed_form_count(const wick_session* session);
WICK_API int wick_session_packed_form(const wick_session* session, size_t i,
                                      wick_packed_form* form);
/* Returns 1 where wick_cancel_request() was called since the last clear; else, and for null, 0. */
WICK_API int wick_cancel_requested(const wick_cancel* cancel);
/* Returns the name of a device, as in traces: "vulkan". Null for null. */
WICK_API const char* wick_backend_name(const wick_backend* backend);
/* Compute the number of elements of a tensor and its bytes. WICK_INVALID_ARGUMENT: null, or a rank
 * or dtype out of range; WICK_SHAPE_MISMATCH: a negative size, or more bytes than can be counted.
 */
WICK_API int wick_tensor_elements(const wick_tensor* tensor, int64_t* elements);
WICK_API int wick_tensor_bytes(const wick_tensor* tensor, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
