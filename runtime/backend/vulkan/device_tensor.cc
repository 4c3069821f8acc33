#include "runtime/backend/vulkan/device_tensor.h"

#include <cstring>
#include <new>

namespace wick::vulkan {
namespace {

constexpr uint64_t kPieceBytes = 16 << 20;  // of a transfer, and of its staging buffer

}  // namespace

Result<Owned<DeviceTensor>> VulkanTensor::create(Context& context, Allocator& allocator,
                                                 DType dtype, const Shape& shape) {
  if (dtype == DType::kNone || dtype == DType::kString || is_container(dtype)) {
    return error(Code::kTypeMismatch, "a tensor on the device holds numbers, not %s",
                 dtype_name(dtype));
  }
  WICK_ASSIGN(const size_t bytes, checked_bytes(shape, dtype_bits(dtype)));
  if (bytes > context.max_allocation()) {
    return error(Code::kUnsupported, "a tensor of %zu bytes; this device allocates %llu", bytes,
                 static_cast<unsigned long long>(context.max_allocation()));
  }
  void* memory = allocator.allocate(sizeof(VulkanTensor), alignof(VulkanTensor));
  if (memory == nullptr) return Status(Code::kOutOfMemory, "no memory for a tensor on the device");
  auto* tensor = new (memory) VulkanTensor(context, allocator, dtype, shape);
  Owned<DeviceTensor> owned(tensor);
  WICK_TRY(annotate(tensor->open(), "a tensor on the device: "));
  return owned;
}

void VulkanTensor::free() {
  Context& context = context_;
  Allocator& allocator = allocator_;
  context.drain();  // a run that was given up may go on
  this->~VulkanTensor();
  allocator.deallocate(this, sizeof(VulkanTensor), alignof(VulkanTensor));
  Context::destroy(&context);
}

Status VulkanTensor::open() {
  const uint64_t bytes = (nbytes() + 3) / 4 * 4;  // a fill is one of words
  WICK_TRY(buffer_.create(context_.device(), bytes, MemoryKind::kDevice));
  WICK_TRY(commands_.create(context_.device()));
  if (bytes == 0) return {};
  return submit(kCopyAccess, [&] { commands_.fill({&buffer_, 0}, bytes, 0); });
}

// Runs copies, after those of earlier runs and before those of later ones.
template <class Record>
Status VulkanTensor::submit(const Access& after, Record record) {
  WICK_TRY(commands_.begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
  commands_.barrier(kCopyAccess, kCopyAccess);
  record();
  commands_.barrier(kCopyAccess, after);
  WICK_TRY(commands_.end());
  return context_.run(commands_, submission_);
}

Status VulkanTensor::check(const TensorView& view) const {
  if (view.dtype != dtype()) {
    return error(Code::kTypeMismatch, "the tensor on the device is %s, the host's %s",
                 dtype_name(dtype()), dtype_name(view.dtype));
  }
  if (view.shape != shape() || !view.contiguous()) {
    return error(Code::kShapeMismatch,
                 "the tensor on the device has shape %s, the host's %s (it must be contiguous)",
                 to_text(shape()).text, to_text(view.shape).text);
  }
  if (nbytes() == 0 || view.data != nullptr) return {};
  return Status(Code::kInvalidArgument, "the host's tensor has no data");
}

Status VulkanTensor::write(const TensorView& from) {
  WICK_TRY(check(from));
  const auto* bytes = static_cast<const uint8_t*>(from.data);
  // Shaders read a bool's byte as C++ does.
  for (size_t i = 0; dtype() == DType::kBool && i < nbytes(); ++i) {
    if (bytes[i] > 1) {
      return error(Code::kInvalidArgument, "byte %zu of the bools is %d, not 0 or 1", i, bytes[i]);
    }
  }
  return transfer(nullptr, static_cast<const std::byte*>(from.data));
}

Status VulkanTensor::read(const TensorView& to) {
  WICK_TRY(check(to));
  return transfer(static_cast<std::byte*>(to.data), nullptr);
}

// Copies to the host, or from it if `to` is null.
Status VulkanTensor::transfer(std::byte* to, const std::byte* from) {
  const uint64_t all = nbytes();
  if (all == 0) return {};
  MutexLock lock(lock_);
  if (staging_.bytes() == 0) {
    WICK_TRY(context_.noted(staging_.create(
        context_.device(), all < kPieceBytes ? all : kPieceBytes, MemoryKind::kReadback)));
  }
  for (uint64_t at = 0; at < all; at += kPieceBytes) {
    const uint64_t n = all - at < kPieceBytes ? all - at : kPieceBytes;
    if (to == nullptr) memcpy(staging_.mapped(), from + at, static_cast<size_t>(n));
    WICK_TRY(context_.noted(submit(to == nullptr ? kCopyAccess : kHostRead, [&] {
      const Place device = {&buffer_, at}, host = {&staging_, 0};
      commands_.copy(to == nullptr ? host : device, to == nullptr ? device : host, n);
    })));
    if (to != nullptr) memcpy(to + at, staging_.mapped(), static_cast<size_t>(n));
  }
  return {};
}

}  // namespace wick::vulkan
