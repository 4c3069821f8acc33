// Weights packed once, as sessions pack them: the bits of the reference on every target, for any
// number of threads and any contents of the scratch; and no byte of the original weights is read
// again.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/kernels/prepared.h"
#include "runtime/kernels/simd.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
    &kTest_MatMul,        &kTest_Linear,        &kTest_FusedLinear,  &kTest_Conv,
    &kTest_FusedConv,     &kTest_RNN,           &kTest_GRU,          &kTest_LSTM,
    &kTest_MatMulInteger, &kTest_BlockLinear,   &kTest_QLinearConv,  &kTest_QLinearMatMul,
    &kTest_QGemm,         &kTest_DynamicLinear, &kTest_TreeEnsemble,
};

struct Room {
  explicit Room(size_t n) : bytes(n), data(default_allocator().allocate(n + 64, 64)) {
    memset(data, 0xFF, n + 64);
  }
  ~Room() { default_allocator().deallocate(data, bytes + 64, 64); }
  Room(const Room&) = delete;
  size_t bytes;
  void* data;
};

// Returns how many inputs were packed; -1 if there is nothing to pack.
int run_packed(OpId op, const Sample& s, ThreadPool* pool, const std::vector<Value>& like,
               std::vector<Value>* got) {
  std::vector<Value> values = make_inputs(s);
  std::vector<TensorView> in = views(values), out;
  for (const Value& v : like) {
    got->emplace_back(v.view().dtype, v.view().shape);
    out.push_back(got->back().view());
  }
  const KernelQuery query{op, s.attrs.get(), in, out, pool == nullptr ? 1 : pool->threads()};
  const KernelRow* row = find_kernel(cpu_sets(), query);
  if (row == nullptr || row->pack == nullptr) return -1;
  PreparedKernel kernel;
  EXPECT_TRUE(kernel.prepare(*row, query).ok());
  Room scratch(kernel.scratch_bytes());
  std::vector<std::unique_ptr<Room>> forms;
  for (int slot = 0; slot < kMaxPacked; ++slot) {
    const KernelPlan::Pack* want = kernel.pack_of(slot);
    if (want == nullptr || static_cast<size_t>(want->input) >= in.size()) continue;
    forms.push_back(std::make_unique<Room>(want->bytes));
    EXPECT_TRUE(kernel.pack(query, slot, forms.back()->data).ok());
    kernel.set_packed(slot, forms.back()->data);
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(static_cast<uint8_t*>(forms.back()->data)[want->bytes + i], 0xFF) << "beyond";
    }
  }
  // Their own bytes may not be there.
  for (size_t i = 0; i < in.size(); ++i) {
    if (kernel.packs(i)) in[i].data = nullptr;
  }
  const Status ran = kernel.run({pool, scratch.data}, op, in, out, s.attrs.get());
  EXPECT_TRUE(ran.ok()) << ran.message();
  return static_cast<int>(forms.size());
}

class PackedRows : public testing::TestWithParam<const TestRow*> {};

TEST_P(PackedRows, GiveTheReferenceBits) {
  ThreadPool* pools[] = {nullptr, ThreadPool::create(default_allocator(), threads_here(2)).value(),
                         ThreadPool::create(default_allocator(), threads_here(5)).value()};
  int packed = 0;
  bool promised = GetParam()->bound == 0;  // the bits, by a target of this machine
  for_each_simd_target([&](int64_t target) { promised |= simd_target_has_fma(target); });
  for (const Sample& s : GetParam()->samples()) {
    std::vector<Value> want;
    ASSERT_TRUE(run_op(GetParam()->op, s.attrs.get(), make_inputs(s), s.outputs, reference_sets(),
                       nullptr, &want)
                    .ok());
    bool empty = true;
    for (const Value& v : want) empty = empty && v.view().numel() == 0;
    if (empty) continue;  // no kernel runs
    for_each_simd_target([&](int64_t target) {
      if (!simd_target_has_fma(target) && GetParam()->bound != 0) return;  // P3
      for (ThreadPool* pool : pools) {
        SCOPED_TRACE(fmt::format("{} {} {} threads", s.name, simd_target_name(target),
                                 pool == nullptr ? 1 : pool->threads()));
        std::vector<Value> got;
        const int forms = run_packed(GetParam()->op, s, pool, want, &got);
        if (forms < 0) continue;
        packed += forms;
        for (size_t k = 0; k < want.size(); ++k)
          EXPECT_EQ(bits_differ(want[k].view(), got[k].view()), "") << "output " << k;
      }
    });
  }
  if (promised) {
    EXPECT_GT(packed, 0);
  }
  for (ThreadPool* pool : pools) {
    if (pool != nullptr) ThreadPool::destroy(pool);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackedRows, testing::ValuesIn(kRows), [](const auto& info) {
  return std::string(find_op(info.param->op)->name);
});

}  // namespace
}  // namespace wick::test
