/* Vulkan devices. Link Wick::vulkan (libwick_vulkan.a before libwick_runtime.a), or the shared
 * library libwick_vulkan.so, which has all of wick/wick.h as well, instead of libwick_runtime.so.
 * Example (examples/c_session/main.c):
 *
 *   options.device = name;
 *   if (wick_vulkan_create(&options, &backend) == WICK_OK) return backend;
 *   printf("on the CPU: %s\n", wick_last_error());
 *   open.backend = choose_device(argc > 2 ? argv[2] : NULL);
 *   wick_vulkan_free(open.backend);
 *
 * and with tensors that stay on the device (examples/c_device/main.c):
 *
 *   if (check(wick_vulkan_tensor_create(backend, &type, &state))) return 1;
 *   run.device_inputs = run.device_outputs = ports;
 *   failed |= check(wick_session_run(session, in, 2, out, 2, &run));
 *   failed |= check(wick_vulkan_tensor_read(state, &host));
 *
 * Null pointers, sizes and indices are checked as in wick/c/program.h. Integers have the CPU's bits
 * on a device, floats a bound for each op (docs/use/vulkan.md).
 */
#ifndef WICK_C_VULKAN_H_
#define WICK_C_VULKAN_H_

#include "wick/wick.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of wick_vulkan_create(). */
typedef struct wick_vulkan_options {
  /* sizeof the struct. */
  size_t size;
  wick_allocator allocator; /* null functions: malloc and free */
  /* Index or part of a name (case-insensitive). Null or "": the environment's WICK_VULKAN_DEVICE,
   * else the best device. */
  const char* device;
  /* The folder for verdicts and compiled pipelines. Null: the environment's WICK_CACHE_DIR, else
   * the user's cache folder; "": they are not stored. */
  const char* cache_folder;
  /* 0: each kernel is compared with the CPU before a model's first run on a driver. */
  int skip_kernel_checks;
  /* Not 0: steps between others that run on the CPU go to the device whenever it can run them; 0:
   * where that pays. */
  int offload_all;
  uint64_t hang_ns; /* a run that takes longer counts as a hang; 0: 60 seconds */
} wick_vulkan_options;

/* A device. Its texts live as long as the list or the backend that it comes from. */
typedef struct wick_vulkan_device {
  /* sizeof the struct. */
  size_t size;
  const char* name;         /* the driver's */
  const char* type;         /* "discrete gpu", "integrated gpu", "virtual gpu", "cpu", "other" */
  const char* why_unusable; /* "" for one that can be used */
  int best;                 /* 1: chosen where none is requested */
  uint32_t vulkan_major, vulkan_minor, driver_version;
  uint64_t memory_bytes, largest_allocation_bytes, largest_tensor_bytes;
  uint32_t subgroup_size, shared_memory_bytes;
  /* What compute shaders may use: 1 or 0. f16_ieee: all of 16-bit arithmetic that is named. */
  int subgroup_arithmetic, f16_storage, f16_arithmetic, f16_rounds_to_even, f16_keeps_subnormals,
      f16_keeps_specials, f16_ieee, i8_storage, integer_dot, matrix_units;
} wick_vulkan_device;

/* The devices of this machine: opaque. */
typedef struct wick_vulkan_devices wick_vulkan_devices;

/* A kernel before its specialisation. */
typedef struct wick_vulkan_kernel {
  /* sizeof the struct. */
  size_t size;
  const char* name;                              /* the shader's */
  uint32_t group_size[3], shared_bytes, buffers; /* its sizes, and the number of buffers */
} wick_vulkan_kernel;

/* An op that the self-test compared with the CPU. Valid during the call. */
typedef struct wick_vulkan_checked {
  /* sizeof the struct, as the library knows it. */
  size_t size;
  const char* op;
  wick_tensor made;           /* the first output: dtype and dims */
  const char* const* kernels; /* that the call runs */
  size_t kernel_count;
  const char* wrong; /* "": always equal to the CPU's; else such calls stay on the CPU */
} wick_vulkan_checked;

/* Receives the results of a self-test. Either function may be null. */
typedef struct wick_vulkan_report {
  /* sizeof the struct. */
  size_t size;
  void* user; /* passed to both */
  /* Are called for each op that was compared, and for each kernel that no call uses. */
  void (*on_call)(void* user, const wick_vulkan_checked* call);
  void (*on_unused)(void* user, const char* kernel); /* on this device */
} wick_vulkan_report;

/* Lists all devices in the loader's order, in which wick_vulkan_options.device counts.
 * WICK_UNSUPPORTED: a build without Vulkan; WICK_DEVICE: no loader, or none that works. */
WICK_API int wick_vulkan_devices_list(wick_vulkan_devices** devices);
/* Null is fine. */
WICK_API void wick_vulkan_devices_free(wick_vulkan_devices* devices);
/* Return the number of devices (0 for null), and one of them. */
WICK_API size_t wick_vulkan_devices_count(const wick_vulkan_devices* devices);
WICK_API int wick_vulkan_devices_get(const wick_vulkan_devices* devices, size_t i,
                                     wick_vulkan_device* device);

/* Opens a device, for any number of sessions and threads; `options` may be null. The text is one
 * line for the user. WICK_UNSUPPORTED, WICK_DEVICE as above; WICK_NOT_FOUND: no device is the
 * requested one; WICK_OUT_OF_MEMORY. */
WICK_API int wick_vulkan_create(const wick_vulkan_options* options, wick_backend** backend);
/* Call it after every session that used it; null is fine. Tensors that are left keep the device
 * open. */
WICK_API void wick_vulkan_free(wick_backend* backend);
/* Describes the opened device. */
WICK_API int wick_vulkan_opened(const wick_backend* backend, wick_vulkan_device* device);
/* Return the number of kernels compared with the CPU in this process; that of those found to
 * differ; and what one of these did: "Conv to float32 [1, 8, 4, 4]: element 3 is 0, the CPU's 2",
 * null when i is out of range. 0 for null. */
WICK_API size_t wick_vulkan_checked_count(const wick_backend* backend);
WICK_API size_t wick_vulkan_complaint_count(const wick_backend* backend);
WICK_API const char* wick_vulkan_complaint(const wick_backend* backend, size_t i);
/* Make a tensor of zeros in the device's memory, of the dtype and dims of `type`, whose data is
 * ignored; describe one, with null data; and copy all of it from or to the host, after every run
 * that was started before. wick_run_options gives it to runs as an input or an output. It belongs
 * to no session: any number of sessions of this device may use it, one after the other in the order
 * in which their runs reach the device. It keeps the device open, and must outlive the runs that
 * use it. wick_vulkan_tensor_free waits for them; null is fine. WICK_TYPE_MISMATCH,
 * WICK_SHAPE_MISMATCH: the host's tensor has another dtype or other dims, or such a tensor cannot
 * be; WICK_UNSUPPORTED: the device does not allocate as much at once; WICK_INVALID_ARGUMENT: there
 * is no data, or bools other than 0 and 1; WICK_DEVICE: the device was lost, and the content with
 * it; WICK_OUT_OF_MEMORY. */
WICK_API int wick_vulkan_tensor_create(wick_backend* backend, const wick_tensor* type,
                                       wick_device_tensor** tensor);
WICK_API void wick_vulkan_tensor_free(wick_device_tensor* tensor);
WICK_API int wick_vulkan_tensor_type(const wick_device_tensor* tensor, wick_tensor* type);
WICK_API int wick_vulkan_tensor_write(wick_device_tensor* tensor, const wick_tensor* from);
WICK_API int wick_vulkan_tensor_read(wick_device_tensor* tensor, const wick_tensor* to);
/* Write what this process knows of the device's kernels, the compiled pipelines included, to a file
 * that ships with a model, and take such a file (wick_session_options.device_cache does, too). It
 * has the kernels of one model where only that was bound, and cache_folder is "". A file that does
 * not fit or is damaged changes nothing. WICK_UNSUPPORTED: it was made for another device, driver
 * or version; WICK_INVALID_PROGRAM: it is damaged; WICK_INVALID_ARGUMENT: kernels are not checked;
 * WICK_NOT_FOUND, WICK_IO, WICK_OUT_OF_MEMORY, WICK_DEVICE. */
WICK_API int wick_vulkan_save_cache(wick_backend* backend, const char* path);
WICK_API int wick_vulkan_load_cache(wick_backend* backend, const char* path);
/* Compares calls of every kernel with the CPU, even if a verdict is known, and stores the verdicts.
 * `report` may be null. Fails if that was not possible. */
WICK_API int wick_vulkan_self_test(wick_backend* backend, const wick_vulkan_report* report);
/* Return the number of kernels of this build, and one of them. WICK_OUT_OF_MEMORY. */
WICK_API int wick_vulkan_kernel_count(size_t* count);
WICK_API int wick_vulkan_kernel_get(size_t i, wick_vulkan_kernel* kernel);
/* Returns why the op ("Conv") has no shader for any dtype or size; "" for an op that has some; null
 * for null and for an unknown op. */
WICK_API const char* wick_vulkan_why_no_shader(const char* op);

#ifdef __cplusplus
}
#endif

#endif
