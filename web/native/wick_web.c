/* What JavaScript calls besides wick.h: memory, and the functions of wick.h that take structs of
 * options. The layouts that src/layout.js writes and reads are checked here, where the compiler
 * knows them. */
#include <stddef.h>
#include <stdlib.h>

#include "wick/wick.h"

#define AT(type, field, place) \
  _Static_assert(offsetof(type, field) == (place), "web/src/layout.js says otherwise")
AT(wick_tensor, data, 0);
AT(wick_tensor, dtype, 4);
AT(wick_tensor, rank, 8);
AT(wick_tensor, dims, 16);
_Static_assert(sizeof(wick_tensor) == 80, "web/src/layout.js says otherwise");
AT(wick_port, name, 0);
AT(wick_port, dtype, 4);
AT(wick_port, rank, 8);
AT(wick_port, dims, 16);
AT(wick_port, symbols, 80);
_Static_assert(sizeof(wick_port) == 112, "web/src/layout.js says otherwise");
AT(wick_dim_binding, symbol, 0);
AT(wick_dim_binding, extent, 8);
_Static_assert(sizeof(wick_dim_binding) == 16, "web/src/layout.js says otherwise");
AT(wick_string, data, 0);
AT(wick_string, size, 8);
_Static_assert(sizeof(wick_string) == 16, "web/src/layout.js says otherwise");

/* Returns memory aligned as programs want their bytes to be; null: there is no more. */
WICK_API void* wick_web_allocate(size_t bytes);
WICK_API void wick_web_free(void* memory);
/* As wick_program_load_memory(): the bytes must stay until the program is freed. max_ram: 0 is
 * wick.h's own limit. */
WICK_API int wick_web_load(const void* data, size_t bytes, double max_ram, wick_program** program);
/* As wick_session_create(), with one thread. An entry of null is the first. */
WICK_API int wick_web_open(const wick_program* program, const char* entry,
                           const wick_dim_binding* dims, size_t dim_count, double max_ram,
                           wick_session** session);
/* As wick_session_run(). timeout_ms: 0 is none. state: null for what keeps none. */
WICK_API int wick_web_run(wick_session* session, const wick_tensor* inputs, size_t input_count,
                          wick_tensor* outputs, size_t output_count, double timeout_ms,
                          wick_state* state);
/* As wick_state_create(), without links. */
WICK_API int wick_web_state(const wick_program* program, const wick_dim_binding* dims,
                            size_t dim_count, double max_ram, wick_state** state);
/* Returns 1 where this module computes with fused multiply-adds, if the engine's are fused. */
WICK_API int wick_web_fused(void);

void* wick_web_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - 128) return NULL;
  return aligned_alloc(64, bytes == 0 ? 64 : (bytes + 63) / 64 * 64);
}

void wick_web_free(void* memory) { free(memory); }

int wick_web_load(const void* data, size_t bytes, double max_ram, wick_program** program) {
  wick_load_options options = WICK_INIT(wick_load_options);
  options.max_ram = (uint64_t)max_ram;
  return wick_program_load_memory(data, bytes, &options, program);
}

int wick_web_open(const wick_program* program, const char* entry, const wick_dim_binding* dims,
                  size_t dim_count, double max_ram, wick_session** session) {
  wick_session_options options = WICK_INIT(wick_session_options);
  options.entry = entry;
  options.threads = 1;
  options.max_ram = (uint64_t)max_ram;
  options.max_dims = dims;
  options.max_dim_count = dim_count;
  return wick_session_create(program, &options, session);
}

int wick_web_run(wick_session* session, const wick_tensor* inputs, size_t input_count,
                 wick_tensor* outputs, size_t output_count, double timeout_ms, wick_state* state) {
  wick_run_options options = WICK_INIT(wick_run_options);
  options.timeout_ns = (uint64_t)(timeout_ms * 1e6);
  options.state = state;
  return wick_session_run(session, inputs, input_count, outputs, output_count, &options);
}

int wick_web_state(const wick_program* program, const wick_dim_binding* dims, size_t dim_count,
                   double max_ram, wick_state** state) {
  wick_state_options options = WICK_INIT(wick_state_options);
  options.dims = dims;
  options.dim_count = dim_count;
  options.max_ram = (uint64_t)max_ram;
  return wick_state_create(program, &options, state);
}

int wick_web_fused(void) {
#if defined(__wasm_relaxed_simd__)
  return 1;
#else
  return 0;
#endif
}
