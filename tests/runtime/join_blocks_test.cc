// Concat and Split between convolutions, whose values have blocks of channels: the parts stand in
// the whole only where they are whole blocks of it. The answers are the reference's kernels', by
// bits.
#include <gtest/gtest.h>

#include "runtime/kernels/kernel.h"
#include "tests/runtime/small_cnn.h"

namespace wick {
namespace {

using test::load;
using test::ProgramBuilder;

// x -> two convolutions -> Concat -> Split -> a convolution of each part.
struct Form {
  int64_t axis, batch, first, second;  // sizes of the parts along the axis
};
std::vector<uint8_t> file_of(const Form& f) {
  ProgramBuilder p;
  const bool channels = f.axis == 1;
  int made = 0;
  const auto value = [&](int64_t size) {
    std::vector<int64_t> dims = {f.batch, 32, 4, 4};
    dims[static_cast<size_t>(f.axis)] = size;
    return p.value(("v" + std::to_string(made++)).c_str(), DType::kF32, dims);
  };
  const auto conv = [&](uint32_t x, uint32_t y, int64_t from, int64_t to) {
    const auto w = p.constant<float>("w", {to, from, 1, 1},
                                     test::ramp(static_cast<size_t>(to * from), 0.125f));
    p.node(OpId::kConv, {x, w}, {y}, ConvAttrs{}, "conv");
  };
  // parts along other axes have 32 channels
  const int64_t a_channels = channels ? f.first : 32, b_channels = channels ? f.second : 32;
  std::vector<uint32_t> in = {value(channels ? 32 : f.first), value(channels ? 32 : f.second)};
  const auto a = value(f.first), b = value(f.second), whole = value(f.first + f.second),
             changed = value(f.first + f.second), c = value(f.first), d = value(f.second),
             y = value(channels ? 32 : f.first), z = value(channels ? 32 : f.second);
  conv(in[0], a, 32, a_channels);
  conv(in[1], b, 32, b_channels);
  SplitAttrs split;
  split.axis = f.axis;
  const int64_t sizes[] = {f.first, f.second};
  split.sizes = IntList<64>(Span<const int64_t>(sizes, 2));
  p.node(OpId::kConcat, {a, b}, {whole}, AxisAttrs{f.axis}, "join");
  p.node(OpId::kRelu, {whole}, {changed}, NoAttrs{}, "relu");
  p.node(OpId::kSplit, {changed}, {c, d}, split, "split");
  conv(c, y, a_channels, 32);
  conv(d, z, b_channels, 32);
  p.entry("main", in, {y, z});
  return p.finish();
}

TEST(Join, BlocksOfChannels) {
  static const KernelSet* const reference[] = {&kReferenceKernels};
  for (const Form& form :
       {Form{1, 1, 32, 32}, Form{1, 1, 32, 29}, Form{1, 1, 29, 32}, Form{1, 2, 32, 32},
        Form{1, 1, 3, 32}, Form{2, 1, 4, 5}, Form{3, 1, 4, 4}, Form{0, 1, 1, 1}}) {
    SCOPED_TRACE(form.axis);
    SCOPED_TRACE(form.first);
    SCOPED_TRACE(form.second);
    const auto l = load(file_of(form));
    std::vector<float> made[2];
    for (const bool plain : {false, true}) {
      SessionOptions options;
      if (plain) options.kernels = reference;
      auto session = test::open(*l.program, options);
      std::vector<std::vector<float>> data;
      std::vector<TensorView> in;
      for (const int64_t size : {form.first, form.second}) {
        Shape shape{form.batch, 32, 4, 4};
        if (form.axis != 1) shape[static_cast<int>(form.axis)] = size;
        data.push_back(test::ramp(static_cast<size_t>(numel(shape)), 0.25f));
        in.emplace_back(data.back().data(), DType::kF32, shape);
      }
      for (size_t i = 0; i < in.size(); ++i) in[i].data = data[i].data();
      TensorView out[2];
      const Status s = session->run(in, out);
      ASSERT_TRUE(s.ok()) << s.message();
      for (const TensorView& y : out)
        made[plain].insert(made[plain].end(), y.as<float>(), y.as<float>() + y.numel());
    }
    EXPECT_TRUE(test::same_bits(made[0], made[1]));
  }
}

}  // namespace
}  // namespace wick
