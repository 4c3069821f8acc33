/* Kernel sets: which kernels a session may use. Example (tests/runtime/c_abi/session_test.cc):
 *
 *   options.kernels = &set;
 *   options.kernel_count = 1;
 *
 * A program that calls wick_kernels_cpu() or wick_kernels_reference() is linked with every kernel
 * of both sets; one of selected ops (wick_selected_ops) uses wick_default_kernel_set().
 */
#ifndef WICK_C_KERNELS_H_
#define WICK_C_KERNELS_H_

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Return the set of vector kernels, and the set of plain loops, which has every op with all of its
 * dtypes in the order of sums that the numeric contract states. Never null. */
WICK_API const wick_kernel_set* wick_kernels_cpu(void);
WICK_API const wick_kernel_set* wick_kernels_reference(void);
/* Return the number of sets of a session that is given none, in the order in which they are
 * searched, and one of them; null when i is out of range. */
WICK_API size_t wick_default_kernel_count(void);
WICK_API const wick_kernel_set* wick_default_kernel_set(size_t i);
/* Returns the set's name, such as "cpu" or "reference". Null for null. */
WICK_API const char* wick_kernel_set_name(const wick_kernel_set* set);
/* Returns 1 where the set has a kernel of the op ("Conv"), for some dtype; 0 where it has none, and
 * for a null argument or an unknown op. */
WICK_API int wick_kernel_set_has(const wick_kernel_set* set, const char* op);
/* Returns 1 for a set of selected ops; else, and for null, 0. */
WICK_API int wick_kernel_set_selected(const wick_kernel_set* set);

#ifdef __cplusplus
}
#endif

#endif
