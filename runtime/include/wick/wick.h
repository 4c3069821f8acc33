/* Wick's runtime in C: load a .wick file, open a session, run it. The stable interface: functions
 * and struct fields are only ever appended.
 *
 * Errors: a function that can fail returns WICK_OK (0) or a wick_code; wick_last_error() then has
 * the text, per thread, until the next failing call on that thread. Outputs are untouched on error.
 * Structs: set `size` to sizeof the struct (WICK_INIT does) and the rest to zero or to your values;
 * a newer library takes an older, shorter struct. Threads: a program may be used from any number of
 * threads and sessions at once; a session by one at a time. A program must outlive its sessions.
 */
#ifndef WICK_WICK_H_
#define WICK_WICK_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WICK_API __declspec(dllexport)
#else
#define WICK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WICK_MAX_RANK 8
#ifdef __cplusplus
#define WICK_INIT(type)         \
  ([] {                         \
    type wick_t = {};           \
    wick_t.size = sizeof(type); \
    return wick_t;              \
  }())
#else
#define WICK_INIT(type) \
  { .size = sizeof(type) }
#endif

typedef enum wick_code {
  WICK_OK = 0,
  WICK_INVALID_ARGUMENT = 1,
  WICK_SHAPE_MISMATCH = 2,
  WICK_TYPE_MISMATCH = 3,
  WICK_NOT_FOUND = 4,
  WICK_UNSUPPORTED = 5,
  WICK_INVALID_PROGRAM = 6,
  WICK_BUDGET_EXCEEDED = 7,
  WICK_OUT_OF_MEMORY = 8,
  WICK_IO = 9,
  WICK_DEVICE = 10,
  WICK_DEADLINE = 11,
  WICK_INTERNAL = 12
} wick_code;

/* Element types have ONNX's numbers; the common ones by name. */
enum {
  WICK_FLOAT32 = 1,
  WICK_UINT8 = 2,
  WICK_INT8 = 3,
  WICK_INT32 = 6,
  WICK_INT64 = 7,
  WICK_BOOL = 9,
  WICK_FLOAT16 = 10,
  WICK_FLOAT64 = 11,
  WICK_BFLOAT16 = 16
};

typedef struct wick_program wick_program;
typedef struct wick_session wick_session;

/* Null functions: malloc and free. Called from any thread; `align` is a power of two. */
typedef struct wick_allocator {
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t align);
  void (*deallocate)(void* user, void* p, size_t bytes, size_t align);
} wick_allocator;

typedef void (*wick_log_fn)(void* user, int code, const char* message);

typedef struct wick_load_options {
  size_t size;
  wick_allocator allocator;
  uint64_t max_file; /* bytes; 0: the default */
  uint64_t max_ram;  /* bytes; 0: the default */
  int verify_digests;
  wick_log_fn log; /* gets every error of this program and its sessions; may be null */
  void* log_user;
} wick_load_options;

typedef struct wick_dim_binding {
  const char* symbol;
  int64_t extent;
} wick_dim_binding;

typedef struct wick_session_options {
  size_t size;
  wick_allocator allocator; /* null functions: the program's */
  const char* entry;        /* null: the first */
  int threads;              /* 0: as many as the process may use */
  uint64_t max_ram;         /* bytes; 0: the default */
  const wick_dim_binding* max_dims;
  size_t max_dim_count;
} wick_session_options;

typedef struct wick_run_options {
  size_t size;
  uint64_t timeout_ns; /* 0: none */
} wick_run_options;

/* Row-major without gaps. */
typedef struct wick_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t dims[WICK_MAX_RANK];
} wick_tensor;

/* dims: -1 where a size is free; symbol: its name there, else null. rank -1: free. */
typedef struct wick_port {
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t dims[WICK_MAX_RANK];
  const char* symbols[WICK_MAX_RANK];
} wick_port;

WICK_API const char* wick_version(void);
WICK_API const char* wick_last_error(void);
WICK_API const char* wick_code_name(int code);
WICK_API const char* wick_dtype_name(int dtype);
WICK_API size_t wick_dtype_size(int dtype); /* bytes; 0: sub-byte or unknown */

/* `options` may be null everywhere. */
WICK_API int wick_program_load(const char* path, const wick_load_options* options,
                               wick_program** program);
/* The bytes must outlive the program; 64-byte aligned they are not copied. */
WICK_API int wick_program_load_memory(const void* data, size_t bytes,
                                      const wick_load_options* options, wick_program** program);
WICK_API void wick_program_free(wick_program* program);
WICK_API size_t wick_program_entry_count(const wick_program* program);
WICK_API const char* wick_program_entry_name(const wick_program* program, size_t i);
WICK_API size_t wick_program_label_count(const wick_program* program);
WICK_API const char* wick_program_label(const wick_program* program,
                                        size_t i); /* null: out of range */
WICK_API const char* wick_program_metadata(const wick_program* program,
                                           const char* key); /* null: none */

WICK_API int wick_session_create(const wick_program* program, const wick_session_options* options,
                                 wick_session** session);
WICK_API void wick_session_free(wick_session* session);
WICK_API size_t wick_session_input_count(const wick_session* session);
WICK_API size_t wick_session_output_count(const wick_session* session);
WICK_API int wick_session_input(const wick_session* session, size_t i, wick_port* port);
WICK_API int wick_session_output(const wick_session* session, size_t i, wick_port* port);
WICK_API int wick_session_find_input(const wick_session* session, const char* name);  /* -1: none */
WICK_API int wick_session_find_output(const wick_session* session, const char* name); /* -1: none */
/* Plans for the shapes of these inputs (data is not read). Running with other shapes plans again.
 */
WICK_API int wick_session_bind(wick_session* session, const wick_tensor* inputs,
                               size_t input_count);
WICK_API int wick_session_output_shape(const wick_session* session, size_t i, wick_tensor* shape);
/* Every input and output, in order. An output with null data is set to the session's own memory,
 * valid until the next run or bind; otherwise its dtype and dims must be right and the result is
 * copied there. */
WICK_API int wick_session_run(wick_session* session, const wick_tensor* inputs, size_t input_count,
                              wick_tensor* outputs, size_t output_count,
                              const wick_run_options* options);
WICK_API size_t
wick_session_memory(const wick_session* session); /* bytes: planned memory and packed weights */

#ifdef __cplusplus
}
#endif

#endif
