// Lowering: what an op call is on the device, as dispatches. Pure: no device is needed to ask.
#pragma once

#include "runtime/backend/vulkan/ctx/context.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/shape_args.h"

namespace wick::vulkan {

// The operand that is no tensor of the call: a word in which a shader notes what a run's values
// make impossible, an index out of range.
constexpr int kFaultOperand = INT16_MAX;

// The operand that is no tensor of the call either: Lowered::table.
constexpr int kTableOperand = INT16_MAX - 1;
// A run of a tensor's bytes, from a multiple of kRegionAlignment on.
struct Window {
  uint64_t offset = 0, bytes = 0;  // no bytes: all of the tensor
};

// One shader run over the tensors of a call.
struct Dispatch {
  ShaderId shader = ShaderId::kCount;
  uint32_t spec_count = 0;
  uint32_t spec[kMaxSpecConstants] = {};
  uint32_t push_words = 0;
  uint32_t push[kMaxPushBytes / 4] = {};
  uint32_t groups[3] = {1, 1, 1};
  // Binding i sees input operand[i] when >= 0, output ~operand[i] when negative. Outputs are only
  // written.
  int16_t operand[kMaxBindings] = {};
  uint32_t operands = 0;
  Window window[kMaxBindings];  // what each binding sees of its tensor
  // With a kFaultOperand: the push constant that has what to note, the dispatch's number in its
  // graph
  // + 1.
  uint32_t fault_push = 0;
  const char* fault_text = "an index is out of range";  // what the note says
};

// What of the optional there is: which of a kernel's shaders may be taken. As made, nothing.
struct Capabilities {
  bool f16_storage = false, f16_ieee = false, integer_dot = false, matrix_units = false;
  uint32_t bindings = 7;  // what every device taken offers
  uint32_t subgroup = 0;  // invocations that add without shared memory; 0: none do
};
Capabilities capabilities_of(const DeviceInfo& device);

struct Lowered {
  explicit Lowered(Allocator& allocator, const Capabilities& device = {})
      : can(device), dispatches(allocator), table(allocator) {}
  Capabilities can;
  // The output is the first input's bytes under another shape; nothing is run.
  bool alias = false;
  Array<Dispatch> dispatches;
  // What lowering computed for the shaders to read, weights of neighbours say: a constant.
  Array<uint32_t> table;
  // Bytes of a buffer that a shader sees. Copies are cut to it; other calls that need more are
  // kUnsupported (see split.h).
  uint64_t range = UINT64_MAX;
};

// kUnsupported, with the reason, when the call must be run by another backend. Views carry dtype
// and shape; strides are not looked at: device tensors are contiguous. Data is, of inputs that the
// device does not see and of constants.
// Shapes have been through the op's shape rule.
Status lower(const OpCall& call, Lowered& out);

// Has the op's rule resolve the shape arguments into `args`, where the call has none yet.
// kUnsupported: only a run knows them.
Status resolve(OpCall& call, ShapeArgs& args);

// False for the inputs that the device does not see: what only the shape rule looks at (a Reshape's
// shape), and small numbers that lowering reads (a Slice's starts), which must be known by then.
bool reads_input(OpId op, size_t input);

// What only copies elements, or is another shape of the same bytes: of any size.
bool is_copied(OpId op);

}  // namespace wick::vulkan
