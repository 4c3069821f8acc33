#include "runtime/backend/vulkan/shaders/module_info.h"

namespace wick::vulkan {
namespace {

// Numbers of the SPIR-V specification.
enum : uint32_t {
  kExecutionMode = 16,
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeMatrix = 24,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstant = 43,
  kSpecConstant = 50,
  kSpecConstantComposite = 51,
  kConstantComposite = 44,
  kSpecConstantOp = 52,
  kFunction = 54,
  kVariable = 59,
  kDecorate = 71,
  kIAdd = 128,
  kISub = 130,
  kIMul = 132,
  kUDiv = 134,
  kSDiv = 135,
  kShiftRight = 194,
  kShiftLeft = 196,
};
constexpr uint32_t kLocalSize = 17, kWorkgroup = 4, kSpecId = 1, kBuiltIn = 11, kWorkgroupSize = 25;
constexpr uint32_t kNone = UINT32_MAX;

struct Id {
  uint32_t value = 0;      // of a constant; for a pointer its target type
  uint32_t bytes = 0;      // of a type
  uint32_t spec = kNone;   // number of the specialisation constant
  uint32_t storage = 0;    // of a pointer
  uint32_t parts[3] = {};  // of a composite
  bool group_size = false;
};

uint32_t apply(uint32_t op, uint32_t a, uint32_t b, bool* known) {
  switch (op) {
    case kIAdd: return a + b;
    case kISub: return a - b;
    case kIMul: return a * b;
    case kUDiv:
    case kSDiv: return b == 0 ? 0 : a / b;
    case kShiftRight: return b > 31 ? 0 : a >> b;
    case kShiftLeft: return b > 31 ? 0 : a << b;
    default: *known = false; return 0;
  }
}

}  // namespace

Result<ModuleInfo> module_info(Span<const uint32_t> spirv, Span<const uint32_t> constants,
                               Allocator& allocator) {
  constexpr uint32_t kMostIds = 1 << 20;
  const Status damaged(Code::kInternal, "a SPIR-V module that cannot be read");
  if (spirv.size() < 5 || spirv[3] > kMostIds) return damaged;
  Array<Id> ids(allocator);
  WICK_TRY(ids.resize(spirv[3]));
  ModuleInfo info;
  bool known = true;
  for (size_t at = 5; at < spirv.size();) {
    const uint32_t op = spirv[at] & 0xffff, words = spirv[at] >> 16;
    if (words == 0 || at + words > spirv.size()) return damaged;
    const Span<const uint32_t> w = spirv.subspan(at, words);
    at += words;
    if (op == kFunction) break;  // declarations come before functions
    // Checks every id where it is read.
    auto id = [&](uint32_t k) -> Id& {
      const bool there = k < w.size() && w[k] < ids.size();
      known = known && there;
      return ids[there ? w[k] : 0];
    };
    switch (op) {
      case kExecutionMode:
        if (words == 6 && w[2] == kLocalSize) {
          for (uint32_t i = 0; i < 3; ++i) info.group_size[i] = w[3 + i];
        }
        break;
      case kDecorate:
        if (words == 4 && w[2] == kSpecId) id(1).spec = w[3];
        if (words == 4 && w[2] == kBuiltIn && w[3] == kWorkgroupSize) id(1).group_size = true;
        break;
      case kTypeBool: id(1).bytes = 4; break;
      case kTypeInt:
      case kTypeFloat:
        if (words > 2) id(1).bytes = w[2] / 8;
        break;
      case kTypeVector:
      case kTypeMatrix:
        if (words > 3) id(1).bytes = id(2).bytes * w[3];
        break;
      case kTypeArray: id(1).bytes = id(2).bytes * id(3).value; break;
      case kTypeStruct:
        for (uint32_t i = 2; i < words; ++i) id(1).bytes += id(i).bytes;
        break;
      case kTypePointer:
        if (words > 3) {
          id(1).storage = w[2];
          id(1).value = w[3];
        }
        break;
      case kConstant:
      case kSpecConstant: {
        if (words < 4) break;
        Id& made = id(2);
        made.value = w[3];
        if (op == kSpecConstant && made.spec < constants.size()) made.value = constants[made.spec];
        break;
      }
      case kConstantComposite:
      case kSpecConstantComposite: {
        Id& made = id(2);
        for (uint32_t i = 0; i < 3 && i + 3 < words; ++i) made.parts[i] = id(i + 3).value;
        if (!made.group_size) break;
        for (uint32_t i = 0; i < 3; ++i) info.group_size[i] = made.parts[i];
        break;
      }
      case kSpecConstantOp: {
        bool can = words == 6;
        if (can) id(2).value = apply(w[3], id(4).value, id(5).value, &can);
        break;  // others (selections, comparisons) do not determine a size
      }
      case kVariable: {
        if (words < 4 || w[3] != kWorkgroup) break;
        const uint32_t type = id(1).value;
        if (type >= ids.size()) return damaged;
        info.shared_bytes += ids[type].bytes;
        break;
      }
      default: break;
    }
    if (!known) return damaged;
  }
  return info;
}

}  // namespace wick::vulkan
