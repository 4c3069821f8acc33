// Shared by the files of the C ABI: errors and tensors.
#pragma once

#include "runtime/core/tensor_view.h"
#include "wick/wick.h"

namespace wick::c_api {

struct Log {
  wick_log_fn fn = nullptr;
  void* user = nullptr;
};

// Stores the error's text for the calling thread, logs it, and returns the code.
int fail(const Status& status, const Log& log);
const char* last_error();

// Check pointers that a caller gives: kInvalidArgument names the argument that is null. An array
// may be null where its count is 0.
Status check_pointer(const void* p, const char* name);
Status check_array(const void* p, size_t count, const char* name);

bool known_dtype(int dtype);
bool to_view(const wick_tensor& t, TensorView* view);
void to_tensor(const TensorView& view, wick_tensor* t);
// Converts the caller's tensors; error texts name the array `what` + "s".
Status read_tensors(const wick_tensor* tensors, size_t n, const char* what, TensorView* views);

}  // namespace wick::c_api
