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
 * Pointers: a null one that a function needs is WICK_INVALID_ARGUMENT, and the text names it;
 * functions that return no code return 0, -1 or null then, and one that frees does nothing. An
 * array may be null where its count is 0.
 * Strings: returned ones are the library's and live as long as the program (names, labels,
 * metadata) or for ever (version, code and dtype names).
 * Structs: set `size` to sizeof the struct (WICK_INIT does) and the rest to zero or to your values;
 * a newer library takes an older, shorter struct. A size of 0, or one that ends within a field, is
 * WICK_INVALID_ARGUMENT.
 * Threads: a program may be used from any number of threads and sessions at once; a session by one
 * at a time. Whoever comes while a call is in a session gets WICK_INVALID_ARGUMENT and has touched
 * nothing: open a session for each thread, sessions of one program share its weights. Freeing is
 * for when no call is in it. A program must outlive its sessions.
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

/* By cause. Values are never changed. */
typedef enum wick_code {
  WICK_OK = 0,
  WICK_INVALID_ARGUMENT = 1, /* a name, rank, count or null pointer of the caller's */
  WICK_SHAPE_MISMATCH = 2,   /* shapes do not fit the program's */
  WICK_TYPE_MISMATCH = 3,    /* dtypes do not fit */
  WICK_NOT_FOUND = 4,        /* no such file, entry point, symbol */
  WICK_UNSUPPORTED = 5,      /* valid, but no kernel or feature in this build */
  WICK_INVALID_PROGRAM = 6,  /* the file breaks the format's rules */
  WICK_BUDGET_EXCEEDED = 7,  /* max_file, max_ram; more to look at than a file of its size has */
  WICK_OUT_OF_MEMORY = 8,    /* the allocator said no */
  WICK_IO = 9,               /* open, read, map */
  WICK_DEVICE = 10,          /* accelerator */
  WICK_DEADLINE = 11,        /* timeout_ns passed */
  WICK_INTERNAL = 12,        /* a bug in Wick: please report */
  WICK_CANCELLED = 13        /* wick_cancel_request() */
} wick_code;

/* Element types have ONNX's numbers; the common ones by name. */
enum {
  WICK_FLOAT32 = 1,
  WICK_UINT8 = 2,
  WICK_INT8 = 3,
  WICK_INT32 = 6,
  WICK_INT64 = 7,
  WICK_STRING = 8, /* elements are wick_string */
  WICK_BOOL = 9,   /* a byte, 0 or 1: an input of other bytes is WICK_INVALID_ARGUMENT */
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
/* An element of a string tensor: `size` bytes of UTF-8, no end mark; data may be null where size is
 * 0. Of an input the bytes are yours, and must stay until the outputs have been read: outputs may
 * refer to them. Of an output they are the session's, the inputs' or the program's, and live until
 * the session's next run or bind (and as long as the inputs and the program): copy what is to stay.
 * That holds for an output in a buffer of yours, too: it holds references. */
typedef struct wick_string {
  WICK_ALIGN8 const char* data;
  WICK_ALIGN8 uint64_t size;
} wick_string;

typedef struct wick_program wick_program;
typedef struct wick_session wick_session;
typedef struct wick_ops wick_ops;
typedef struct wick_cancel wick_cancel;

/* Both functions, or null for both: malloc and free. Called from any thread; `align` is a power of
 * two, in bytes, and deallocate gets the values that allocate got. A null return is
 * WICK_OUT_OF_MEMORY. */
typedef struct wick_allocator {
  void* user;
  void* (*allocate)(void* user, size_t bytes, size_t align);
  void (*deallocate)(void* user, void* p, size_t bytes, size_t align);
} wick_allocator;

/* Where the weights of a file are while its program lives. Whoever maps a file sees it change: one
 * that becomes shorter ends the process (`guard` of the options below makes WICK_IO of that), and
 * one that is written over in place is NOT noticed, not even with a guard. Replace a model's file
 * by renaming a new one over it, as wick does. */
enum {
  WICK_WEIGHTS_AUTO =
      0, /* up to 8 MiB copied; more mapped where the storage is local, else copied */
  WICK_WEIGHTS_COPY = 1,
  WICK_WEIGHTS_MAP = 2
};

/* `message` is valid during the call only. */
typedef void (*wick_log_fn)(void* user, int code, const char* message);

typedef struct wick_load_options {
  size_t size;
  wick_allocator allocator;
  uint64_t max_file; /* bytes of the file; 0: 2^40 */
  /* Bytes of decoded structure, copied weights not counted; 0: 16 times the file's table, twice its
   * weights and 1 MiB. */
  uint64_t max_ram;
  /* Not 0: reads every byte and compares the file's SHA-256, or its weights' where it has no other.
   * Files whose weights are copied and have 8 MiB at most are compared without it. */
  int verify_digests;
  wick_log_fn log; /* gets every error of this program and its sessions; may be null */
  void* log_user;
  wick_ops* const* ops; /* libraries of the custom ops that the program may name */
  size_t ops_count;
  int weights; /* WICK_WEIGHTS_AUTO ...; bytes in memory are read in place */
  /* Not 0: a mapped file that becomes shorter, or whose storage fails, makes sessions return
   * WICK_IO instead of ending the process. Installs a handler of SIGBUS for the whole process. */
  int guard;
  /* The names of the ops that a file may have ("Conv", "my.domain::Swish"), all others being
   * refused; null: every op. A list without names is WICK_INVALID_ARGUMENT. For who loads files of
   * strangers. */
  const char* const* allowed_ops;
  size_t allowed_op_count;
} wick_load_options;

/* The extent of a symbolic dimension: {"batch", 32}. */
typedef struct wick_dim_binding {
  const char* symbol;
  int64_t extent;
} wick_dim_binding;

typedef struct wick_session_options {
  size_t size;
  wick_allocator allocator; /* null functions: the program's */
  const char* entry;        /* null: the first */
  int threads;              /* 0: as many as the process may use */
  uint64_t max_ram;         /* bytes of arena, scratch and packed weights; 0: 2^33 */
  const wick_dim_binding*
      max_dims; /* plan for these now: sizes up to them allocate nothing later */
  size_t max_dim_count;
} wick_session_options;

typedef struct wick_run_options {
  size_t size;
  /* From the call; looked at between and within steps. 0: none. WICK_DEADLINE: outputs untouched,
   * and the next run begins anew. */
  uint64_t timeout_ns;
  /* null: none. Once it is requested, the run ends as at a deadline: WICK_CANCELLED. */
  const wick_cancel* cancel;
} wick_run_options;

/* Row-major without gaps; data aligned to its elements. rank 0: a scalar. */
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

/* "0.1.0" */
WICK_API const char* wick_version(void);
/* Of the calling thread's last failing call; "" before the first. */
WICK_API const char* wick_last_error(void);
/* "shape mismatch"; "unknown code" for any other number. */
WICK_API const char* wick_code_name(int code);
/* "float32"; "invalid" for any other number. */
WICK_API const char* wick_dtype_name(int dtype);
WICK_API size_t wick_dtype_size(int dtype); /* bytes; 0: sub-byte or unknown */

/* Custom ops, from a library made with <wick/custom_op.h>. Loaded code runs in this process: load
 * only what you trust. WICK_NOT_FOUND, WICK_IO (no library), WICK_UNSUPPORTED (not of Wick's ops,
 * or built for another version), WICK_INVALID_ARGUMENT (an op in it is not sound). */
WICK_API int wick_ops_load(const char* path, wick_ops** ops);
/* After the programs that were given it; null is fine. */
WICK_API void wick_ops_free(wick_ops* ops);
WICK_API size_t wick_ops_count(const wick_ops* ops);
/* "com.example::Swish"; null when i is out of range. */
WICK_API const char* wick_ops_name(const wick_ops* ops, size_t i);

/* What ends runs before they are done (wick_run_options.cancel). One may be given to any number of
 * runs, and must live until they have returned. WICK_OUT_OF_MEMORY. */
WICK_API int wick_cancel_create(wick_cancel** cancel);
WICK_API void wick_cancel_free(wick_cancel* cancel); /* null is fine, also below */
/* From any thread, or a signal handler: runs with it end soon, and so do those that begin later. */
WICK_API void wick_cancel_request(wick_cancel* cancel);
/* For the next run. While one is under way that one may or may not end. */
WICK_API void wick_cancel_clear(wick_cancel* cancel);

/* `options` may be null everywhere.
 *
 * Checks all of the file, whose structure is copied; of its weights see WICK_WEIGHTS_AUTO.
 * WICK_NOT_FOUND, WICK_IO, WICK_INVALID_PROGRAM, WICK_UNSUPPORTED (unknown ops and those that are
 * not allowed, all listed), WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_program_load(const char* path, const wick_load_options* options,
                               wick_program** program);
/* The same from memory. The bytes must outlive the program; they are not copied when they are
 * 64-byte aligned. */
WICK_API int wick_program_load_memory(const void* data, size_t bytes,
                                      const wick_load_options* options, wick_program** program);
/* After its sessions; null is fine. */
WICK_API void wick_program_free(wick_program* program);
/* At least one. A name is null when i is out of range. */
WICK_API size_t wick_program_entry_count(const wick_program* program);
WICK_API const char* wick_program_entry_name(const wick_program* program, size_t i);
/* Class labels, in the order of the classifying output's last dimension; 0 when there are none. A
 * label is null when i is out of range. */
WICK_API size_t wick_program_label_count(const wick_program* program);
WICK_API const char* wick_program_label(const wick_program* program, size_t i);
/* Null when there is no such key. */
WICK_API const char* wick_program_metadata(const wick_program* program, const char* key);
/* The SHA-256 of all of the file that the file itself has: 32 bytes; null: it has none. */
WICK_API const uint8_t* wick_program_digest(const wick_program* program);
/* What `guard` of the options installs, once more: for a host that has installed a handler of
 * SIGBUS since which does not hand on to the one before it. WICK_IO. */
WICK_API int wick_install_guard(void);

/* Chooses kernels and, when every size is known (from the program or from max_dims), plans memory
 * and packs weights; else the first run does. WICK_NOT_FOUND (entry, symbol), WICK_UNSUPPORTED
 * (steps without a kernel, all listed), WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_session_create(const wick_program* program, const wick_session_options* options,
                                 wick_session** session);
/* Null is fine. */
WICK_API void wick_session_free(wick_session* session);
WICK_API size_t wick_session_input_count(const wick_session* session);
WICK_API size_t wick_session_output_count(const wick_session* session);
/* Fills *port as the program declares it. WICK_INVALID_ARGUMENT when i is out of range. */
WICK_API int wick_session_input(const wick_session* session, size_t i, wick_port* port);
WICK_API int wick_session_output(const wick_session* session, size_t i, wick_port* port);
/* An index for the functions here; -1 when there is no such name. */
WICK_API int wick_session_find_input(const wick_session* session, const char* name);
WICK_API int wick_session_find_output(const wick_session* session, const char* name);
/* Plans for the shapes of these inputs, all of them, in order (data is not read). May allocate.
 * WICK_SHAPE_MISMATCH, WICK_UNSUPPORTED, WICK_BUDGET_EXCEEDED, WICK_OUT_OF_MEMORY. */
WICK_API int wick_session_bind(wick_session* session, const wick_tensor* inputs,
                               size_t input_count);
/* After a binding: dtype, rank and dims of output i, data null. WICK_INVALID_ARGUMENT before. */
WICK_API int wick_session_output_shape(const wick_session* session, size_t i, wick_tensor* shape);
/* Every input and output, in order. Other shapes than the binding's plan again first; the same ones
 * never allocate. An output with null data is set to the session's own memory, valid until the next
 * run or bind; otherwise its dtype and dims must be right and the result is copied there.
 * WICK_INVALID_ARGUMENT, WICK_SHAPE_MISMATCH, WICK_TYPE_MISMATCH, WICK_DEADLINE, a kernel's own. */
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
/* The elements' dtype that the program declares; 0: the port is a tensor, or i is out of range. */
WICK_API int wick_session_input_element(const wick_session* session, size_t i);
WICK_API int wick_session_output_element(const wick_session* session, size_t i);
/* What wick_pack needs for these tensors; a multiple of 64. WICK_INVALID_ARGUMENT,
 * WICK_SHAPE_MISMATCH, WICK_BUDGET_EXCEEDED. */
WICK_API int wick_pack_bytes(const wick_tensor* elements, size_t count, size_t* bytes);
/* Copies `count` tensors, all of dtype `element`, into data, whose size is that above, and
 * describes it in *packed. `elements` null: a sequence of none, an optional that is absent. Not
 * null and count 0: an optional sequence that is there and empty. WICK_INVALID_ARGUMENT,
 * WICK_TYPE_MISMATCH. */
WICK_API int wick_pack(int kind, int element, const wick_tensor* elements, size_t count, void* data,
                       size_t bytes, wick_tensor* packed);
/* The number of elements, after checking all of it; *present (may be null) is 0 for an optional
 * that is absent. WICK_INVALID_ARGUMENT. */
WICK_API int wick_packed_count(const wick_tensor* packed, size_t* count, int* present);
/* Element i, where it lies: good as long as the packed data. WICK_INVALID_ARGUMENT. */
WICK_API int wick_packed_element(const wick_tensor* packed, size_t i, wick_tensor* element);
/* Bytes of planned memory and packed weights. */
WICK_API size_t wick_session_memory(const wick_session* session);

#ifdef __cplusplus
}
#endif

#endif
