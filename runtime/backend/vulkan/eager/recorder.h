// Recorder: translates calls with operands to commands of the queue. Its temporaries live as long
// as the Recorder: the queue works in order, so that their memory may then be reused.
#pragma once

#include "runtime/backend/vulkan/eager/eager.h"
#include "runtime/backend/vulkan/eager/queue.h"
#include "runtime/backend/vulkan/graph/split.h"

namespace wick::vulkan {

class Recorder final : public Builder, private Parts {
 public:
  Recorder(Context& context, Pool& pool, EagerQueue& queue, CallNote note)
      : context_(context),
        pool_(pool),
        queue_(queue),
        note_(note),
        operands_(context.allocator()),
        temporaries_(context.allocator()) {}
  ~Recorder() {
    for (VulkanMemory* m : temporaries_) pool_.give(m);
  }

  Result<TensorId> add(const VulkanOperand& operand) {
    WICK_TRY(operands_.push_back(operand));
    return static_cast<TensorId>(operands_.size() - 1);
  }

  Result<TensorId> temporary(DType dtype, const Shape& shape) override;
  Result<TensorId> constant(DType dtype, double value) override;
  Status call(OpId op, const void* attrs, Span<const TensorId> in,
              Span<const TensorId> out) override;

  // Returns the operand itself if a shader can bind it, else a contiguous copy.
  Result<TensorId> bindable(const VulkanOperand& operand);
  Status copy(const VulkanOperand& from, const VulkanOperand& to);

 private:
  static constexpr size_t kMost = 64;  // operands of a call
  struct Walk;
  static Walk walk_of(const TensorView& from, const TensorView& to);
  Status gather_small(const VulkanOperand& from, const Walk& w, const VulkanOperand& to);

  Result<TensorId> window(TensorId of, uint64_t at, const Shape& shape) override;
  Result<TensorId> part_temporary(DType dtype, const Shape& shape) override {
    return temporary(dtype, shape);
  }
  Status move(TensorId from, uint64_t from_at, TensorId to, uint64_t to_at,
              uint64_t bytes) override;
  Status part(OpId op, const void* attrs, Span<const TensorId> in, Span<const TensorId> out,
              Span<const TensorView>) override {
    return call(op, attrs, in, out);
  }
  Status dispatch(const Dispatch& d, Span<const TensorId> in, Span<const TensorId> out,
                  TensorId table);

  Context& context_;
  Pool& pool_;
  EagerQueue& queue_;
  CallNote note_;
  Array<VulkanOperand> operands_;
  Array<VulkanMemory*> temporaries_;
};

}  // namespace wick::vulkan
