/* What a loaded program says of itself: symbols with their bounds, metadata, provenance, constants,
 * states, custom ops, values and nodes. Example (examples/c_session/main.c):
 *
 *   wick_symbol symbol = WICK_INIT(wick_symbol);
 *   for (i = 0; i < wick_program_symbol_count(program); ++i) {
 *     if (!check(wick_program_symbol(program, i, &symbol)))
 *       printf("%s: %lld to %lld\n", symbol.name, (long long)symbol.min, (long long)symbol.max);
 *   }
 *
 * Functions fill structs whose `size` the caller has set (WICK_INIT); a library that is newer than
 * the caller fills the fields that the caller has. A null program, a null struct, a size of 0 and
 * an index out of range are WICK_INVALID_ARGUMENT; counts of a null program are 0. What the structs
 * point to belongs to the program and lives as long as it does.
 */
#ifndef WICK_C_PROGRAM_H_
#define WICK_C_PROGRAM_H_

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A symbolic dimension. */
typedef struct wick_symbol {
  /* sizeof the struct. */
  size_t size;
  const char* name;
  /* Bounds of its extent, both included. */
  int64_t min, max;
} wick_symbol;

/* The strongest promise about numbers that is left: the bits of the graph as it was written, sums
 * in another order, or functions that are approximated. */
enum { WICK_NUMERICS_EXACT = 0, WICK_NUMERICS_REASSOCIATES = 1, WICK_NUMERICS_APPROXIMATES = 2 };

/* Where a program comes from. */
typedef struct wick_provenance {
  /* sizeof the struct. */
  size_t size;
  const char* wick_version;      /* that wrote it */
  const char* source;            /* "trainer", or the imported file's name */
  const uint8_t* weights_sha256; /* 32 bytes; null: unknown */
  uint64_t seed;                 /* of the training run, if it was given */
  int numerics;                  /* WICK_NUMERICS_EXACT ... */
} wick_provenance;

/* Numbers about a program. */
typedef struct wick_program_facts {
  /* sizeof the struct. */
  size_t size;
  uint64_t file_bytes, weight_bytes; /* of the file, and of its constants */
  uint64_t features;                 /* the bits that a reader has to know */
  int edition;                       /* of the order of operations (docs/numerics.md) */
} wick_program_facts;

/* A constant. */
typedef struct wick_constant {
  /* sizeof the struct. */
  size_t size;
  const char* name; /* may be "" */
  /* Its dtype, dims and bytes, which must not be written. */
  wick_tensor tensor;
  size_t packed_count; /* forms of it that the file has: wick_program_packed_form */
} wick_constant;

/* A packed form of a constant, which kernels of one layout read. */
typedef struct wick_packed_form {
  /* sizeof the struct. */
  size_t size;
  uint32_t constant; /* the constant's index in the program */
  uint32_t layout;   /* the layout's id */
  const void* data;  /* null: the form is not meant for a file */
  size_t bytes;
} wick_packed_form;

/* A buffer that keeps its value between runs. */
typedef struct wick_state_buffer {
  /* sizeof the struct. */
  size_t size;
  const char* name;
  /* Its dtype and dims, -1 where a size is free; data is null. */
  wick_tensor tensor;
  int64_t init; /* index of the constant that it starts from; -1: zeros */
} wick_state_buffer;

/* A custom op that the file uses. */
typedef struct wick_custom_op {
  /* sizeof the struct. */
  size_t size;
  const char *domain, *name; /* the full name is domain::name */
  uint32_t version;          /* of the op's definition */
  int given;                 /* not 0: the program was loaded with an implementation */
} wick_custom_op;

/* A value of an entry point: an input, a constant, a state, or the output of a node. */
typedef struct wick_value {
  /* sizeof the struct. */
  size_t size;
  /* Name (may be ""), dtype, rank (-1: free), dims (-1: free) and symbols. */
  wick_port port;
  int32_t element;         /* dtype of the elements of a sequence or an optional; 0: a tensor */
  int32_t quant_axis;      /* the axis of several scales; -1: one scale, or not quantized */
  int64_t constant, state; /* the index of what it is; -1: neither */
  /* real = scale * (q - zero_point); null and 0: the value is not quantized. zero_points may be
   * null: 0. quant_block: elements of the last dim that share a scale; 0: no blocks. */
  const float* scales;
  const int64_t* zero_points;
  size_t scale_count;
  uint32_t quant_block;
} wick_value;

/* A node: an op on values. Ids are indices of values; UINT32_MAX: an absent optional input. */
typedef struct wick_node {
  /* sizeof the struct. */
  size_t size;
  const char* op;   /* "Conv", "my.domain::Swish" without its domain: "Swish" */
  const char* name; /* "features.0.conv"; may be "" */
  /* The ids of its inputs and outputs, and the numbers of the regions of If and Loop. */
  const uint32_t *inputs, *outputs, *regions;
  size_t input_count, output_count, region_count;
} wick_node;

/* Returns the index of the entry point of that name; -1: there is none. */
WICK_API int wick_program_find_entry(const wick_program* program, const char* name);
/* Return the number of symbols, and fill *symbol. */
WICK_API size_t wick_program_symbol_count(const wick_program* program);
WICK_API int wick_program_symbol(const wick_program* program, size_t i, wick_symbol* symbol);
/* Return the number of metadata entries, and one of them. wick_program_metadata() finds one by its
 * key. */
WICK_API size_t wick_program_metadata_count(const wick_program* program);
WICK_API int wick_program_metadata_entry(const wick_program* program, size_t i, const char** key,
                                         const char** value);
WICK_API int wick_program_provenance(const wick_program* program, wick_provenance* provenance);
WICK_API int wick_program_get_facts(const wick_program* program, wick_program_facts* facts);
/* Returns WICK_IO where a guarded file (wick_load_options.guard) could no longer be read, so that
 * some weights read as zeros. */
WICK_API int wick_program_intact(const wick_program* program);
/* Return the number of constants, one of them, and a packed form of one that the file has. */
WICK_API size_t wick_program_constant_count(const wick_program* program);
WICK_API int wick_program_constant(const wick_program* program, size_t i, wick_constant* constant);
WICK_API int wick_program_packed_form(const wick_program* program, size_t constant, size_t i,
                                      wick_packed_form* form);
WICK_API size_t wick_program_state_count(const wick_program* program);
WICK_API int wick_program_state(const wick_program* program, size_t i, wick_state_buffer* state);
WICK_API size_t wick_program_custom_op_count(const wick_program* program);
WICK_API int wick_program_custom_op(const wick_program* program, size_t i, wick_custom_op* op);
/* Return the number of values of an entry point, and one of them. */
WICK_API size_t wick_program_value_count(const wick_program* program, size_t entry);
WICK_API int wick_program_value(const wick_program* program, size_t entry, size_t i,
                                wick_value* value);
/* Return the number of regions of an entry point (0 is the body), and of nodes of one, in order of
 * execution; and one of the nodes. */
WICK_API size_t wick_program_region_count(const wick_program* program, size_t entry);
WICK_API size_t wick_program_node_count(const wick_program* program, size_t entry, size_t region);
WICK_API int wick_program_node(const wick_program* program, size_t entry, size_t region, size_t i,
                               wick_node* node);
/* Returns 1 where the sizes of some values depend on data without a bound, so that runs may
 * allocate; else 0. */
WICK_API int wick_program_growing(const wick_program* program, size_t entry);

#ifdef __cplusplus
}
#endif

#endif
