// Compact .wick files: the program of the plain file bit for bit, in fewer bytes. What a reader
// does with hostile ones is in tests/program/compact_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "exporter/program/program_writer.h"
#include "graph/ir/stored_dtype.h"
#include "runtime/core/half.h"
#include "runtime/exec/session.h"
#include "runtime/ops/attrs/unary.h"
#include "tests/runtime/programs.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

uint32_t next(uint64_t* seed) {
  *seed = *seed * 6364136223846793005U + 1442695040888963407U;
  return static_cast<uint32_t>(*seed >> 33);
}
HostTensor noise(const Shape& s, uint64_t seed) {
  HostTensor t(DType::kF32, s);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(next(&seed)) / (1U << 30) - 1;
  return t;
}
template <class T>
HostTensor rounded(HostTensor t) {
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(T(t.as<float>()[i]));
  return t;
}

// Weights that float16, bfloat16 and neither hold, and small constants.
ir::Graph net() {
  ir::Graph g;
  ir::ValueId v = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(64)});
  HostTensor mask(DType::kF32, {64, 64});
  for (int64_t i = 0; i < mask.numel(); ++i)
    mask.as<float>()[i] = i % 64 > i / 64 ? -1e30F : 0.F;  // beyond float16
  const HostTensor weights[] = {rounded<Half>(noise({64, 64}, 1)),
                                rounded<BFloat16>(noise({64, 64}, 2)), noise({64, 64}, 3),
                                rounded<BFloat16>(mask)};
  for (int k = 0; k < 4; ++k) {
    const std::string name = "layers." + std::to_string(k);
    v = g.emit(OpId::kLinear,
               {v, g.add_constant(weights[k], name + ".weight", true),
                g.add_constant(noise({64}, 10 + static_cast<uint64_t>(k)), name + ".bias", true)},
               name);
    if (k < 2) v = g.emit(OpId::kRelu, {v}, name + ".relu");
  }
  g.add_output("y", v);
  g.labels = {"cat", "dog"};
  g.metadata["who"] = "me";
  return g;
}

struct Loaded {
  test::AlignedBytes bytes;
  Owned<Program> program;
};
Loaded load(const Bytes& file, const LoadOptions& options = {}) {
  Loaded l{test::aligned_copy(file), {}};
  auto program = Program::load(Span<const uint8_t>(l.bytes.get(), file.size()), options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (program.ok()) l.program = std::move(program.value());
  return l;
}
std::string refusal(const Bytes& file, const LoadOptions& options = {}) {
  auto bytes = test::aligned_copy(file);
  auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), options);
  return program.ok() ? "" : program.status().message();
}
Bytes compact(const ir::Graph& g, bool strip = false) {
  return program_bytes(g, {}, {}, {.compact = true, .strip_names = strip});
}
std::vector<float> run(const Program& program) {
  auto session = test::open(program);
  HostTensor x = noise({3, 64}, 77);
  TensorView in = x.view(), out;
  const Status s = session->run(Span<const TensorView>(&in, 1), Span<TensorView>(&out, 1));
  EXPECT_TRUE(s.ok()) << s.message();
  return {out.as<float>(), out.as<float>() + out.numel()};
}

TEST(Compact, HoldsTheProgramOfThePlainFile) {
  const Bytes plain = program_bytes(net()), small = compact(net());
  EXPECT_LT(small.size(), plain.size() - 3 * 64 * 64 * 2 - 1000);
  const Loaded a = load(plain), b = load(small);
  ASSERT_EQ(a.program->constants().size(), b.program->constants().size());
  for (size_t i = 0; i < a.program->constants().size(); ++i) {
    const ConstantDef &x = a.program->constants()[i], &y = b.program->constants()[i];
    EXPECT_STREQ(x.name, y.name);
    ASSERT_EQ(x.view.dtype, y.view.dtype);
    ASSERT_EQ(x.view.shape, y.view.shape);
    EXPECT_EQ(memcmp(x.view.data, y.view.data, x.view.nbytes()), 0) << x.name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(y.view.data) % 64, 0U);
  }
  EXPECT_EQ(a.program->provenance().weights_sha256.size(), 32U);
  EXPECT_EQ(memcmp(a.program->provenance().weights_sha256.data(),
                   b.program->provenance().weights_sha256.data(), 32),
            0);
  EXPECT_STREQ(b.program->labels()[1], "dog");
  EXPECT_STREQ(b.program->find_metadata("who"), "me");
  EXPECT_EQ(run(*a.program), run(*b.program));
  EXPECT_EQ(compact(net()), small);  // the same bytes each time
}

// FlatBuffers takes -0 for its default, which it does not write.
TEST(Compact, KeepsTheSignOfAnAttributesZero) {
  const HostTensor x = noise({3, 64}, 77);
  for (const double alpha : {0.0, -0.0}) {
    ir::Graph g;
    const ir::ValueId in = g.add_input("x", DType::kF32, {SymDim(3), SymDim(64)});
    g.add_output("y", g.emit(OpId::kLeakyRelu, LeakyReluAttrs{alpha}, {in}));
    for (const Bytes& file : {program_bytes(g), compact(g)}) {
      const std::vector<float> y = run(*load(file).program);
      for (size_t i = 0; i < y.size(); ++i) {
        if (x.as<float>()[i] < 0) {
          EXPECT_EQ(std::signbit(y[i]), !std::signbit(alpha)) << i;
        }
      }
    }
  }
}

TEST(Compact, KeepsFloatsIn16BitsOnlyWhereTheyHoldEachBit) {
  HostTensor t = rounded<Half>(noise({64, 64}, 5));
  EXPECT_EQ(ir::stored_dtype(t), DType::kF16);
  t.as<float>()[99] = 1e-30F;
  EXPECT_EQ(ir::stored_dtype(rounded<BFloat16>(t)), DType::kBF16);
  t.as<float>()[99] = std::nextafter(1.F, 2.F);
  EXPECT_EQ(ir::stored_dtype(t), DType::kF32);
  for (const float odd : {INFINITY, -INFINITY, -0.F, 65504.F, 5.9604645e-8F}) {
    t = rounded<Half>(noise({64, 64}, 6));
    t.as<float>()[1] = odd;
    EXPECT_EQ(ir::stored_dtype(t), DType::kF16) << odd;
  }
  // a NaN whose payload float16 cuts off
  const uint32_t bits = 0x7FC00001;
  memcpy(t.as<float>() + 7, &bits, 4);
  EXPECT_EQ(ir::stored_dtype(t), DType::kF32);
}

TEST(Compact, LeavesOutNamesButThoseOfPorts) {
  const Bytes named = compact(net()), bare = compact(net(), true);
  EXPECT_LT(bare.size(), named.size());
  const Loaded l = load(bare);
  const EntryDef& entry = l.program->entries()[0];
  std::set<std::string> names;
  for (const ValueDef& v : entry.values) names.insert(v.name);
  EXPECT_EQ(names, (std::set<std::string>{"", "x", "y"}));
  for (const ConstantDef& c : l.program->constants()) EXPECT_STREQ(c.name, "");
  EXPECT_EQ(run(*l.program), run(*load(named).program));
  const Bytes plain = program_bytes(net(), {}, {}, {.strip_names = true});
  EXPECT_EQ(run(*load(plain).program), run(*l.program));
}

// A graph of Linear whose weights float16 holds, all of one size.
ir::Graph halves(int layers, int64_t out, int64_t in) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(in)});
  const HostTensor w = rounded<Half>(noise({out, in}, 1));
  for (int k = 0; k < layers; ++k) {
    const std::string name = std::to_string(k);
    const HostTensor own(DType::kF32, w.shape(), w.data(), w.nbytes());
    g.add_output(name, g.emit(OpId::kLinear, {x, g.add_constant(own, "w" + name, true)}, name));
  }
  return g;
}

// What the numbers become is more than the table and the file by far: the limit that a load sets
// itself has room for it, whatever sizes they come in.
TEST(Compact, FilesOfHalvesFitTheLimitThatComesOfTheirSize) {
  struct Case {
    int layers;
    int64_t out, in;
  };
  for (const Case& c : {Case{12, 384, 384}, Case{48, 256, 512}, Case{1, 1024, 1537},
                        Case{300, 33, 63}, Case{30, 300, 301}}) {
    const ir::Graph g = halves(c.layers, c.out, c.in);
    const Bytes file = compact(g);
    const auto numbers = static_cast<size_t>(c.layers * c.out * c.in);
    EXPECT_LT(file.size(), 2 * numbers + 200 * static_cast<size_t>(c.layers) + 4096);
    const Loaded l = load(file);
    ASSERT_TRUE(l.program) << c.layers << " of " << c.out << " x " << c.in;
    ASSERT_EQ(l.program->constants().size(), static_cast<size_t>(c.layers));
    const HostTensor w = rounded<Half>(noise({c.out, c.in}, 1));
    for (const ConstantDef& constant : l.program->constants()) {
      ASSERT_EQ(reinterpret_cast<uintptr_t>(constant.view.data) % 64, 0U);
      ASSERT_EQ(memcmp(constant.view.data, w.data(), w.nbytes()), 0) << constant.name;
    }
    LoadOptions tight;
    tight.max_ram = 4 * numbers;  // the numbers alone, without their table
    EXPECT_THAT(refusal(file, tight), HasSubstr("max_ram"));
  }
}

// A compact file written long ago. Never write it anew.
TEST(Compact, Version2LoadsAndRuns) {
  auto program = Program::load(source_dir("/tests/program/golden/v2.wick").c_str());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(run(**program), run(*load(program_bytes(net())).program));
}

}  // namespace
}  // namespace wick
