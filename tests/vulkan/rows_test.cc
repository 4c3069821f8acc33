// Every op's test row on the device, against the f64 oracle, within a derived bound (P3).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <cfloat>
#include <cmath>
#include <memory>
#include <set>

#include "runtime/backend/vulkan/backend.h"
#include "runtime/backend/vulkan/graph/graph.h"
#include "runtime/backend/vulkan/graph/rows.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/vulkan/bounds.h"
#include "tests/vulkan/device.h"
#include "tests/vulkan/on_device.h"

namespace wick::test {
namespace {

using vulkan::Lowered;
using vulkan::TensorId;
using vulkan::VulkanGraph;

constexpr const TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &kTest_##Name,
#define WICK_TESTED_kTrain(Name) &kTest_##Name,
#define WICK_TESTED_kControl(Name)  // no kernels: tests/graph and tests/runtime
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

// Ops of a row in the backend whose samples here have no double form: they have tests of their own.
constexpr OpId kTestedElsewhere[] = {OpId::kBitCast, OpId::kDequantizeLinear,
                                     OpId::kFusedElementwise, OpId::kQuantizeLinear};

// Ops with samples that are larger than the narrow context shows, and that run in parts there.
constexpr OpId kCut[] = {
    OpId::kAdd,       OpId::kAveragePool, OpId::kBatchNorm,      OpId::kConv,
    OpId::kFusedConv, OpId::kFusedLinear, OpId::kFusedAttention, OpId::kFusedMatMul,
    OpId::kLinear,    OpId::kMatMul,      OpId::kMaxPool,        OpId::kPow,
    OpId::kReduceMax, OpId::kReduceMean,  OpId::kReduceSum,      OpId::kTranspose};

// True if the shader is chosen by the number of rows, and some of these shaders add in another
// order.
bool is_added_by_shape(OpId op) {
  return op == OpId::kMatMul || op == OpId::kLinear || op == OpId::kFusedLinear ||
         op == OpId::kFusedMatMul || op == OpId::kFusedAttention;
}

double element_of(const Value& v, const Shape& out, int64_t i) {
  TensorView in = v.view();
  int64_t offset = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    int64_t index = i % out[d];
    i /= out[d];
    int at = d - (out.rank() - in.rank());
    if (at >= 0 && in.shape[at] != 1) offset += index * in.strides[at];
  }
  return v.at(offset);
}

// The f64 result, from the row's oracle or else the f64 reference kernel.
Status oracle(const TestRow& row, const Sample& s, const std::vector<Value>& in,
              std::vector<Value>* want) {
  Status status = run_op(row.op, s.attrs.get(), in, s.outputs, reference_sets(), nullptr, want);
  if (row.oracle == nullptr || !status.ok()) return status;
  Value& w = (*want)[0];
  for (int64_t i = 0; i < w.view().numel(); ++i) {
    double args[3] = {};
    for (size_t k = 0; k < in.size(); ++k) args[k] = element_of(in[k], w.view().shape, i);
    w.set(i, row.oracle(args));
  }
  return {};
}

Status run_on_device(vulkan::Context& context, const TestRow& row, const Sample& s,
                     const std::vector<Value>& in, bool constants, std::vector<Value>& out) {
  VulkanGraph graph(context, default_allocator());
  std::vector<TensorId> in_ids, out_ids;
  std::vector<TensorView> known;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t k = 0; k < in.size(); ++k) {
    TensorView v = in[k].view();
    known.push_back(v);
    if (!v.present() || !vulkan::reads_input(row.op, k)) {
      in_ids.push_back(vulkan::kNoTensor);
    } else if (constants && k > 0) {
      WICK_ASSIGN(TensorId id, graph.add_constant(v.dtype, v.shape, v.data));
      in_ids.push_back(id);
    } else {
      WICK_ASSIGN(TensorId id, graph.add_input(v.dtype, v.shape));
      in_ids.push_back(id);
      inputs.push_back(v.data);
    }
  }
  std::vector<TensorView> made;
  for (const Value& v : out) {
    WICK_ASSIGN(TensorId id, graph.add_temporary(v.view().dtype, v.view().shape));
    out_ids.push_back(id);
    outputs.push_back(v.view().data);
    made.emplace_back(nullptr, v.view().dtype, v.view().shape);
  }
  // A chain's steps have rows of their own; its roundings add up as its steps say.
  if (row.op == OpId::kFusedElementwise) return Status(Code::kUnsupported, "a chain");
  IntoGraph parts(graph);
  WICK_TRY(parts.add({row.op, s.attrs.get(), known, in_ids, made, out_ids}));
  for (TensorId id : out_ids) WICK_TRY(graph.add_output(id));
  WICK_TRY(graph.finish());
  return graph.run(inputs, outputs);
}

bool subnormal(double v) { return v != 0 && std::fabs(v) < FLT_MIN; }

struct Worst {
  double ratio = 0;
  std::string text = "exact";
};

// "" when every element is within its bound; keeps the worst ratio seen.
std::string compare(const Sample& s, const Value& got, const Value& want,
                    const std::vector<Value>& in, const std::vector<double>& bounds, Worst* worst) {
  for (int64_t i = 0; i < want.view().numel(); ++i) {
    double a = got.at(i), b = want.at(i), bound = bounds[static_cast<size_t>(i)];
    b = std::fabs(b) > FLT_MAX ? std::copysign(INFINITY, b) : b;
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // A device may read a subnormal as zero: nothing is promised of it.
    if (in.size() == 1 && in[0].view().numel() == want.view().numel() && subnormal(in[0].at(i)))
      continue;
    if (got.view().dtype == DType::kF32 && static_cast<float>(b) == static_cast<float>(a)) continue;
    double ratio = bound > 0 ? std::fabs(a - b) / bound : INFINITY;
    std::string text =
        fmt::format("{} element {}: {:.9g}, exact {:.9g}, bound {:.3g}", s.name, i, a, b, bound);
    if (!(ratio <= 1)) return text;
    if (ratio > worst->ratio) *worst = {ratio, fmt::format("{:.3f} ({})", ratio, text)};
  }
  return "";
}

// An op has a lowering or the reason why it has none, and nothing else of a row without one.
TEST(VulkanRows, ALoweringOrAReason) {
  for (const OpInfo& op : all_ops()) {
    const vulkan::VulkanRow& row = vulkan::vulkan_row(op.id);
    const std::string why = VulkanBackend::why_no_shader(op.id);
    EXPECT_EQ(row.lower == nullptr, !why.empty()) << op.name;
    if (op.role != OpRole::kInfer) {
      EXPECT_EQ(row.lower, nullptr) << op.name;
    }
    for (uint32_t i = 0; i < 32; ++i) {
      if ((row.host_inputs >> i & 1) == 0) continue;
      EXPECT_NE(std::string("wszxv").find(input_role(op.id, i)), std::string::npos)
          << op.name << ": input " << i << " is seen by no device anyway, or there is none";
      EXPECT_FALSE(vulkan::reads_input(op.id, i)) << op.name << ", input " << i;
    }
    if ((row.flags & vulkan::kCopies) != 0) {
      EXPECT_NE(row.flags & vulkan::kMoves, 0u) << op.name;
    }
    if ((row.flags & vulkan::kMoves) != 0) {
      EXPECT_NE(row.flags & vulkan::kEmptyOutputs, 0u);
    }
  }
  EXPECT_NE(std::string(VulkanBackend::why_no_shader(static_cast<OpId>(kFirstCustomOp))), "");
}

TEST(VulkanRows, WithinBoundsOfTheDoubleOracle) {
  WICK_NEED_DEVICE();
  int on_device = 0, left = 0;
  std::set<std::string> cut;
  int uncut = 0;
  double overall = 0;
  for (const TestRow* row : kRows) {
    if (find_op(row->op)->role == OpRole::kTrain) continue;  // never in a program
    const char* name = find_op(row->op)->name;
    Worst worst;
    int ran = 0;
    for (const Sample& s : row->samples()) {
      SCOPED_TRACE(s.name);
      auto in = make_inputs(s);
      auto exact_in = make_inputs(s, DType::kF64);
      std::vector<Value> want, got;
      Status known = oracle(*row, s, exact_in, &want);
      // Bytes made of floats have no double form: the CPU says which they are.
      if (!known.ok() && row->oracle_apart) {
        exact_in = make_inputs(s);
        known = oracle(*row, s, exact_in, &want);
      }
      if (!known.ok()) {  // an op without a double form has tests of its own
        ++left;
        continue;
      }
      for (const Value& w : want) {
        got.emplace_back(w.view().dtype == DType::kF64 ? DType::kF32 : w.view().dtype,
                         w.view().shape);
      }
      Status status = run_on_device(*shared_context(true), *row, s, in, true, got);
      if (status.code() == Code::kUnsupported) {
        ++left;
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.message();
      bool empty = true;
      for (const Value& w : want) empty = empty && w.view().numel() == 0;
      ran += empty ? 0 : 1;  // nothing runs for an empty result
      for (size_t k = 0; k < want.size(); ++k) {
        auto bounds = vulkan_bounds(row->op, s.attrs.get(), exact_in, want[k]);
        EXPECT_EQ(compare(s, got[k], want[k], exact_in, bounds, &worst), "");
      }
      // The same shaders on the same numbers: where tensors lie must not matter.
      std::vector<Value> direct;
      for (const Value& g : got) direct.emplace_back(g.view().dtype, g.view().shape);
      status = run_on_device(*shared_context(false), *row, s, in, false, direct);
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(bits_differ(got[k].view(), direct[k].view()), "");
      // Nor must it matter that shaders see a part of a tensor at a time.
      for (size_t narrow = 0; narrow < std::size(kNarrow); ++narrow) {
        status = run_on_device(*narrow_context(narrow), *row, s, in, false, direct);
        if (status.code() == Code::kUnsupported) {
          ++uncut;
          continue;
        }
        ASSERT_TRUE(status.ok()) << status.message();
        size_t largest = 0;
        for (const Value& v : in) largest = std::max(largest, v.view().nbytes());
        for (size_t k = 0; k < got.size(); ++k) {
          if (!is_added_by_shape(row->op)) {
            EXPECT_EQ(bits_differ(got[k].view(), direct[k].view()), "") << "in parts";
          } else {
            auto bounds = vulkan_bounds(row->op, s.attrs.get(), exact_in, want[k]);
            EXPECT_EQ(compare(s, direct[k], want[k], exact_in, bounds, &worst), "") << "in parts";
          }
          largest = std::max(largest, got[k].view().nbytes());
        }
        if (largest > kNarrow[narrow]) cut.insert(name);
      }
    }
    on_device += ran;
    overall = std::fmax(overall, worst.ratio);
    if (ran > 0)
      fmt::print("{:<12} {:3} samples, worst observed / bound: {}\n", name, ran, worst.text);
    bool promised = *VulkanBackend::why_no_shader(row->op) == '\0';
    for (OpId op : kTestedElsewhere) promised = promised && op != row->op;
    EXPECT_EQ(promised, ran > 0) << name << ": its row says that it "
                                 << (promised ? "has shaders" : "has none");
  }
  fmt::print("in parts: {}; {} samples that cannot be cut\n", fmt::join(cut, " "), uncut);
  for (OpId op : kCut) EXPECT_EQ(cut.count(find_op(op)->name), 1u) << find_op(op)->name;
  fmt::print("{} samples on the device, {} left to the CPU; worst observed / bound {:.3f}\n",
             on_device, left, overall);
  EXPECT_GE(overall, 1.0 / 50) << "the bounds are too loose to mean anything";
}

}  // namespace
}  // namespace wick::test
