// Lowering: translates an op call to dispatches. Pure: it needs no device.
#pragma once

#include "runtime/backend/vulkan/ctx/context.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick::vulkan {

// An operand that is not a tensor of the call: a word in which a shader reports that a run's values
// are impossible, such as an index out of range.
constexpr int kFaultOperand = INT16_MAX;

// Another operand that is not a tensor of the call: Lowered::table.
constexpr int kTableOperand = INT16_MAX - 1;
// A run of a tensor's bytes that starts at a multiple of kRegionAlignment.
struct Window {
  uint64_t offset = 0, bytes = 0;  // 0 bytes: the whole tensor
};

// One run of a shader over the tensors of a call.
struct Dispatch {
  ShaderId shader = ShaderId::kCount;
  uint32_t spec_count = 0;
  uint32_t spec[kMaxSpecConstants] = {};
  uint32_t push_words = 0;
  uint32_t push[kMaxPushBytes / 4] = {};
  uint32_t groups[3] = {1, 1, 1};
  // Binding i is input operand[i] when >= 0, output ~operand[i] when negative. Outputs are only
  // written.
  int16_t operand[kMaxBindings] = {};
  uint32_t operands = 0;
  Window window[kMaxBindings];  // the part of its tensor that each binding accesses
  // With a kFaultOperand: index of the push constant that holds the value to report, which is the
  // dispatch's number in its graph + 1.
  uint32_t fault_push = 0;
  const char* fault_text = "an index is out of range";  // meaning of the report
};

// Optional features of the device. By default there are none.
struct Capabilities {
  bool f16_storage = false, f16_ieee = false, integer_dot = false, matrix_units = false;
  uint32_t bindings = 7;  // every supported device has these
  uint32_t subgroup = 0;  // invocations that add without shared memory; 0: none
};
Capabilities capabilities_of(const DeviceInfo& device);

struct Lowered {
  explicit Lowered(Allocator& allocator, const Capabilities& device = {})
      : can(device), dispatches(allocator), table(allocator) {}
  Capabilities can;
  // The output is the first input's bytes with another shape; nothing is run.
  bool alias = false;
  Array<Dispatch> dispatches;
  // Data that lowering computed for the shaders, such as weights of neighbours: a constant.
  Array<uint32_t> table;
  // The bytes of a buffer that a shader can access. Copies are split to fit; other calls that need
  // more are kUnsupported (see split.h).
  uint64_t range = UINT64_MAX;
};

// Fails with kUnsupported and the reason when another backend must run the call. Views have dtype
// and shape; strides are ignored, as device tensors are contiguous. Inputs that the device does not
// read, and constants, have data. The shapes have passed the op's shape rule.
Status lower(const OpCall& call, Lowered& out);

// Resolves the shape arguments into `args` with the op's rule, unless the call has them.
// kUnsupported: they are known only during a run.
Status resolve(OpCall& call, ShapeArgs& args);

// Returns false for the inputs that the device does not read: those of the shape rule alone (a
// Reshape's shape), and small numbers that lowering reads (a Slice's starts), which must be known
// by then.
bool reads_input(OpId op, size_t input);

// Returns whether the op only copies elements, or is another shape of the same bytes: any size
// works.
bool is_copied(OpId op);

}  // namespace wick::vulkan
