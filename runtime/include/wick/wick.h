/* Wick's runtime in C: load a .wick file, open a session, run it. The stable interface: functions
 * and struct fields are only ever appended. Example (tests/docs/run_c.c):
 *
 *   float image[784] = {0}, logits[10];
 *   wick_tensor in = {image, WICK_FLOAT32, 4, {1, 1, 28, 28}};
 *   wick_tensor out = {logits, WICK_FLOAT32, 2, {1, 10}};
 *   wick_program* program = NULL;
 *   wick_session* session = NULL;
 *   int code = wick_program_load("net.wick", NULL, &program);
 *   if (code == WICK_OK) code = wick_session_create(program, NULL, &session);
 *   if (code == WICK_OK) code = wick_session_run(session, &in, 1, &out, 1, NULL);
 *   if (code != WICK_OK) fprintf(stderr, "%s: %s\n", wick_code_name(code), wick_last_error());
 *   wick_session_free(session);
 *   wick_program_free(program);
 *
 * Errors: a function that can fail returns WICK_OK (0) or a wick_code; wick_last_error() then has
 * the text, per thread, until the next failing call on that thread. Outputs are untouched on error.
 * Pointers: a null pointer where a function needs one is WICK_INVALID_ARGUMENT, and the text names
 * it. A function that returns no code then returns 0, -1 or null; one that frees does nothing. An
 * array may be null where its count is 0.
 * Strings: returned strings belong to the library. They live as long as the program (names, labels,
 * metadata) or for ever (version, code and dtype names).
 * Structs: set `size` to sizeof the struct (WICK_INIT does) and the rest to zero or to your values;
 * a newer library takes an older, shorter struct. A size of 0, or one that ends within a field, is
 * WICK_INVALID_ARGUMENT.
 * Threads: a program may be used from any number of threads and sessions at once; a session by one
 * thread at a time. A call on a session that is in use by another call returns
 * WICK_INVALID_ARGUMENT and changes nothing: open a session for each thread, or use a pool
 * (wick_pool_run), which any number of threads may call; sessions of one program share its weights,
 * packed ones included. Free a session only when no call on it is running. A program must outlive
 * its sessions and pools.
 * Further headers have what fewer programs need: wick/c/program.h (what a file says of itself),
 * wick/c/session.h (runs by name, runs in two halves, packed weights), wick/c/hooks.h (traces, and
 * where steps run), wick/c/kernels.h (kernel sets), wick/c/ops.h (ops of your own in C) and
 * wick/c/vulkan.h (devices; in Wick::vulkan). docs/use/c.md has a table of all that C++ can.
 */
#ifndef WICK_WICK_H_
#define WICK_WICK_H_

#include <stddef.h>
#include <stdint.h>

/* Marks what the library exports. For a DLL, the library is compiled with WICK_BUILDING_SHARED and
 * the program that uses it with WICK_SHARED, which CMake's targets define; a static library needs
 * neither. */
#if defined(_WIN32)
#if defined(WICK_BUILDING_SHARED)
#define WICK_API __declspec(dllexport)
#elif defined(WICK_SHARED)
#define WICK_API __declspec(dllimport)
#else
#define WICK_API
#endif
#elif defined(__GNUC__)
#define WICK_API __attribute__((visibility("default")))
#else
#define WICK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Dims of a tensor, at most. */
#define WICK_MAX_RANK 8
#ifdef __cplusplus
/* An options struct with its size set and everything else zero. */
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

/* Error codes, grouped by cause. Their values never change. */
typedef enum wick_code {
  WICK_OK = 0,               /* no failure */
  WICK_INVALID_ARGUMENT = 1, /* a name, rank, count or null pointer of the caller's */
  WICK_SHAPE_MISMATCH = 2,   /* shapes do not fit the program's */
  WICK_TYPE_MISMATCH = 3,    /* dtypes do not fit */
  WICK_NOT_FOUND = 4,        /* no such file, entry point, symbol */
  WICK_UNSUPPORTED = 5,      /* valid, but no kernel or feature in this build */
  WICK_INVALID_PROGRAM = 6,  /* the file breaks the format's rules */
  WICK_BUDGET_EXCEEDED = 7,  /* max_file, max_ram; more decoding work than the file's size allows */
  WICK_OUT_OF_MEMORY = 8,    /* the allocator returned null */
  WICK_IO = 9,               /* open, read, map */
  WICK_DEVICE = 10,          /* the accelerator failed */
  WICK_DEADLINE = 11,        /* timeout_ns passed */
  WICK_INTERNAL = 12,        /* a bug in Wick: please report */
  WICK_CANCELLED = 13,       /* wick_cancel_request() */
  WICK_BUSY = 14             /* every session of a pool is in use, and WICK_FAIL was given */
} wick_code;

/* Element types, with the values of ONNX's TensorProto.DataType. Only the common ones have a name
 * here. */
enum {
  WICK_FLOAT32 = 1,
  WICK_UINT8 = 2,
  WICK_INT8 = 3,
  WICK_INT32 = 6,
  WICK_INT64 = 7,
  WICK_STRING = 8, /* elements are wick_string */
  WICK_BOOL = 9,   /* a byte, 0 or 1; any other byte in an input is WICK_INVALID_ARGUMENT */
  WICK_FLOAT16 = 10,
  WICK_FLOAT64 = 11,
  WICK_BFLOAT16 = 16,
  WICK_SEQUENCE = 64, /* packed values, see wick_pack */
  WICK_OPTIONAL = 65,
  WICK_OPTIONAL_SEQUENCE = 66
};

#if defined(__GNUC__)
#define WICK_ALIGN8 __attribute__((aligned(8)))
#else
#define WICK_ALIGN8 /* 64-bit pointers need none */
#endif
/* One element of a string tensor: `size` bytes of UTF-8 without a terminator; data may be null
 * where size is 0. The bytes of an input string belong to the caller and must stay valid until the
 * outputs have been read, because outputs may refer to them. The bytes of an output string belong
 * to the session, to the inputs or to the program, also when the output's buffer is the caller's.
 * They are valid until the session's next run or bind, and only while the inputs and the program
 * are: copy what has to live longer. */
typedef struct wick_string {
  WICK_ALIGN8 const char* data;
  WICK_ALIGN8 uint64_t size;
} wick_string;

/* A loaded file, a session that runs it, a pool of such sessions, the state of one stream of runs,
 * threads that sessions share, a library of custom ops, and a flag that ends runs early: opaque,
 * made and freed by the functions below. */
typedef struct wick_program wick_program;
typedef struct wick_session wick_session;
typedef struct wick_pool wick_pool;
typedef struct wick_state wick_state;
typedef struct wick_thread_pool wick_thread_pool;
typedef struct wick_ops wick_ops;
typedef struct wick_cancel wick_cancel;
/* A set of kernels (wick/c/kernels.h), and a device (wick/c/vulkan.h): opaque, too. */
typedef struct wick_kernel_set wick_kernel_set;
typedef struct wick_backend wick_backend;
/* A tensor in a device's memory (wick/c/vulkan.h): opaque, too. */
typedef struct wick_device_tensor wick_device_tensor;
/* The functions that see each step of a run (wick/c/hooks.h). */
typedef struct wick_trace_hook wick_trace_hook;

/* Give both functions, or null for both, which means malloc and free. They may be called from any
 * thread. `align` is a power of two, in bytes; deallocate receives the values that allocate
 * received. A null return is reported as WICK_OUT_OF_MEMORY. */
typedef struct wick_allocator {
  /* Is passed to both functions, which allocate and free memory. */
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t align);
  void (*deallocate)(void* user, void* p, size_t bytes, size_t align);
} wick_allocator;

/* Where a file's weights are kept while its program lives. A mapped file can change under the
 * program: if it becomes shorter, the process ends (with `guard` of the options below the session
 * returns WICK_IO instead); if it is overwritten in place, this is NOT noticed, not even with a
 * guard. Replace a model's file by renaming a new one over it, as wick does. */
enum {
  WICK_WEIGHTS_AUTO =
      0, /* up to 8 MiB copied; more mapped where the storage is local, else copied */
  WICK_WEIGHTS_COPY = 1, /* all of them are copied */
  WICK_WEIGHTS_MAP = 2   /* all of them are mapped */
};

/* `message` is valid during the call only. */
typedef void (*wick_log_fn)(void* user, int code, const char* message);

/* Options of wick_program_load() and wick_program_load_memory(). */
typedef struct wick_load_options {
  /* sizeof the struct. */
  size_t size;
  /* The memory of the program and its sessions. */
  wick_allocator allocator;
  uint64_t max_file; /* limit on the file's bytes; 0: 2^40 */
  /* Limit on the bytes of decoded structure; copied weights are not counted. 0: 16 times the file's
   * table, plus twice its weights, plus 1 MiB. */
  uint64_t max_ram;
  /* Not 0: reads every byte and checks the file's SHA-256, or that of its weights where the file
   * has no other. Files whose weights are copied and have 8 MiB at most are always checked. */
  int verify_digests;
  wick_log_fn log;      /* receives every error of this program and its sessions; may be null */
  void* log_user;       /* passed to log */
  wick_ops* const* ops; /* libraries of the custom ops that the program may use */
  size_t ops_count;     /* number of ops */
  int weights;          /* WICK_WEIGHTS_AUTO ...; bytes in memory are read in place */
  /* Not 0: when a mapped file becomes shorter, or its storage fails, sessions return WICK_IO
   * instead of ending the process. Installs a SIGBUS handler for the whole process. */
  int guard;
  /* The names of the ops that a file may use ("Conv", "my.domain::Swish"); a file with any other op
   * is refused. null: every op is allowed. A list without names is WICK_INVALID_ARGUMENT. Use it
   * when you load files from untrusted sources. */
  const char* const* allowed_ops;
  size_t allowed_op_count;
  /* Not 0: weights that a session packed are kept until the program is freed; else they are freed
   * with the last session that uses them. */
  int keep_packed;
  /* Limit on tables, elements and bytes that the load looks at; 0: 64 for each byte of the file. */
  uint64_t max_visits;
} wick_load_options;

/* The extent of a symbolic dimension: {"batch", 32}. */
typedef struct wick_dim_binding {
  /* The symbol's name, and its extent. */
  const char* symbol;
  int64_t extent;
} wick_dim_binding;

/* Options of wick_session_create(). */
typedef struct wick_session_options {
  /* sizeof the struct. */
  size_t size;
  wick_allocator allocator; /* null functions: the program's */
  const char* entry;        /* null: the first entry point */
  int threads;              /* 0: as many as the process may use */
  /* Limit on arena, scratch and the packed weights that the session uses, in bytes; 0: 2^33. */
  uint64_t max_ram;
  const wick_dim_binding*
      max_dims;         /* plan for these now: sizes up to them allocate nothing later */
  size_t max_dim_count; /* number of max_dims */
  /* Kernel sets, searched in order; null with a count of 0: the default ones. */
  const wick_kernel_set* const* kernels;
  size_t kernel_count;
  wick_backend* backend; /* asked before the CPU; must outlive the session. null: the CPU alone */
  /* Sees each step; null: none. The struct is copied, and its `user` must outlive the session. The
   * sessions of a pool call it from several threads at once. */
  const wick_trace_hook* trace;
  /* Threads that any number of sessions may share; must outlive them. null: the session starts its
   * own. `threads` is then 0, or the number of the pool's. */
  wick_thread_pool* thread_pool;
  /* A file of what is known of the model's kernels on its device, which ships with the model
   * (wick_vulkan_save_cache); null: none. The session opens without it where it cannot be used: see
   * wick_session_refused_cache() of wick/c/session.h. */
  const char* device_cache;
} wick_session_options;

/* Options of wick_pool_create(). */
typedef struct wick_pool_options {
  /* sizeof the struct. */
  size_t size;
  size_t sessions; /* at most 65536; 0: 2 */
  /* Of each session; null: defaults. Without a thread_pool the pool makes one of `threads` threads,
   * which its sessions share. */
  const wick_session_options* session;
} wick_pool_options;

/* An input, and the output that becomes this input in the next run, by the names of their ports. */
typedef struct wick_state_link {
  const char* input;  /* the input's name */
  const char* output; /* the output's name */
} wick_state_link;

/* Options of wick_state_create(). */
typedef struct wick_state_options {
  /* sizeof the struct. */
  size_t size;
  wick_allocator allocator;     /* null functions: the program's */
  const char* entry;            /* of the links; null: the first entry point */
  const wick_state_link* links; /* each input once, each output once */
  size_t link_count;            /* number of links */
  const wick_dim_binding* dims; /* sizes that the program leaves free, such as {"batch", 1} */
  size_t dim_count;             /* number of dims */
  uint64_t max_ram;             /* limit on its bytes; 0: 2^30 */
} wick_state_options;

/* Options of wick_thread_pool_create(). */
typedef struct wick_thread_pool_options {
  /* sizeof the struct. */
  size_t size;
  wick_allocator allocator; /* null functions: malloc and free */
  int threads;              /* how many tasks may run at once; 0: as many as the process may use */
  /* Is passed to run. */
  void* user;
  /* The host's own threads; null: Wick starts threads. It calls work(job) `count` times, on any
   * threads, at once or one after the other, and returns when all of these calls have returned. It
   * may be called from several threads at once, but not from within work(). */
  void (*run)(void* user, int count, void (*work)(void* job), void* job);
} wick_thread_pool_options;

/* What a call does while every session of a pool is in use. */
enum {
  WICK_WAIT = 0, /* waits in line until the deadline, or until it is cancelled */
  WICK_FAIL = 1  /* returns WICK_BUSY at once */
};

/* Options of wick_session_run(), wick_pool_run() and wick_pool_acquire(). */
typedef struct wick_run_options {
  /* sizeof the struct. */
  size_t size;
  /* Counted from the call, in nanoseconds; checked between and within steps. 0: no limit. When it
   * passes, the run returns WICK_DEADLINE and leaves the outputs as they are; the next run
   * starts anew. */
  uint64_t timeout_ns;
  /* null: none. Once it is requested, the run ends as at a deadline, with WICK_CANCELLED. */
  const wick_cancel* cancel;
  int64_t when_busy; /* WICK_WAIT or WICK_FAIL, for pools */
  /* What the model remembers of the stream of which this run is a step; an entry point with state
   * buffers needs it. Inputs and outputs are then those that it does not link, in their order. It
   * is as it was where the run fails, and must live until the run is over. null: none. */
  wick_state* state;
  /* Tensors on the session's device, by port number; shorter lists and nulls leave the rest to the
   * call's own tensors, whose entries for these ports are neither read nor written. One tensor may
   * be an input and an output of a run: a state. At most 64 of each. See RunOptions of
   * runtime/exec/session.h for errors and for values that pass through the host. */
  wick_device_tensor* const* device_inputs;
  size_t device_input_count;
  wick_device_tensor* const* device_outputs;
  size_t device_output_count;
} wick_run_options;

/* A row-major tensor without gaps; data is aligned to its element type. rank 0 is a scalar. */
typedef struct wick_tensor {
  /* Its elements, their type (WICK_FLOAT32 ...), the number of dims, and their sizes. */
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t dims[WICK_MAX_RANK];
} wick_tensor;

/* Describes an input or output. dims[i] is -1 where the size is free, and symbols[i] is then its
 * name, else null. rank -1: the rank is free. */
typedef struct wick_port {
  /* Its name, the type of its elements (WICK_FLOAT32 ...), and its dims. */
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t dims[WICK_MAX_RANK];
  const char* symbols[WICK_MAX_RANK];
} wick_port;

/* Returns the version as text, such as "0.1.0". */
WICK_API const char* wick_version(void);
/* Returns the message of the calling thread's last failing call; "" before the first. */
WICK_API const char* wick_last_error(void);
/* Returns the code's name, such as "shape mismatch"; "unknown code" for any other number. */
WICK_API const char* wick_code_name(int code);
/* Returns the dtype's name, such as "float32"; "invalid" for any other number. */
WICK_API const char* wick_dtype_name(int dtype);
WICK_API size_t wick_dtype_size(int dtype); /* in bytes; 0: sub-byte or unknown */

/* Loads custom ops from a library made with <wick/custom_op.h>. The code runs in this process: load
 * only what you trust. WICK_NOT_FOUND, WICK_IO (not a library), WICK_UNSUPPORTED (no library of
 * Wick ops, or built for another version), WICK_INVALID_ARGUMENT (an op in it is malformed). */
WICK_API int wick_ops_load(const char* path, wick_ops** ops);
/* Call it after the programs that use these ops were freed; null is fine. */
WICK_API void wick_ops_free(wick_ops* ops);
/* Returns the number of ops; 0 for null. */
WICK_API size_t wick_ops_count(const wick_ops* ops);
/* Returns the op's full name, such as "com.example::Swish"; null when i is out of range. */
WICK_API const char* wick_ops_name(const wick_ops* ops, size_t i);

/* A flag that ends runs early (wick_run_options.cancel). One flag may be given to any number of
 * runs and must live until they have returned. WICK_OUT_OF_MEMORY. */
WICK_API int wick_cancel_create(wick_cancel** cancel);
WICK_API void wick_cancel_free(wick_cancel* cancel); /* null is fine, here and below */
/* May be called from any thread or a signal handler. Runs that use this flag end soon, and so do
 * those that begin later. */
WICK_API void wick_cancel_request(wick_cancel* cancel);
/* Resets the flag for the next run. A run that is under way may or may not end. */
WICK_API void wick_cancel_clear(wick_cancel* cancel);

/* `options` may be null in every function.
 *
 * Checks the whole file and copies its structure; for its weights see WICK_WEIGHTS_AUTO.
 * WICK_NOT_FOUND, WICK_IO, WICK_INVALID_PROGRAM, WICK_UNSUPPORTED (unknown ops and those that are
 * not allowed, all listed), WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_program_load(const char* path, const wick_load_options* options,
                               wick_program** program);
/* Loads a program from memory. The bytes must outlive the program; they are not copied when they
 * are 64-byte aligned. */
WICK_API int wick_program_load_memory(const void* data, size_t bytes,
                                      const wick_load_options* options, wick_program** program);
/* Call it after its sessions were freed; null is fine. */
WICK_API void wick_program_free(wick_program* program);
/* A program has at least one entry point. The name is null when i is out of range. */
WICK_API size_t wick_program_entry_count(const wick_program* program);
WICK_API const char* wick_program_entry_name(const wick_program* program, size_t i);
/* Class labels, in the order of the last dimension of the classifier's output; the count is 0 when
 * there are none. A label is null when i is out of range. */
WICK_API size_t wick_program_label_count(const wick_program* program);
WICK_API const char* wick_program_label(const wick_program* program, size_t i);
/* Returns null when there is no such key. */
WICK_API const char* wick_program_metadata(const wick_program* program, const char* key);
/* Returns the SHA-256 of the whole file that the file itself contains: 32 bytes; null: it contains
 * none. */
WICK_API const uint8_t* wick_program_digest(const wick_program* program);
/* Returns the bytes of the weights that its sessions have packed, which it holds once for all. */
WICK_API size_t wick_program_packed_bytes(const wick_program* program);
/* Installs the SIGBUS handler of `guard` (wick_load_options) again: for a host that has since
 * installed a SIGBUS handler which does not call the previous one. WICK_IO. */
WICK_API int wick_install_guard(void);

/* Chooses kernels. When every size is known (from the program or from max_dims) it also plans
 * memory and packs weights; otherwise the first run does. WICK_NOT_FOUND (entry, symbol),
 * WICK_UNSUPPORTED (steps without a kernel, which it lists), WICK_BUDGET_EXCEEDED,
 * WICK_OUT_OF_MEMORY. */
WICK_API int wick_session_create(const wick_program* program, const wick_session_options* options,
                                 wick_session** session);
/* Frees the session; one of wick_pool_acquire() goes back to its pool, and a run's results in its
 * memory are gone. Null is fine. */
WICK_API void wick_session_free(wick_session* session);
/* Return the number of inputs and of outputs. */
WICK_API size_t wick_session_input_count(const wick_session* session);
WICK_API size_t wick_session_output_count(const wick_session* session);
/* Fills *port as the program declares it. WICK_INVALID_ARGUMENT when i is out of range. */
WICK_API int wick_session_input(const wick_session* session, size_t i, wick_port* port);
/* The same for an output. */
WICK_API int wick_session_output(const wick_session* session, size_t i, wick_port* port);
/* Returns the index to use in the functions here; -1 when there is no such name. */
WICK_API int wick_session_find_input(const wick_session* session, const char* name);
/* The same for an output. */
WICK_API int wick_session_find_output(const wick_session* session, const char* name);
/* Plans for the shapes of these inputs; give all of them, in order (data is not read). May
 * allocate. WICK_SHAPE_MISMATCH, WICK_UNSUPPORTED, WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_session_bind(wick_session* session, const wick_tensor* inputs,
                               size_t input_count);
/* Fills in dtype, rank and dims of output i after a bind, with null data. WICK_INVALID_ARGUMENT
 * before one. */
WICK_API int wick_session_output_shape(const wick_session* session, size_t i, wick_tensor* shape);
/* Runs the session on every input and output, in order. Shapes that differ from the bound ones are
 * planned first; the same shapes never allocate. An output with null data is set to the session's
 * own memory, valid until the next run or bind; otherwise its dtype and dims must be right and the
 * result is copied there. WICK_INVALID_ARGUMENT, WICK_SHAPE_MISMATCH, WICK_TYPE_MISMATCH,
 * WICK_DEADLINE, WICK_CANCELLED, or the error of a kernel. */
WICK_API int wick_session_run(wick_session* session, const wick_tensor* inputs, size_t input_count,
                              wick_tensor* outputs, size_t output_count,
                              const wick_run_options* options);
/* Sequences and optionals are packed into one tensor: rank 1, as many elements as it has bytes,
 * data 8-byte aligned, of dtype WICK_SEQUENCE (any number of tensors of one dtype), WICK_OPTIONAL
 * (a tensor or none) or WICK_OPTIONAL_SEQUENCE (a sequence or none). Example
 * (tests/runtime/c_abi/c_sequence.c):
 *
 *   size_t bytes = 0, count = 0, i;
 *   if (check(wick_pack_bytes(elements, 2, &bytes))) return 1;
 *   memory = aligned_alloc(64, bytes);
 *   code = wick_pack(WICK_SEQUENCE, element_type, elements, 2, memory, bytes, &in[0]);
 *
 * in[0] is then an input like any other; an output is read by wick_packed_count and
 * wick_packed_element. */
/* Returns the dtype of the elements that the program declares; 0: the port is a tensor, or i is out
 * of range. */
WICK_API int wick_session_input_element(const wick_session* session, size_t i);
WICK_API int wick_session_output_element(const wick_session* session, size_t i);
/* Computes the bytes that wick_pack needs for these tensors, a multiple of 64.
 * WICK_INVALID_ARGUMENT, WICK_SHAPE_MISMATCH, WICK_BUDGET_EXCEEDED. */
WICK_API int wick_pack_bytes(const wick_tensor* elements, size_t count, size_t* bytes);
/* Copies `count` tensors, all of dtype `element`, into data, whose size comes from wick_pack_bytes,
 * and describes the result in *packed. Null `elements` gives an empty sequence or an absent
 * optional. Non-null `elements` with count 0 gives an optional sequence that is present and empty.
 * WICK_INVALID_ARGUMENT, WICK_TYPE_MISMATCH. */
WICK_API int wick_pack(int kind, int element, const wick_tensor* elements, size_t count, void* data,
                       size_t bytes, wick_tensor* packed);
/* Checks the packed data and returns the number of its elements; *present (may be null) is 0 for an
 * absent optional. WICK_INVALID_ARGUMENT. */
WICK_API int wick_packed_count(const wick_tensor* packed, size_t* count, int* present);
/* Describes element i in place: the view is valid as long as the packed data.
 * WICK_INVALID_ARGUMENT. */
WICK_API int wick_packed_element(const wick_tensor* packed, size_t i, wick_tensor* element);
/* Returns the bytes of planned memory and packed weights. */
WICK_API size_t wick_session_memory(const wick_session* session);
/* Returns how many of these bytes belong to the program, which holds them once for all sessions. */
WICK_API size_t wick_session_shared_memory(const wick_session* session);

/* A pool of sessions is one object for any number of threads. It keeps no value between runs: what
 * a model remembers of a stream is the caller's, in a wick_state or in buffers of its own.
 *
 * Opens all sessions. Errors are those of wick_session_create(). Sessions allocate from
 * options.session->allocator, or from the program's. */
WICK_API int wick_pool_create(const wick_program* program, const wick_pool_options* options,
                              wick_pool** pool);
/* Call it when no call is running and every acquired session was freed. Null is fine. */
WICK_API void wick_pool_free(wick_pool* pool);
/* Return the number of sessions, and how many of them nobody uses just now. */
WICK_API size_t wick_pool_size(const wick_pool* pool);
WICK_API size_t wick_pool_idle(const wick_pool* pool);
/* Returns the bytes that all sessions hold, without what the program holds for them. */
WICK_API size_t wick_pool_memory(const wick_pool* pool);
/* Runs a session that is free, if possible one that is bound to these shapes. timeout_ns includes
 * the wait for it. Each output needs memory of the caller's; outputs of strings are
 * WICK_UNSUPPORTED: wick_pool_acquire() serves those. Errors are those of wick_session_run(), and
 * WICK_BUSY. */
WICK_API int wick_pool_run(wick_pool* pool, const wick_tensor* inputs, size_t input_count,
                           wick_tensor* outputs, size_t output_count,
                           const wick_run_options* options);
/* The same for one step of a stream: inputs and outputs are those that the state does not link, in
 * their order. The state is as it was where this fails. WICK_INVALID_ARGUMENT: the state is of
 * another program or entry point, or another run uses it. */
WICK_API int wick_pool_run_state(wick_pool* pool, const wick_tensor* inputs, size_t input_count,
                                 wick_tensor* outputs, size_t output_count, wick_state* state,
                                 const wick_run_options* options);
/* Takes a session out of the pool until wick_session_free() gives it back. A thread that holds one
 * and waits for another may wait for ever. WICK_BUSY, WICK_DEADLINE, WICK_CANCELLED. */
WICK_API int wick_pool_acquire(wick_pool* pool, const wick_run_options* options,
                               wick_session** session);

/* What a model remembers of one stream: the program's state buffers (wick_program_state), which
 * serve all of its entry points, then the links, which serve one and are zeros at first.
 * WICK_NOT_FOUND (entry, port, size), WICK_INVALID_ARGUMENT (a port is linked twice, or a size is
 * still free), WICK_TYPE_MISMATCH, WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_state_create(const wick_program* program, const wick_state_options* options,
                               wick_state** state);
/* Call it before its program is freed; null is fine. */
WICK_API void wick_state_free(wick_state* state);
/* Makes it what it was at first. Not to be called during a run. */
WICK_API void wick_state_reset(wick_state* state);
/* Makes a copy, which goes on from here by itself. WICK_INVALID_ARGUMENT: a run uses the state just
 * now; WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_state_fork(wick_state* state, wick_state** copy);
/* Return the number of buffers and links, the name of one (a link's is its input's; null: out of
 * range), the number of a name (-1: none), and the bytes that the state holds. */
WICK_API size_t wick_state_count(const wick_state* state);
WICK_API const char* wick_state_name(const wick_state* state, size_t i);
WICK_API int wick_state_find(const wick_state* state, const char* name);
WICK_API size_t wick_state_bytes(const wick_state* state);
/* Describes the present value of buffer or link i in place; it may be read and written between
 * runs. WICK_INVALID_ARGUMENT. */
WICK_API int wick_state_value(const wick_state* state, size_t i, wick_tensor* value);

/* Threads for wick_session_options.thread_pool. WICK_INVALID_ARGUMENT, WICK_OUT_OF_MEMORY. */
WICK_API int wick_thread_pool_create(const wick_thread_pool_options* options,
                                     wick_thread_pool** thread_pool);
/* Call it after its sessions were freed; null is fine. */
WICK_API void wick_thread_pool_free(wick_thread_pool* thread_pool);
/* Returns how many tasks may run at once; 0 for null. */
WICK_API int wick_thread_pool_threads(const wick_thread_pool* thread_pool);

#ifdef __cplusplus
}
#endif

#endif
