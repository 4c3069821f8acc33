"""The C interface (wick/wick.h and wick/c) as ctypes sees it.

Structs and functions stand here as the headers have them; tests/python/test_package.py compares both.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

MAX_RANK = 8
FAIL_BUSY = 1
WEIGHTS = {"auto": 0, "copy": 1, "map": 2}
SEQUENCE, OPTIONAL, OPTIONAL_SEQUENCE = 64, 65, 66


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("dims", c_int64 * MAX_RANK)]


class String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


class Port(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("dims", c_int64 * MAX_RANK),
        ("symbols", c_char_p * MAX_RANK),
    ]


class Allocator(ctypes.Structure):
    _fields_ = [("user", c_void_p), ("allocate", c_void_p), ("deallocate", c_void_p)]


class LoadOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("allocator", Allocator),
        ("max_file", c_uint64),
        ("max_ram", c_uint64),
        ("verify_digests", c_int),
        ("log", c_void_p),
        ("log_user", c_void_p),
        ("ops", c_void_p),
        ("ops_count", c_size_t),
        ("weights", c_int),
        ("guard", c_int),
        ("allowed_ops", c_void_p),
        ("allowed_op_count", c_size_t),
        ("keep_packed", c_int),
        ("max_visits", c_uint64),
    ]


class DimBinding(ctypes.Structure):
    _fields_ = [("symbol", c_char_p), ("extent", c_int64)]


class SessionOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("allocator", Allocator),
        ("entry", c_char_p),
        ("threads", c_int),
        ("max_ram", c_uint64),
        ("max_dims", c_void_p),
        ("max_dim_count", c_size_t),
        ("kernels", c_void_p),
        ("kernel_count", c_size_t),
        ("backend", c_void_p),
        ("trace", c_void_p),
        ("thread_pool", c_void_p),
        ("device_cache", c_char_p),
    ]


class ThreadPoolOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("allocator", Allocator), ("threads", c_int), ("user", c_void_p), ("run", c_void_p)]


class RunOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("timeout_ns", c_uint64),
        ("cancel", c_void_p),
        ("when_busy", c_int64),
        ("state", c_void_p),
        ("device_inputs", c_void_p),
        ("device_input_count", c_size_t),
        ("device_outputs", c_void_p),
        ("device_output_count", c_size_t),
    ]


class TraceEvent(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("op", c_char_p),
        ("node", c_char_p),
        ("kernel", c_char_p),
        ("backend", c_char_p),
        ("index", c_int64),
        ("begin_ns", c_uint64),
        ("end_ns", c_uint64),
        ("in_", c_void_p),
        ("out", c_void_p),
    ]


OnStep = ctypes.CFUNCTYPE(None, c_void_p, POINTER(TraceEvent))


class TraceHook(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("takes_blocks", c_int), ("on_step", OnStep)]


class VulkanOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("allocator", Allocator),
        ("device", c_char_p),
        ("cache_folder", c_char_p),
        ("skip_kernel_checks", c_int),
        ("offload_all", c_int),
        ("hang_ns", c_uint64),
    ]


class VulkanDevice(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("type", c_char_p),
        ("why_unusable", c_char_p),
        ("best", c_int),
        ("vulkan_major", c_uint32),
        ("vulkan_minor", c_uint32),
        ("driver_version", c_uint32),
        ("memory_bytes", c_uint64),
        ("largest_allocation_bytes", c_uint64),
        ("largest_tensor_bytes", c_uint64),
        ("subgroup_size", c_uint32),
        ("shared_memory_bytes", c_uint32),
        ("subgroup_arithmetic", c_int),
        ("f16_storage", c_int),
        ("f16_arithmetic", c_int),
        ("f16_rounds_to_even", c_int),
        ("f16_keeps_subnormals", c_int),
        ("f16_keeps_specials", c_int),
        ("f16_ieee", c_int),
        ("i8_storage", c_int),
        ("integer_dot", c_int),
        ("matrix_units", c_int),
    ]


STRUCTS = {
    "wick_tensor": Tensor,
    "wick_string": String,
    "wick_port": Port,
    "wick_allocator": Allocator,
    "wick_load_options": LoadOptions,
    "wick_dim_binding": DimBinding,
    "wick_session_options": SessionOptions,
    "wick_thread_pool_options": ThreadPoolOptions,
    "wick_run_options": RunOptions,
    "wick_trace_event": TraceEvent,
    "wick_trace_hook": TraceHook,
    "wick_vulkan_options": VulkanOptions,
    "wick_vulkan_device": VulkanDevice,
}

# name: (result, arguments). Pointers to structs and arrays are addresses.
FUNCTIONS = {
    "wick_version": (c_char_p, []),
    "wick_last_error": (c_char_p, []),
    "wick_code_name": (c_char_p, [c_int]),
    "wick_dtype_name": (c_char_p, [c_int]),
    "wick_ops_load": (c_int, [c_char_p, c_void_p]),
    "wick_ops_free": (None, [c_void_p]),
    "wick_cancel_create": (c_int, [c_void_p]),
    "wick_cancel_free": (None, [c_void_p]),
    "wick_cancel_request": (None, [c_void_p]),
    "wick_cancel_clear": (None, [c_void_p]),
    "wick_program_load": (c_int, [c_char_p, c_void_p, c_void_p]),
    "wick_program_load_memory": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "wick_program_free": (None, [c_void_p]),
    "wick_program_label_count": (c_size_t, [c_void_p]),
    "wick_program_label": (c_char_p, [c_void_p, c_size_t]),
    "wick_program_metadata_count": (c_size_t, [c_void_p]),
    "wick_program_metadata_entry": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "wick_session_create": (c_int, [c_void_p, c_void_p, c_void_p]),
    "wick_session_free": (None, [c_void_p]),
    "wick_session_input_count": (c_size_t, [c_void_p]),
    "wick_session_output_count": (c_size_t, [c_void_p]),
    "wick_session_input": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_session_output": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_session_input_element": (c_int, [c_void_p, c_size_t]),
    "wick_session_output_element": (c_int, [c_void_p, c_size_t]),
    "wick_session_bind": (c_int, [c_void_p, c_void_p, c_size_t]),
    "wick_session_output_shape": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_session_run": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "wick_session_left_backend": (c_char_p, [c_void_p]),
    "wick_session_memory": (c_size_t, [c_void_p]),
    "wick_session_shared_memory": (c_size_t, [c_void_p]),
    "wick_pack_bytes": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_pack": (c_int, [c_int, c_int, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "wick_packed_count": (c_int, [c_void_p, c_void_p, c_void_p]),
    "wick_packed_element": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_thread_pool_create": (c_int, [c_void_p, c_void_p]),
    "wick_thread_pool_free": (None, [c_void_p]),
    "wick_thread_pool_threads": (c_int, [c_void_p]),
}
# Of the library with devices alone.
VULKAN_FUNCTIONS = {
    "wick_vulkan_devices_list": (c_int, [c_void_p]),
    "wick_vulkan_devices_free": (None, [c_void_p]),
    "wick_vulkan_devices_count": (c_size_t, [c_void_p]),
    "wick_vulkan_devices_get": (c_int, [c_void_p, c_size_t, c_void_p]),
    "wick_vulkan_create": (c_int, [c_void_p, c_void_p]),
    "wick_vulkan_free": (None, [c_void_p]),
}
