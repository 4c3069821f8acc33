// Packed weights: a form that could not be made is not used, and the error is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernels/epilogue.h"
#include "tests/runtime/programs.h"

namespace wick {
namespace {

using test::kSym;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool g_fail = false;
int g_packed = 0;

// x + w, where w comes packed, twice as large.
const KernelSet& packing_add() {
  static const KernelRow row = {
      "add.f32.packing",
      kContiguous,
      [](const KernelQuery&) { return true; },
      [](const KernelQuery& q, KernelPlan* p) -> Status {
        p->packs[0] = {1, 77, q.in[1].nbytes()};
        return {};
      },
      [](const KernelQuery& q, const KernelPlan&, int, void* to) -> Status {
        if (g_fail) return error(Code::kOutOfMemory, "told to fail at %d", 42);
        ++g_packed;
        for (int64_t i = 0; i < q.in[1].numel(); ++i)
          static_cast<float*>(to)[i] = 2 * q.in[1].as<float>()[i];
        return {};
      },
      [](const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
         const void*) -> Status {
        const auto* w = static_cast<const float*>(ctx.packed[0]);
        const int64_t n = in[1].numel();
        for (int64_t i = 0; i < out[0].numel(); ++i)
          out[0].as<float>()[i] = in[0].as<float>()[i] + w[i % n];
        return {};
      }};
  static const Span<const KernelRow> rows{&row, 1};
  static const KernelEntry entry{OpId::kAdd, &rows};
  static const KernelSet set{"packing", {&entry, 1}};
  return set;
}

TEST(Packing, AFailedFormIsMadeAgain) {
  test::ProgramBuilder p;
  p.symbol("n");
  auto x = p.value("x", DType::kF32, {kSym, 2}), h = p.value("h", DType::kF32, {kSym, 2}),
       y = p.value("y", DType::kF32, {kSym, 2}), w = p.constant<float>("w", {2}, {1, 10});
  p.node(OpId::kAdd, {x, w}, {h}, NoAttrs{}, "first");
  p.node(OpId::kAdd, {h, w}, {y}, NoAttrs{}, "second");  // the same form
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish());
  const KernelSet* sets[] = {&packing_add()};
  for (int threads : {1, 3}) {
    SessionOptions options;
    options.kernels = sets;
    options.threads = threads;
    auto session = test::open(*l.program, options);
    float data[] = {0, 0};
    TensorView in[] = {TensorView(data, DType::kF32, {1, 2})}, out[1];
    g_fail = true;
    Status s;
    size_t held = 0;
    for (int k = 0; k < 3; ++k) {
      s = session->run(in, out);
      EXPECT_EQ(s.code(), Code::kOutOfMemory);
      EXPECT_THAT(s.message(),
                  AllOf(HasSubstr("node first (Add)"), HasSubstr("told to fail at 42")));
      if (k == 0) held = session->packed_bytes();
      EXPECT_EQ(session->packed_bytes(), held);
      for (size_t i = 0; i < session->packed_form_count(); ++i)
        EXPECT_TRUE(session->packed_form(i)->bytes.empty());
    }
    g_fail = false;
    g_packed = 0;
    s = session->run(in, out);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out[0].as<float>()[0], 4);
    EXPECT_EQ(out[0].as<float>()[1], 40);
    EXPECT_EQ(g_packed, 1);
    EXPECT_EQ(session->packed_bytes(), held);
    EXPECT_FALSE(session->packed_form(0)->bytes.empty());
  }
}

// y = x w, 4 by 96; `layout`: of a form in the file that has the raw bytes, which no kernel would
// pack so.
std::vector<uint8_t> product(uint32_t layout) {
  std::vector<float> w(4 * 96);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kF32, {2, 4}), y = p.value("y", DType::kF32, {2, 96}),
       c = p.value("w", DType::kF32, {4, 96}, p.constant_only("w", {4, 96}, w, layout));
  p.node(OpId::kMatMul, {x, c}, {y});
  p.entry("main", {x}, {y});
  return p.finish();
}

// A file of an older build: its form is of the same kind, unit and size, and of other bytes.
TEST(Packing, FormsOfAnotherVersionArePackedAgain) {
  auto run = [](Session& session) {
    float x[] = {1, -2, 3, 0.5f, 2, 2, 2, 2};
    TensorView in[] = {TensorView(x, DType::kF32, {2, 4})}, out[1];
    Status s = session.run(in, out);
    EXPECT_TRUE(s.ok()) << s.message();
    return s.ok() ? std::vector<float>(out[0].as<float>(), out[0].as<float>() + 2 * 96)
                  : std::vector<float>();
  };
  auto plain = test::load(product(0));
  auto session = test::open(*plain.program);
  const std::vector<float> want = run(*session);
  if (session->packed_form_count() == 0) return;  // no such kernel on this CPU
  const Session::PackedForm form = *session->packed_form(0);
  ASSERT_EQ(form.bytes.size(), 4u * 96 * sizeof(float));
  EXPECT_EQ(form.layout >> 24, kPackedVersion);
  for (uint32_t version : {0u, kPackedVersion, kPackedVersion + 1}) {
    auto other = test::load(product((form.layout & 0xFFFFFF) | version << 24));
    ASSERT_EQ(other.program->constants()[0].packed.size(), 1u);
    auto again = test::open(*other.program);
    EXPECT_EQ(run(*again) == want, version != kPackedVersion) << version;
    EXPECT_EQ(again->packed_bytes() == 0, version == kPackedVersion) << version;
  }
}

// x + the sum of one number of each packed form: whether all that a row may pack reach it.
const KernelSet& packing_all() {
  static const KernelRow row = {
      "where.f32.packing",
      kContiguous,
      [](const KernelQuery&) { return true; },
      [](const KernelQuery&, KernelPlan* p) -> Status {
        for (int slot = 0; slot < kMaxPacked; ++slot)
          p->packs[slot] = {slot % 2 + 1, static_cast<uint32_t>(70 + slot), sizeof(float)};
        return {};
      },
      [](const KernelQuery&, const KernelPlan&, int slot, void* to) -> Status {
        *static_cast<float*>(to) = static_cast<float>(1 << slot);
        return {};
      },
      [](const KernelCtx& ctx, Span<const TensorView>, Span<TensorView> out,
         const void*) -> Status {
        float sum = 0;
        for (const void* form : ctx.packed)
          sum += form == nullptr ? 0 : *static_cast<const float*>(form);
        for (int64_t i = 0; i < out[0].numel(); ++i) out[0].as<float>()[i] = sum;
        return {};
      }};
  static const Span<const KernelRow> rows{&row, 1};
  static const KernelEntry entry{OpId::kWhere, &rows};
  static const KernelSet set{"packing", {&entry, 1}};
  return set;
}

TEST(Packing, EveryFormThatWasPackedReachesTheKernel) {
  test::ProgramBuilder p;
  auto x = p.value("x", DType::kBool, {2}), y = p.value("y", DType::kF32, {2}),
       v = p.constant<float>("v", {2}, {1, 2}), w = p.constant<float>("w", {2}, {3, 4});
  p.node(OpId::kWhere, {x, v, w}, {y});
  p.entry("main", {x}, {y});
  auto l = test::load(p.finish());
  const KernelSet* sets[] = {&packing_all()};
  SessionOptions options;
  options.kernels = sets;
  auto session = test::open(*l.program, options);
  EXPECT_EQ(session->packed_form_count(), static_cast<size_t>(kMaxPacked));
  uint8_t condition[] = {0, 1};
  TensorView in[] = {TensorView(condition, DType::kBool, {2})}, out[1];
  Status s = session->run(in, out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(out[0].as<float>()[0], (1 << kMaxPacked) - 1);
}

}  // namespace
}  // namespace wick
