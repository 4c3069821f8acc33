// ONNX Runtime's results for the files, in both forms, on the same inputs: differences counted by
// class (docs/numerics.md, "Beside ONNX Runtime").
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "exporter/onnx/onnx.h"
#include "graph/passes/lower_qdq.h"
#include "runtime/core/half.h"
#include "tests/graph/qdq_builder.h"
#include "tests/support/where.h"
#include "wick/error.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ir::Graph;
using ir::QdqBuilder;
using ir::Step;
using ir::ValueId;

void write_npy(const std::string& path, const HostTensor& t) {
  std::string shape;
  for (int64_t d : t.shape()) shape += fmt::format("{}, ", d);
  const char* type = t.dtype() == DType::kF32 ? "<f4" : t.dtype() == DType::kI8 ? "|i1" : "|u1";
  std::string head =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  head.resize((head.size() + 11 + 63) / 64 * 64 - 11, ' ');
  head += '\n';
  std::ofstream out(path, std::ios::binary);
  const auto size = static_cast<uint16_t>(head.size());
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(size & 255)).put(static_cast<char>(size >> 8));
  out << head;
  out.write(static_cast<const char*>(t.data()), static_cast<std::streamsize>(t.nbytes()));
}

HostTensor noise(const Shape& shape, DType t, uint32_t seed) {
  HostTensor x(t, shape);
  uint32_t state = seed * 2654435761U + 1;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    if (t == DType::kF32) {
      x.as<float>()[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-30F;
    } else {
      x.as<uint8_t>()[i] = static_cast<uint8_t>(state >> 24);
    }
  }
  return x;
}

class Files {
 public:
  // `weight_bits` of what multiplies: 7 where ONNX Runtime's products saturate.
  Files(std::string folder, int bits) : weight_bits(bits), folder_(std::move(folder)) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  const int weight_bits;
  HostTensor weight_noise(const Shape& shape, DType t, uint32_t seed) const {
    HostTensor w = noise(shape, t, seed);
    for (int64_t i = 0; t == DType::kI8 && i < w.numel(); ++i)
      w.as<int8_t>()[i] = static_cast<int8_t>(w.as<int8_t>()[i] / (1 << (8 - weight_bits)));
    return w;
  }
  QdqBuilder builder() const {
    QdqBuilder b;
    b.weight_bits = weight_bits;
    return b;
  }
  // The lowered graph in both forms, with what it makes of noise.
  void add(const std::string& name, const Graph& qdq) {
    const Graph g = ir::lowered(qdq);
    std::vector<HostTensor> in;
    for (ValueId v : g.inputs()) {
      Shape shape;
      for (const auto& d : g.value(v).shape) shape.push_back(d.constant());
      const DType t = g.value(v).dtype;
      const auto seed = static_cast<uint32_t>(in.size()) + 7;
      in.push_back(in.empty() ? noise(shape, t, seed) : weight_noise(shape, t, seed));
    }
    const auto out = ir::run(g, in);
    for (const QuantizedForm form : {QuantizedForm::kOperators, QuantizedForm::kQdq}) {
      // ONNX Runtime leaves pairs of int8 around products as floats on x86
      const bool qdq = form == QuantizedForm::kQdq;
      std::string file = name;
      if (qdq && name.ends_with("int8") && !name.ends_with("uint8") && name.starts_with("exact"))
        file.replace(0, 5, "step");
      const std::string stem = fmt::format("{}/{}-{}", folder_, file, qdq ? "qdq" : "operators");
      export_onnx(g, stem + ".onnx", {.quantized = form});
      for (size_t i = 0; i < in.size(); ++i) write_npy(fmt::format("{}.in.{}.npy", stem, i), in[i]);
      for (size_t i = 0; i < out.size(); ++i)
        write_npy(fmt::format("{}.out.{}.npy", stem, i), out[i]);
    }
  }
  template <class F>
  void add(const std::string& name, const Shape& shape, Step in, Step out, F f) {
    QdqBuilder b = builder();
    const ValueId x = b.dequantize(b.input("x", shape, in.dtype), in);
    b.g.add_output("y", b.quantize(f(b, x), out, "quantize"));
    add(name, b.g);
  }

 private:
  std::string folder_;
};

// Adds cases for which ONNX Runtime has no operator in the graph's form: scales and zero points of
// shape [1], int8 by uint8, a result of the other dtype, and zero points that differ per channel.
void mixed(Files& files) {
  constexpr DType kS8 = DType::kI8, kU8 = DType::kU8;
  int number = 0;
  for (const auto& [x, w, y] : {std::tuple{kS8, kU8, kS8},
                                {kS8, kU8, kU8},
                                {kU8, kU8, kS8},
                                {kU8, kS8, kS8},
                                {kS8, kS8, kU8}}) {
    const std::string tag = fmt::format("mixed{}-float", ++number);  // as the tables of QDQ files
    const int low[] = {x == kS8 ? -128 : 0, w == kS8 ? -128 : 0, y == kS8 ? -128 : 0};
    const Step in{0.02F, low[0] + 117, x}, out{0.0371F, low[2] + 120, y};
    const std::vector<float> four{0.01F, 0.013F, 0.002F, 0.03F};
    const auto bytes = [&, t = w, zero = low[1] + 133](QdqBuilder& b, const Shape& s,
                                                       int64_t axis) {
      return b.weight(s, four, axis, 1, t, zero);
    };
    files.add("step.Conv-" + tag, Shape{2, 5, 9, 9}, in, out, [&](QdqBuilder& b, ValueId v) {
      const ConvAttrs a{{}, {}, {1, 1, 1, 1}, 1};
      return b.g.emit(OpId::kConv, a, {v, bytes(b, Shape{4, 5, 3, 3}, 0)}, "conv");
    });
    for (const Shape& shape : {Shape{64, 40}, Shape{2, 32, 40}}) {
      files.add(fmt::format("step.Gemm{}-{}", shape.rank(), tag), shape, in, out,
                [&](QdqBuilder& b, ValueId v) {
                  return b.g.emit(OpId::kLinear, {v, bytes(b, Shape{4, 40}, 0)}, "fc");
                });
    }
    QdqBuilder mm;
    const Step right{0.031F, low[1] + 100, w};
    mm.g.add_output(
        "y", mm.quantize(mm.g.emit(OpId::kMatMul,
                                   {mm.dequantize(mm.input("a", Shape{2, 16, 24}, x), in),
                                    mm.dequantize(mm.input("b", Shape{2, 24, 12}, w), right)}),
                         {0.5F, out.zero, y}));
    files.add("step.MatMul-" + tag, mm.g);
  }
  // zero points of uint4 weights, one each
  QdqBuilder b;
  HostTensor zeros(kU8, Shape{4});
  for (uint8_t i = 0; i < 4; ++i) zeros.as<uint8_t>()[i] = static_cast<uint8_t>(5 + 2 * i);
  HostTensor w = noise(Shape{4, 5, 3, 3}, kU8, 5);
  for (int64_t i = 0; i < w.numel(); ++i) w.as<uint8_t>()[i] &= 15;
  const ValueId v = b.dequantize(b.input("x", Shape{2, 5, 9, 9}, kU8), {0.02F, 117, kU8});
  const ValueId weight =
      b.g.emit(OpId::kDequantizeLinear, DequantizeAttrs{0},
               {b.g.add_constant(std::move(w)), b.numbers({0.01F, 0.013F, 0.002F, 0.03F}),
                b.g.add_constant(std::move(zeros))});
  b.g.add_output("y", b.quantize(b.g.emit(OpId::kConv, ConvAttrs{{}, {}, {1, 1, 1, 1}, 1},
                                          {v, weight}, "conv"),
                                 {0.0371F, 120, kU8}));
  files.add("step.ConvZeros-float", b.g);
  // weights in blocks: float16 scales, float32 results
  for (const DType t : {DType::kI8, DType::kI4, DType::kU4}) {
    QdqBuilder blocks;
    const HostTensor bytes = noise(Shape{12, t == DType::kI8 ? 64 : 32}, DType::kU8, 9);
    HostTensor scales(DType::kF16, Shape{12, 2});
    for (int64_t i = 0; i < 24; ++i)
      scales.as<Half>()[i] = Half(0.01F + 0.001F * static_cast<float>(i));
    const ValueId x = blocks.input("x", Shape{3, 64});
    std::vector<ValueId> in = {
        blocks.g.add_constant(HostTensor(t, Shape{12, 64}, bytes.data(), bytes.nbytes()), "w",
                              true),
        blocks.g.add_constant(std::move(scales), "w.scale")};
    if (t == DType::kU4) {
      const HostTensor zeros = noise(Shape{12}, DType::kU8, 4);
      in.push_back(blocks.g.add_constant(HostTensor(t, Shape{12, 2}, zeros.data(), 12)));
    }
    const DequantizeAttrs a{1, 32, static_cast<int64_t>(DType::kF32)};
    const ValueId weight = blocks.g.emit(OpId::kDequantizeLinear, a, in, "w.dequantize");
    blocks.g.add_output("y", blocks.g.emit(OpId::kLinear, {x, weight}, "fc"));
    files.add(fmt::format("close.Blocks-{}", dtype_name(t)), blocks.g);
  }
}

void make(Files& files) {
  // power-of-two scales have ties, the others saturate
  const std::vector<std::pair<std::string, float>> sizes = {
      {"two", 0.25F}, {"any", 0.0371F}, {"far", 0.002F}};
  for (const auto& [size, scale] : sizes) {
    for (const DType t : {DType::kU8, DType::kI8}) {
      const std::string tag = fmt::format("{}-{}", size, dtype_name(t));
      const int zero = t == DType::kU8 ? 117 : -5;
      const bool two = size == "two";
      const Step in{two ? 0.03125F : 0.02F, zero, t}, out{scale, zero + 3, t};
      const std::vector<float> one{two ? 0.0625F : 0.01F},
          four = two ? std::vector<float>{0.0625F, 0.03125F, 0.5F, 0.0625F}
                     : std::vector<float>{0.01F, 0.013F, 0.002F, 0.03F};
      const float s = in.scale;
      files.add("exact.Conv-" + tag, Shape{2, 5, 9, 9}, in, out, [&](QdqBuilder& b, ValueId x) {
        const ConvAttrs a{{}, {}, {1, 1, 1, 1}, 1};
        return b.g.emit(OpId::kConv, a, {x, b.weight(Shape{4, 5, 3, 3}, four), b.bias(s, four, 4)},
                        "conv");
      });
      files.add("exact.ConvDepthwise-" + tag, Shape{2, 4, 9, 9}, in, out,
                [&](QdqBuilder& b, ValueId x) {
                  const ConvAttrs a{{2, 2}, {}, {1, 1, 1, 1}, 4};
                  return b.g.emit(OpId::kConv, a, {x, b.weight(Shape{4, 1, 3, 3}, four)}, "conv");
                });
      files.add("exact.Gemm-" + tag, Shape{64, 40}, in, out, [&](QdqBuilder& b, ValueId x) {
        return b.g.emit(OpId::kLinear, {x, b.weight(Shape{4, 40}, four), b.bias(s, four, 4)}, "fc");
      });
      files.add("exact.Gemm3-" + tag, Shape{2, 32, 40}, in, out, [&](QdqBuilder& b, ValueId x) {
        return b.g.emit(OpId::kLinear, {x, b.weight(Shape{4, 40}, one)}, "fc");
      });
      QdqBuilder mm;
      const ValueId l = mm.dequantize(mm.input("a", Shape{2, 16, 24}, t), in),
                    r = mm.dequantize(mm.input("b", Shape{2, 24, 12}, t), in);
      mm.g.add_output("y", mm.quantize(mm.g.emit(OpId::kMatMul, {l, r}, "matmul"), out));
      files.add("exact.MatMul-" + tag, mm.g);
      files.add("exact.MaxPool-" + tag, Shape{2, 3, 9, 9}, in, in, [&](QdqBuilder& b, ValueId x) {
        return b.g.emit(OpId::kMaxPool, PoolAttrs{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}}, {x}, "pool");
      });
      for (const OpId op : {OpId::kAdd, OpId::kMul}) {
        QdqBuilder b;
        const Step second{two ? 0.0625F : 0.031F, zero + 9, t};
        const ValueId x = b.dequantize(b.input("a", Shape{20, 500}, t), in),
                      y = b.dequantize(b.input("b", Shape{20, 500}, t), second);
        b.g.add_output("y", b.quantize(b.g.emit(op, {x, y}, "sum"), out));
        files.add(fmt::format("step.{}-{}", op == OpId::kAdd ? "Add" : "Mul", tag), b.g);
      }
      files.add("step.AveragePool-" + tag, Shape{2, 3, 30, 30}, in, out,
                [&](QdqBuilder& b, ValueId x) {
                  return b.g.emit(OpId::kAveragePool, PoolAttrs{{3, 3}, {2, 2}, {}, {1, 1, 1, 1}},
                                  {x}, "pool");
                });
      files.add("step.GlobalAveragePool-" + tag, Shape{16, 30, 5, 5}, in, out,
                [&](QdqBuilder& b, ValueId x) {
                  return b.g.emit(OpId::kReduceMean, ReduceAttrs{{2, 3}, 1, 0}, {x}, "mean");
                });
      files.add("exact.Table-" + tag, Shape{1000}, in, out,
                [&](QdqBuilder& b, ValueId x) { return b.g.emit(OpId::kHardSwish, {x}, "table"); });
      const Step share{1.0F / 256, t == DType::kU8 ? 0 : -128, t};
      files.add("step.Softmax-" + tag, Shape{40, 25}, {0.05F, zero, t}, share,
                [&](QdqBuilder& b, ValueId x) {
                  return b.g.emit(OpId::kSoftmax, AxisAttrs{-1}, {x}, "softmax");
                });
    }
  }
  mixed(files);
  QdqBuilder last = files.builder();
  const ValueId x = last.dequantize(last.input("x", Shape{16, 40}, DType::kU8), {0.02F, 100});
  last.g.add_output(
      "y",
      last.g.emit(OpId::kLinear,
                  {x, last.weight(Shape{4, 40}, {0.01F}), last.bias(0.02F, {0.01F}, 4)}, "fc"));
  files.add("close.GemmToFloat", last.g);
  QdqBuilder dynamic;
  HostTensor w = files.weight_noise(Shape{12, 40}, DType::kI8, 3);
  const ValueId rows = dynamic.input("x", Shape{3, 16, 40});
  dynamic.g.add_output(
      "y", dynamic.g.emit(OpId::kDynamicLinear,
                          {rows, dynamic.g.add_constant(std::move(w)), dynamic.number(0.01F),
                           dynamic.numbers(std::vector<float>(12, 0.5F))},
                          "fc"));
  files.add("close.DynamicLinear", dynamic.g);
}

TEST(QuantizedOrt, DiffersByNoMoreThanIsStated) {
  const std::string folder = build_dir() + "/test-work/quantized-ort";
  const std::string probe =
      fmt::format("python3 '{}/tools/scripts/ort_run.py' --saturates", source_dir());
  const int probed = std::system(probe.c_str());
  ASSERT_TRUE(WIFEXITED(probed));
  const bool saturates = WEXITSTATUS(probed) == 4;
  if (saturates)
    fmt::print(
        "weights of 7 bits: ONNX Runtime saturates products of 8 on this machine (no VNNI)\n");
  Files files(folder, saturates ? 7 : 8);
  make(files);
  const std::string command =
      fmt::format("python3 '{}/tests/exporter/quantized_ort.py' '{}'", source_dir(), folder);
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "onnxruntime not installed";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace wick::test
