// A tensor of the caller's in the device's memory.
#pragma once

#include "runtime/backend/device_tensor.h"
#include "runtime/backend/vulkan/ctx/context.h"
#include "runtime/core/owned.h"

namespace wick::vulkan {

// Runs copy from it and to it; nothing else of the device accesses its buffer, so that barriers
// between copies order the runs of all sessions.
class VulkanTensor final : public DeviceTensor {
 public:
  // Zeros. kTypeMismatch for what is not numbers; kUnsupported for more than the device gives at
  // once.
  static Result<Owned<DeviceTensor>> create(Context& context, Allocator& allocator, DType dtype,
                                            const Shape& shape);
  Status write(const TensorView& from) override;
  Status read(const TensorView& to) override;
  void free() override;

  const Buffer& buffer() const { return buffer_; }
  // Identifies it among all tensors of the device, also those that are gone.
  uint64_t number() const { return number_; }

 private:
  VulkanTensor(Context& context, Allocator& allocator, DType dtype, const Shape& shape)
      : DeviceTensor(&context, dtype, shape),
        context_(context),
        allocator_(allocator),
        number_(context.next_number()) {
    context_.hold();
  }
  ~VulkanTensor() = default;
  Status open();
  Status check(const TensorView& view) const;
  Status transfer(std::byte* to, const std::byte* from);
  template <class Record>
  Status submit(const Access& after, Record record);

  Context& context_;
  Allocator& allocator_;
  uint64_t number_;
  Buffer buffer_, staging_;
  Mutex lock_;  // one transfer at a time
  CommandBuffer commands_;
  Submission submission_;
};

}  // namespace wick::vulkan
