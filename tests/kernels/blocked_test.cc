// Rows over values in blocks of channels (TensorView::block), compared by bits with the plain
// reference rows: shapes, strides, padding, groups, epilogues, either side plain, threads, SIMD
// targets.
#include "runtime/kernels/blocked/blocked_rows.h"

#include <atomic>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/prepared.h"
#include "runtime/kernels/product_rows.h"
#include "runtime/kernels/simd.h"
#include "tests/kernels/kernel_test_util.h"

namespace wick {
namespace {

using test::NanBuffer;
using test::Random;
using test::random_floats;
using test::same_bits;

// A value as it lies in blocks; lanes beyond its channels are NaN.
std::vector<float> to_blocks(const std::vector<float>& x, const TensorView& v) {
  std::vector<float> out(static_cast<size_t>(v.stored()), std::numeric_limits<float>::quiet_NaN());
  const int64_t pixels = v.shape[2] * v.shape[3], channels = v.shape[1], blocks = blocks_of(v);
  for (int64_t n = 0; n < v.shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t at = ((n * blocks + c / v.block) * pixels + p) * v.block + c % v.block;
        out[static_cast<size_t>(at)] = x[static_cast<size_t>((n * channels + c) * pixels + p)];
      }
    }
  }
  return out;
}
std::vector<float> from_blocks(const std::vector<float>& x, const TensorView& v) {
  std::vector<float> out(static_cast<size_t>(v.numel()));
  const int64_t pixels = v.shape[2] * v.shape[3], channels = v.shape[1], blocks = blocks_of(v);
  for (int64_t n = 0; n < v.shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        const int64_t at = ((n * blocks + c / v.block) * pixels + p) * v.block + c % v.block;
        out[static_cast<size_t>((n * channels + c) * pixels + p)] = x[static_cast<size_t>(at)];
      }
    }
  }
  return out;
}

// Runs `op` with the values that `block` names as blocked; a row of the blocked kernels must serve.
// Returns whether there was one.
struct Call {
  OpId op;
  const void* attrs;
  std::vector<std::vector<float>> data;  // plain values of each input
  std::vector<Shape> shapes;             // rank 0 without data: absent
  Shape out;

  std::vector<TensorView> views(std::vector<std::vector<float>>& at, const std::vector<bool>& in,
                                int lanes) const {
    std::vector<TensorView> result;
    for (size_t i = 0; i < data.size(); ++i) {
      TensorView v(nullptr, data[i].empty() ? DType::kNone : DType::kF32, shapes[i]);
      at.push_back(data[i]);
      if (in[i] && v.present()) {
        v.block = static_cast<uint8_t>(lanes);
        at.back() = to_blocks(data[i], v);
      }
      result.push_back(v);
    }
    for (size_t i = 0; i < result.size(); ++i) result[i].data = at[i].data();
    return result;
  }

  std::vector<float> reference() const {
    std::vector<std::vector<float>> at;
    const std::vector<TensorView> in = views(at, std::vector<bool>(data.size()), 0);
    std::vector<float> y(static_cast<size_t>(numel(out)));
    TensorView view(y.data(), DType::kF32, out);
    const KernelSet* sets[] = {&kReferenceKernels};
    PreparedKernel kernel;
    const KernelQuery query{op, attrs, in, {&view, 1}, 1};
    const Status prepared = kernel.prepare(sets, query);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    if (!prepared.ok()) return y;
    NanBuffer scratch(kernel.scratch_bytes());
    EXPECT_TRUE(kernel.run({nullptr, scratch.data()}, op, in, {&view, 1}, attrs).ok());
    return y;
  }

  bool run(const std::vector<bool>& blocked, bool y_blocked, ThreadPool* pool, bool packs,
           std::vector<float>* y) const {
    const int lanes = blocked_kernels().lanes;
    std::vector<std::vector<float>> at;
    const std::vector<TensorView> in = views(at, blocked, lanes);
    TensorView view(nullptr, DType::kF32, out);
    view.block = static_cast<uint8_t>(y_blocked ? lanes : 0);
    std::vector<float> stored(static_cast<size_t>(view.stored()), -7.0f);
    view.data = stored.data();
    const KernelSet* sets[] = {&kCpuKernels, &kProductKernels, &kBlockedSet, &kReferenceKernels};
    const int threads = pool == nullptr ? 1 : pool->threads();
    const KernelQuery query{op, attrs, in, {&view, 1}, threads};
    PreparedKernel kernel;
    if (!kernel.prepare(sets, query).ok()) return false;
    const bool flat = kind_of(op) == OpKind::kUnary || kind_of(op) == OpKind::kBinary;
    if (op != OpId::kSlice) {  // has rows of both kinds
      EXPECT_EQ((kernel.row().flags & kBlocked) == 0, flat || op == OpId::kPad);
    }
    Arena arena(default_allocator());
    if (packs) {
      EXPECT_TRUE(kernel.pack_all(query, arena).ok());
    }
    NanBuffer scratch(kernel.scratch_bytes());
    EXPECT_TRUE(kernel.run({pool, scratch.data()}, op, in, {&view, 1}, attrs).ok());
    *y = y_blocked ? from_blocks(stored, view) : stored;
    return true;
  }
};

int checked = 0;

// All ways to lay out the given inputs and the output; at least one must have a row.
void check(const Call& call, const std::vector<size_t>& activations, const std::string& what,
           bool must = true) {
  const std::vector<float> expected = call.reference();
  auto pool = ThreadPool::create(default_allocator(), 3);
  ASSERT_TRUE(pool.ok());
  for_each_simd_target([&](int64_t target) {
    if (blocked_kernels().lanes == 0) return;
    int served = 0;
    for (unsigned form = 1; form < (2u << activations.size()); ++form) {
      std::vector<bool> blocked(call.data.size());
      for (size_t i = 0; i < activations.size(); ++i)
        blocked[activations[i]] = (form >> (i + 1) & 1) != 0;
      for (ThreadPool* p : {static_cast<ThreadPool*>(nullptr), pool.value()}) {
        std::vector<float> y;
        if (!call.run(blocked, (form & 1) != 0, p, p == nullptr, &y)) continue;
        ++served, ++checked;
        EXPECT_TRUE(same_bits(y, expected))
            << simd_target_name(target) << " form " << form << " threads " << (p == nullptr ? 1 : 3)
            << ": " << what;
      }
    }
    if (must) {
      EXPECT_GT(served, 0) << what;
    }
  });
  ThreadPool::destroy(pool.value());
}

// kTiny: most products underflow, many to -0. kEndless: some weights are infinite or NaN.
enum class Numbers { kOrdinary, kTiny, kEndless };

void check_conv(int64_t n, int64_t ic, int64_t h, int64_t w, int64_t oc, int64_t k, int64_t stride,
                int64_t pad, int64_t dilation, int64_t groups, unsigned parts, Activation act,
                Products products = Products::kExact, Numbers numbers = Numbers::kOrdinary) {
  Random random(static_cast<uint64_t>(n + 7 * ic + 31 * h + 101 * w + 1009 * oc + k));
  FusedConvAttrs attrs;
  attrs.conv.group = groups;
  attrs.conv.products = static_cast<int64_t>(products);
  const int64_t oh = (h + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
  const int64_t ow = (w + 2 * pad - dilation * (k - 1) - 1) / stride + 1;
  if (oh < 1 || ow < 1) return;
  attrs.conv.strides = {stride, stride};
  attrs.conv.dilations = {dilation, dilation};
  attrs.conv.pads = {pad, pad, pad, pad};
  attrs.epilogue = {static_cast<int64_t>(act), act == Activation::kClip ? 0.0 : 0.1, 0.75};
  Call call{OpId::kFusedConv, &attrs, {}, {}, {n, oc, oh, ow}};
  const auto add = [&](Shape shape, bool there) {
    call.shapes.push_back(there ? shape : Shape{});
    call.data.push_back(there ? random_floats(random, numel(shape)) : std::vector<float>());
  };
  add({n, ic, h, w}, true);
  add({oc, ic / groups, k, k}, true);
  for (size_t i = 0; i < call.data.size() && numbers == Numbers::kTiny; ++i) {
    for (float& v : call.data[i]) v *= 3e-23f;
  }
  for (size_t i = 0; i < call.data[1].size() && numbers == Numbers::kEndless; i += 97) {
    const float endless = std::numeric_limits<float>::infinity();
    call.data[1][i] = i % 2 == 0 ? endless : std::numeric_limits<float>::quiet_NaN();
  }
  add({oc}, (parts & 1) != 0);
  add({oc}, (parts & 2) != 0);
  add({oc}, (parts & 2) != 0);
  add({n, oc, oh, ow}, (parts & 4) != 0);
  std::vector<size_t> activations = {0};
  if ((parts & 4) != 0) activations.push_back(5);
  check(call, activations,
        "x " + std::to_string(n) + "," + std::to_string(ic) + "," + std::to_string(h) + "," +
            std::to_string(w) + " w " + std::to_string(oc) + "," + std::to_string(k) + " stride " +
            std::to_string(stride) + " pad " + std::to_string(pad) + " dilation " +
            std::to_string(dilation) + " groups " + std::to_string(groups) + " parts " +
            std::to_string(parts) + " act " + std::to_string(static_cast<int64_t>(act)),
        false);
}

TEST(Blocked, ConvolutionsAtRandom) {
  Random random(11);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  checked = 0;
  for (int i = 0; i < 300; ++i) {
    const int64_t k = pick({1, 1, 3, 3, 5, 2, 7});
    const int64_t kind = pick({0, 0, 0, 1, 2});  // dense, depthwise, groups
    int64_t ic = pick({3, 8, 13, 16, 24, 32, 48, 70}),
            oc = pick({6, 8, 13, 16, 24, 33, 48, 64, 100});
    int64_t groups = 1;
    if (kind == 1) oc = groups = ic;
    if (kind == 2)
      groups = pick({2, 3}), ic = groups * pick({4, 16, 32}), oc = groups * pick({16, 32, 48});
    const auto act =
        static_cast<Activation>(random.next() % (static_cast<uint64_t>(Activation::kLast) + 1));
    check_conv(pick({1, 1, 2}), ic, pick({1, 5, 7, 12, 23}), pick({1, 4, 7, 14, 29}), oc, k,
               pick({1, 1, 2, 3}), pick({0, k / 2, k / 2, 1}), pick({1, 1, 1, 2}), groups,
               static_cast<unsigned>(random.next() % 8), act);
  }
  std::printf("COUNT: blocked convolutions: %d\n", checked);
  if (blocked_kernels().lanes != 0) {
    EXPECT_GT(checked, 500);
  }
}

// Orders that a node asks for.
void check_products(Products products, uint64_t seed) {
  Random random(seed);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  checked = 0;
  for (int i = 0; i < 40; ++i) {
    const bool pairs = products == Products::kBf16;
    check_conv(pick({1, 2}), pick({3, 8, 16, 24, 70}), pick({1, 5, 12, 23}), pick({4, 7, 14, 29}),
               pick({8, 13, 16, 48, 100}), pairs ? pick({1, 3, 5}) : 3, pairs ? pick({1, 2}) : 1,
               pick({0, 1, 1, 2}), 1, 1, static_cast<unsigned>(random.next() % 8),
               static_cast<Activation>(random.next() % 10), products);
  }
  if (blocked_kernels().lanes != 0) {
    EXPECT_GT(checked, 100);
  }
}

TEST(Blocked, WinogradAtRandom) { check_products(Products::kWinograd, 12); }
TEST(Blocked, PairsAtRandom) { check_products(Products::kBf16, 13); }

// Taps far apart lie in the padding for whole runs of outputs, whose sums leave them out.
TEST(Blocked, PaddingIsLeftOut) {
  Random random(14);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  checked = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t dilation = pick({3, 5, 8, 12, 17}), groups = pick({1, 1, 2});
    const int64_t k = pick({3, 3, 3, 5}), stride = pick({1, 1, 2});
    const auto act =
        static_cast<Activation>(random.next() % (static_cast<uint64_t>(Activation::kLast) + 1));
    check_conv(pick({1, 2}), groups * pick({16, 48, 160}), pick({1, 6, 9, 16}),
               pick({1, 7, 13, 16}), groups * pick({16, 32, 48}), k, stride, dilation * (k - 1) / 2,
               dilation, groups, static_cast<unsigned>(random.next() % 8), act, Products::kExact,
               static_cast<Numbers>(i % 3));
  }
  if (blocked_kernels().lanes != 0) {
    EXPECT_GT(checked, 300);
  }
}

TEST(Blocked, LongSumsGoOnFromTheirParts) {
  check_conv(1, 600, 5, 9, 40, 3, 1, 1, 1, 1, 7, Activation::kRelu);
  check_conv(2, 2300, 3, 7, 24, 1, 1, 0, 1, 1, 1, Activation::kSilu);
}

// Kernels that tile the output, of which every output has one tap.
TEST(Blocked, TransposedConvolutionsThatTile) {
  Random random(23);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  checked = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t kh = pick({1, 2, 2, 3}), kw = pick({2, 2, 4}), n = pick({1, 2});
    const int64_t ic = pick({3, 8, 16, 40, 70, 1100}), oc = pick({8, 13, 16, 40, 48});
    const int64_t h = pick({1, 4, 9, 20}), w = pick({1, 5, 14, 20});
    ConvTransposeAttrs attrs;
    attrs.conv.group = 1;
    attrs.conv.strides = {kh, kw};
    const bool bias = pick({0, 1}) != 0;
    const Shape x = {n, ic, h, w}, weights = {ic, oc, kh, kw};
    const Call call{OpId::kConvTranspose,
                    &attrs,
                    {random_floats(random, numel(x)), random_floats(random, numel(weights)),
                     bias ? random_floats(random, oc) : std::vector<float>()},
                    {x, weights, bias ? Shape{oc} : Shape{}},
                    {n, oc, h * kh, w * kw}};
    check(call, {0}, std::string("transposed ") + to_text(x).text + " " + to_text(weights).text,
          oc != 8);  // which fill no block of 16
  }
  std::printf("COUNT: blocked transposed convolutions: %d\n", checked);
  if (blocked_kernels().lanes != 0) {
    EXPECT_GT(checked, 60);
  }
}

TEST(Blocked, PoolsAndMeans) {
  for (const int64_t channels : {8, 13, 16, 40}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t pad : {0, 1}) {
        Random random(static_cast<uint64_t>(channels));
        PoolAttrs attrs;
        attrs.kernel_shape = {3, 3};
        attrs.strides = {stride, stride};
        attrs.pads = {pad, pad, pad, pad};
        const int64_t o = (11 + 2 * pad - 3) / stride + 1, q = (14 + 2 * pad - 3) / stride + 1;
        std::vector<float> x = random_floats(random, 2 * channels * 11 * 14);
        x[5] = std::numeric_limits<float>::quiet_NaN();
        x[9] = -0.0f;
        for (const OpId op : {OpId::kMaxPool, OpId::kAveragePool}) {
          for (const int64_t include : {0, 1}) {
            attrs.count_include_pad = include;
            const Call call{op, &attrs, {x}, {{2, channels, 11, 14}}, {2, channels, o, q}};
            check(call, {0}, "pool");
          }
        }
      }
    }
  }
}

TEST(Blocked, BandsCoverEachRowOnce) {
  Random random(21);
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool* pool = ThreadPool::create(default_allocator(), threads).value();
    for (int i = 0; i < 60; ++i) {
      const auto images = static_cast<int64_t>(1 + random.next() % 7);
      const auto planes = static_cast<int64_t>(1 + random.next() % 9);
      const auto rows = static_cast<int64_t>(1 + random.next() % 20);
      const int64_t cost = int64_t{1} << random.next() % 20;
      std::vector<std::atomic<int>> hits(static_cast<size_t>(images * planes * rows));
      parallel_bands(pool, images, planes, rows, cost,
                     [&](int64_t plane, int64_t begin, int64_t end) {
                       for (; begin < end; ++begin)
                         hits[static_cast<size_t>(plane * rows + begin)]++;
                     });
      for (const auto& hit : hits)
        ASSERT_EQ(hit.load(), 1) << images << " " << planes << " " << rows;
    }
    ThreadPool::destroy(pool);
  }
}

// So large that threads share them.
TEST(Blocked, LargeMapsAreDivided) {
  Random random(22);
  for (const int64_t n : {1, 2}) {
    const Shape shape = {n, 40, 41, 33};
    const std::vector<float> x = random_floats(random, numel(shape));
    PoolAttrs pool;
    pool.kernel_shape = {3, 3};
    pool.strides = {2, 1};
    pool.pads = {1, 1, 1, 1};
    for (const OpId op : {OpId::kMaxPool, OpId::kAveragePool})
      check({op, &pool, {x}, {shape}, {n, 40, 21, 33}}, {0}, "pool");
    for (const Activation act : {Activation::kNone, Activation::kLeakyRelu, Activation::kSilu})
      check_conv(n, 48, 41, 33, 48, 3, 1, 1, 1, 48, 7, act);
    AxisAttrs axis;
    axis.axis = 1;
    const Shape few = {n, 3, 41, 33};
    const std::vector<float> some = random_floats(random, numel(few));
    check({OpId::kConcat, &axis, {x, some, x}, {shape, few, shape}, {n, 83, 41, 33}}, {0, 1, 2},
          "concat");
  }
}

// Means over the map and over channels, which fill all blocks or none does it.
TEST(Blocked, ReducesPixelsOrChannels) {
  for (const int64_t channels : {13, 16, 40, 48}) {
    Random random(static_cast<uint64_t>(channels));
    const Shape shape = {2, channels, 5, 7};
    std::vector<float> x = random_floats(random, numel(shape));
    x[3] = -0.0f, x[40] = std::numeric_limits<float>::infinity();
    for (const OpId op :
         {OpId::kReduceSum, OpId::kReduceMean, OpId::kReduceMax, OpId::kReduceMin}) {
      for (const int64_t keep : {0, 1}) {
        ReduceAttrs attrs;
        attrs.keepdims = keep;
        attrs.axes = {2, 3};
        const Shape all = keep != 0 ? Shape{2, channels, 1, 1} : Shape{2, channels};
        check({op, &attrs, {x}, {shape}, all}, {0}, "pixels");
        attrs.axes = {1};
        const Shape maps = keep != 0 ? Shape{2, 1, 5, 7} : Shape{2, 5, 7};
        check({op, &attrs, {x}, {shape}, maps}, {0}, "channels", channels % 16 == 0);
        attrs.axes = {1, 2};
        check({op, &attrs, {x}, {shape}, keep != 0 ? Shape{2, 1, 1, 7} : Shape{2, 7}}, {0},
              "channels and rows", false);
      }
    }
  }
}

TEST(Blocked, Resizes) {
  Random random(5);
  const auto pick = [&](std::initializer_list<int64_t> of) {
    return of.begin()[random.next() % of.size()];
  };
  checked = 0;
  for (int i = 0; i < 120; ++i) {
    ResizeAttrs attrs;
    attrs.mode = pick({0, 1, 2});
    attrs.coordinates = pick({0, 1, 2, 3});
    attrs.nearest_mode = pick({0, 1, 2, 3});
    attrs.exclude_outside =
        attrs.mode == static_cast<int64_t>(ResizeMode::kCubic) ? pick({0, 1}) : 0;
    attrs.interpolate = pick({0, 0, 1});
    if (attrs.interpolate != 0) {  // the trainer's own form has fewer attributes
      attrs.exclude_outside = 0;
      attrs.coordinates = attrs.mode == 0 ? pick({0, 4}) : pick({0, 3});
      attrs.cubic_coeff_a = -0.75;
    }
    const Shape x = {pick({1, 2}), pick({8, 13, 16, 40}), pick({1, 5, 40}), pick({1, 7, 14})};
    std::vector<float> scales = {1, 1, 1, 1};
    Shape y = x;
    for (const int d : {2, 3}) {
      scales[static_cast<size_t>(d)] = static_cast<float>(pick({1, 2, 3, 8, 10})) / 4;
      if (i % 5 == 0 && d == 2) scales[2] = 1;
      y[d] = static_cast<int64_t>(
          std::floor(static_cast<float>(x[d]) * scales[static_cast<size_t>(d)]));
    }
    if (numel(y) == 0) continue;
    // A scale that keeps the size may still take a channel from the one beside it.
    const bool moves = i % 7 == 0 && attrs.interpolate == 0;
    if (moves) scales[1] = 1.02f;
    std::vector<float> values = random_floats(random, numel(x));
    values[values.size() / 2] = std::numeric_limits<float>::infinity();
    values[values.size() / 3] = -0.0f;
    const Call call{OpId::kResize, &attrs, {values, {}, scales}, {x, Shape{}, Shape{4}}, y};
    check(call, {0},
          std::string("resize ") + to_text(x).text + " to " + to_text(y).text + " mode " +
              std::to_string(attrs.mode) + " interpolate " + std::to_string(attrs.interpolate),
          !moves);
  }
  std::printf("COUNT: blocked resizes: %d\n", checked);
}

// The plain rows over blocks as they lie in memory; plain operands are turned into blocks.
TEST(Blocked, ElementwiseAndConcat) {
  const NoAttrs none;
  for (const int64_t channels : {8, 13, 16, 48}) {
    Random random(static_cast<uint64_t>(channels));
    const Shape shape = {2, channels, 5, 7};
    const auto x = random_floats(random, numel(shape)), y = random_floats(random, numel(shape));
    check({OpId::kAdd, &none, {x, y}, {shape, shape}, shape}, {0, 1}, "add");
    check({OpId::kMul, &none, {x, {0.5f}}, {shape, Shape{1}}, shape}, {0}, "times a scalar");
    check({OpId::kSigmoid, &none, {x}, {shape}, shape}, {0}, "sigmoid");
    for (const int64_t n : {1, 2}) {
      const auto scale = random_floats(random, n * channels);
      check({OpId::kMul, &none, {x, scale}, {shape, {n, channels, 1, 1}}, shape}, {0, 1},
            "times a number for each channel");
    }
    const auto scale = random_floats(random, channels), map = random_floats(random, 2 * 5 * 7);
    check({OpId::kSub, &none, {scale, x}, {{channels, 1, 1}, shape}, shape}, {1}, "of no image");
    check({OpId::kDiv, &none, {x, map}, {shape, {2, 1, 5, 7}}, shape}, {0}, "a map for all");
    const auto lines = random_floats(random, channels * 7);
    check({OpId::kMax, &none, {x, lines}, {shape, {1, channels, 1, 7}}, shape}, {0, 1}, "columns");
    AxisAttrs axis;
    axis.axis = 1;
    const auto more = random_floats(random, 2 * 16 * 5 * 7);
    check({OpId::kConcat, &axis, {more, x}, {{2, 16, 5, 7}, shape}, {2, 16 + channels, 5, 7}},
          {0, 1}, "concat");
    const auto few = random_floats(random, 2 * 3 * 5 * 7);
    check({OpId::kConcat,
           &axis,
           {x, few, y, x},
           {shape, {2, 3, 5, 7}, shape, shape},
           {2, 3 + 3 * channels, 5, 7}},
          {0, 1, 2, 3}, "concat amid blocks");
    axis.axis = 2;
    check({OpId::kConcat, &axis, {x, x}, {shape, shape}, {2, channels, 10, 7}}, {0, 1},
          "concat of rows", false);
  }
}

TEST(Blocked, SlicesAndPads) {
  for (const int64_t channels : {16, 24, 32, 48}) {
    Random random(static_cast<uint64_t>(channels));
    const Shape shape = {2, channels, 5, 7};
    const auto x = random_floats(random, numel(shape));
    SliceAttrs slice;
    slice.axes = {1, 2, 3};
    slice.starts = {16, 1, 2};
    slice.ends = {channels, 4, 7};
    if (channels > 16) {
      check({OpId::kSlice, &slice, {x}, {shape}, {2, channels - 16, 3, 5}}, {0}, "slice");
    }
    slice.steps = {1, 2, 1};
    slice.starts = {0, 0, 0};
    slice.ends = {16, 5, 1};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 16, 3, 1}}, {0}, "slice of every other row");
    slice.steps = {1, 1, 2};
    slice.ends = {16, 5, 7};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 16, 5, 4}}, {0}, "every other column", false);
    slice.steps = {1, 1, 1};
    slice.starts = {3, 0, 0};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 13, 5, 7}}, {0}, "amid a block");
    slice.starts = {0, 0, 0};
    slice.ends = {9, 5, 7};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 9, 5, 7}}, {0}, "up to amid a block");
    slice.steps = {-3, 1, 1};
    slice.starts = {-1, 0, 0};
    slice.ends = {-15, 5, 7};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 5, 5, 7}}, {0}, "backwards");
    slice.ends = {-15, 4, 7};
    check({OpId::kSlice, &slice, {x}, {shape}, {2, 5, 4, 7}}, {0}, "backwards and rows", false);
    PadAttrs pad;
    pad.value = -2.5;
    pad.pads = {0, 0, 1, 2, 0, 0, 3, 1};
    check({OpId::kPad, &pad, {x}, {shape}, {2, channels, 9, 10}}, {0}, "pad");
    pad.pads = {1, 0, -1, 0, 0, 0, 3, -2};
    check({OpId::kPad, &pad, {x}, {shape}, {3, channels, 7, 5}}, {0}, "pad and cut");
    pad.pads = {0, 1, 0, 0, 0, 15, 0, 0};
    check({OpId::kPad, &pad, {x}, {shape}, {2, channels + 16, 5, 7}}, {0}, "channels", false);
    pad.pads = {0, 0, 1, 1, 0, 0, 1, 1};
    for (const PadMode mode : {PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
      pad.mode = static_cast<int64_t>(mode);
      check({OpId::kPad, &pad, {x}, {shape}, {2, channels, 7, 9}}, {0}, "pad by pixels");
    }
  }
}

TEST(Blocked, SoftmaxOverChannels) {
  for (const int64_t channels : {8, 13, 40, 150}) {
    Random random(static_cast<uint64_t>(channels));
    const Shape shape = {2, channels, 5, 7};
    const auto x = random_floats(random, numel(shape));
    AxisAttrs axis;
    axis.axis = 1;
    for (const OpId op : {OpId::kSoftmax, OpId::kLogSoftmax})
      check({op, &axis, {x}, {shape}, shape}, {0}, "softmax");
    axis.axis = 2;
    check({OpId::kSoftmax, &axis, {x}, {shape}, shape}, {0}, "over rows", false);
  }
}

TEST(Blocked, BatchNormAndChannelsLast) {
  for (const int64_t channels : {8, 13, 16, 40}) {
    Random random(static_cast<uint64_t>(channels));
    const Shape shape = {2, channels, 5, 7}, last = {2, 5, 7, channels};
    const auto x = random_floats(random, numel(shape));
    BatchNormAttrs norm;
    std::vector<std::vector<float>> data = {x};
    std::vector<Shape> shapes = {shape};
    for (int i = 0; i < 4; ++i) {
      data.push_back(random_floats(random, channels));
      shapes.push_back({channels});
    }
    for (float& v : data[4]) v = std::fabs(v) + 0.1f;
    check({OpId::kBatchNorm, &norm, data, shapes, shape}, {0}, "batch norm");
    TransposeAttrs turn;
    turn.perm = {0, 2, 3, 1};
    check({OpId::kTranspose, &turn, {x}, {shape}, last}, {0}, "channels last");
    turn.perm = {0, 3, 1, 2};
    check({OpId::kTranspose, &turn, {x}, {last}, shape}, {0}, "and back");
    turn.perm = {0, 1, 3, 2};
    check({OpId::kTranspose, &turn, {x}, {shape}, {2, channels, 7, 5}}, {0}, "maps", false);
  }
}

}  // namespace
}  // namespace wick
