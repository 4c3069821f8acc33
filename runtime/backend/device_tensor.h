// DeviceTensor: a tensor in the memory of a device, which runs read and write there.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// A tensor on a device (Backend::create_tensor) that runs take as an input or fill as an output
// (RunOptions::device_inputs, device_outputs), so that it does not pass through the host between
// them. It belongs to no session: any number of them, in any threads, may use it, one after the
// other in the order in which their runs reach the device. It keeps its device open, and must
// outlive the runs that use it.
class DeviceTensor {
 public:
  // Return what it holds, and its size in bytes.
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  size_t nbytes() const { return type_.nbytes(); }
  // Identifies the device: equal to Backend::home() of the backend that made it.
  const void* home() const { return home_; }

  // Copy all of it from or to the host, after every run that was started before. May be called from
  // any thread. kTypeMismatch, kShapeMismatch: the view has another dtype or shape, or is not
  // contiguous; kInvalidArgument: it has no data, or bools other than 0 and 1; kDevice: the device
  // was lost, and the content with it; kOutOfMemory.
  virtual Status write(const TensorView& from) = 0;
  virtual Status read(const TensorView& to) = 0;
  virtual void free() = 0;  // waits for the device, then destroys the object

  static void destroy(DeviceTensor* t) { t->free(); }  // for Owned

 protected:
  DeviceTensor(const void* home, DType dtype, const Shape& shape)
      : home_(home), type_(nullptr, dtype, shape) {}
  ~DeviceTensor() = default;

 private:
  const void* home_;
  TensorView type_;
};

}  // namespace wick
