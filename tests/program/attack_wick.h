// The attack's treatment of one .wick file: it loads it, opens every entry point and runs it.
#pragma once

#include "runtime/exec/recurrent_state.h"
#include "tests/program/attack.h"
#include "tests/runtime/programs.h"

namespace wick::test {

constexpr uint64_t kAttackRam = 1 << 20;

// Returns the size that a free dimension gets.
inline int64_t attacked_size(const SymbolDef& symbol) { return std::max<int64_t>(2, symbol.min); }

// Returns what the program's entry points remember; null where it does not fit.
inline Owned<RecurrentState> attacked_state(const Program& program, Allocator* allocator) {
  std::vector<DimBinding> dims;
  for (const SymbolDef& s : program.symbols()) dims.push_back({s.name, attacked_size(s)});
  RecurrentStateOptions options;
  options.dims = {dims.data(), dims.size()};
  options.allocator = allocator;
  options.max_ram = kAttackRam;
  auto state = RecurrentState::create(program, {}, options);
  return state.ok() ? std::move(*state) : Owned<RecurrentState>();
}

// True when some entry point ran. Checks the budget and that nothing leaks.
inline bool open_and_run(const std::vector<uint8_t>& file) {
  CountingAllocator allocator;
  bool ran = false;
  {
    auto bytes = aligned_copy(file);
    LoadOptions lo;
    lo.allocator = &allocator;
    lo.max_ram = kAttackRam;
    lo.verify_digests = (file.size() & 1) != 0;  // cut files take this path too
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()), lo);
    if (!program.ok()) {
      EXPECT_STRNE(program.status().message(), "");
    }
    Owned<RecurrentState> state;
    if (program.ok()) state = attacked_state(**program, &allocator);
    for (const EntryDef& entry : program.ok() ? (*program)->entries() : Span<const EntryDef>{}) {
      SessionOptions so;
      so.allocator = &allocator;
      so.entry = entry.name;
      so.threads = 1;
      so.max_ram = kAttackRam;
      auto session = Session::create(**program, so);
      if (!session.ok()) continue;
      std::vector<TensorView> in((*session)->input_count()), out((*session)->output_count());
      std::vector<std::vector<uint64_t>> data(in.size());
      bool fits = true;
      for (size_t i = 0; i < in.size(); ++i) {
        PortInfo port = (*session)->input(i);
        Shape shape;
        for (const DimDef& d : port.dims) {
          shape.push_back(
              d.symbol < 0 ? d.value
                           : attacked_size((*program)->symbols()[static_cast<size_t>(d.symbol)]));
        }
        auto size = checked_bytes(shape, dtype_bits(port.dtype));
        fits = fits && size.ok() && *size <= kAttackRam;
        if (!fits) break;
        data[i].resize(*size / 8 + 1);  // zeros: valid as any dtype
        in[i] = TensorView(data[i].data(), port.dtype, shape);
      }
      RunOptions ro;
      ro.timeout_ns = 5000000000u;
      ro.state = state.get();
      ran = (fits && (*session)->run(in, out, ro).ok()) || ran;
    }
  }
  // loading, state, arena and bound memory each stay within max_ram; 64 KiB for handles and the
  // program itself
  EXPECT_LE(allocator.peak, 4 * kAttackRam + 65536 + file.size());
  EXPECT_EQ(allocator.alive, 0);
  return ran;
}

// Returns a file of at most 4 KB that uses every feature of program.fbs.
inline std::vector<uint8_t> every_feature() {
  ProgramBuilder p;
  p.symbol("n", 1, 8);
  auto x = p.value("x", DType::kF32, {kSym, 1, 4, 4});
  auto w = p.value("w", DType::kF32, {2, 1, 3, 3},
                   p.constant_only("w", {2, 1, 3, 3}, std::vector<float>(18, 0.5f), 3));
  auto flag = p.value("flag", DType::kBool, {1},
                      p.constant_only("flag", {1}, std::vector<uint8_t>{1}, 0, DType::kBool));
  auto minus = p.constant<int64_t>("to", {1}, {-1});
  auto quant = fbs::CreateQuantization(p.fb(), p.fb().CreateVector(std::vector<float>{0.5f}),
                                       p.fb().CreateVector(std::vector<int64_t>{3}), 1, 0);
  auto c = p.value("c", DType::kF32, {kSym, 2, 4, 4}, kNoIndex, kNoIndex, quant);
  auto r = p.value("r", DType::kF32, {kSym, 2, 4, 4});
  auto f = p.value("f", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  auto z = p.value("z", DType::kF32, {}, kNoIndex, kNoIndex, 0, true);
  ConvAttrs conv;
  conv.pads = {1, 1, 1, 1};
  conv.strides = {1, 1};
  p.node(OpId::kConv, {x, w, kNoIndex}, {c}, conv, "conv");
  p.node(OpId::kLeakyRelu, {c}, {r}, LeakyReluAttrs{0.25}, "act");
  p.node(OpId::kReshape, {r, minus}, {f}, ReshapeAttrs{});
  p.node(OpId::kWhere, {flag, f, f}, {z});
  p.entry("main", {x}, {z});

  auto init = p.constant_only("s0", {2}, std::vector<float>{1, 2});
  auto s = p.state("hidden", DType::kF32, {2}, init);
  auto h = p.value("h", DType::kF32, {2}, kNoIndex, s);
  auto a = p.value("a", DType::kF32, {2});
  auto b = p.value("b", DType::kF32, {2});
  auto u = p.value("u", DType::kF32, {2});
  p.node(OpId::kRelu, {a}, {b});
  p.region({a}, {b});
  auto region = fbs::CreateAttr(p.fb(), 1, fbs::AttrKind::Region, 1);
  p.node_raw(kFirstCustomOp, {h}, {u}, {region}, "loop");
  p.region({}, {u});
  p.state_update(s, u);
  p.end_entry("step", true);
  p.custom_op("my", "Loop");
  p.label("cat");
  p.metadata("k", "v");
  return p.finish(kFeatureState | kFeatureRegions | kFeatureCustomOps | kFeatureGrowing);
}

}  // namespace wick::test
