// What the files of the C ABI share: errors, tensors.
#pragma once

#include "runtime/core/tensor_view.h"
#include "wick/wick.h"

namespace wick::c_api {

struct Log {
  wick_log_fn fn = nullptr;
  void* user = nullptr;
};

// The code; the text stays with the thread.
int fail(const Status& status, const Log& log);
const char* last_error();

// What a caller gives by address: kInvalidArgument names the argument that is null. With a count
// beside it, a null pointer is fine where the count is 0.
Status check_pointer(const void* p, const char* name);
Status check_array(const void* p, size_t count, const char* name);

bool known_dtype(int dtype);
bool to_view(const wick_tensor& t, TensorView* view);
void to_tensor(const TensorView& view, wick_tensor* t);
// Of the array `what` + "s".
Status read_tensors(const wick_tensor* tensors, size_t n, const char* what, TensorView* views);

}  // namespace wick::c_api
