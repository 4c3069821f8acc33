// Observers against numpy (make_observers.py), the promises of QParams, and bad data.
#include "quantize/observe/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "quantize/observe/range_search.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"

namespace wick::quantize {
namespace {

using test::error_of;
using testing::HasSubstr;

constexpr int64_t kBatches = 20, kEach = 1000;

// The numbers of make_observers.py.
std::vector<float> numbers_of(const std::string& name) {
  const std::vector<std::string> seeds = {"",        "bell",    "relu", "heavy",
                                          "shifted", "growing", "image"};
  auto s = static_cast<uint64_t>(std::find(seeds.begin(), seeds.end(), name) - seeds.begin());
  std::vector<float> x;
  for (int64_t i = 0; i < kBatches * kEach; ++i) {
    double bell = -2, u[4] = {};
    for (int k = 0; k < (name == "image" ? 2 : 4); ++k) {
      double& v = u[k];
      s = s * 6364136223846793005U + 1442695040888963407U;
      v = static_cast<double>(s >> 40) / (1 << 24);
    }
    bell = u[0] + u[1] + u[2] + u[3] - 2;
    if (name == "relu") bell = std::max(bell, 0.0);
    if (name == "heavy") bell = bell * bell * bell * 4 + 0.25;
    if (name == "shifted") bell = bell * 0.25 + 5;
    if (name == "growing") bell *= static_cast<double>(1 + i / kEach);
    if (name == "image") bell = u[0] < 0.7 ? -0.8125 : u[1] * 2.8125 - 0.8125;  // a background
    x.push_back(static_cast<float>(bell));
  }
  return x;
}

HostTensor floats(const Shape& s, const std::vector<float>& v) { return HostTensor::of(s, v); }

void feed(Observer* observer, const std::vector<float>& x, bool backwards = false) {
  for (int64_t b = 0; b < kBatches; ++b) {
    const int64_t at = backwards ? kBatches - 1 - b : b;
    observer->observe(HostTensor(DType::kF32, Shape{kEach / 10, 10}, x.data() + at * kEach,
                                 kEach * sizeof(float)));
  }
}

DType dtype_from(const std::string& name) {
  for (DType t : {DType::kU8, DType::kI8, DType::kI4, DType::kU4}) {
    if (name == dtype_name(t)) return t;
  }
  return DType::kNone;
}

TEST(Observer, ChoosesWhatNumpyComputes) {
  std::ifstream file(source_dir() + "/tests/quantize/goldens/observers.txt");
  std::string line;
  int lines = 0;
  std::map<std::string, std::vector<float>> data;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string name, kind, dtype;
    bool symmetric = false;
    double lo = 0, hi = 0, scale = 0;
    int zero = 0;
    in >> name >> kind >> dtype >> symmetric >> lo >> hi >> scale >> zero;
    if (data[name].empty()) data[name] = numbers_of(name);
    Observer observer({observer_from(kind), 0.01, 99});
    feed(&observer, data[name]);
    const Range r = observer.ranges(dtype_from(dtype), symmetric)[0];
    const QParams q = observer.params(dtype_from(dtype), symmetric);
    const double tolerance = 1e-6 * (std::fabs(lo) + std::fabs(hi));
    EXPECT_NEAR(r.lo, lo, tolerance) << line;
    EXPECT_NEAR(r.hi, hi, tolerance) << line;
    EXPECT_NEAR(q.scale[0], scale, 1e-6 * scale) << line;
    EXPECT_EQ(q.zero_point[0], zero) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 180);
}

// The histogram is the same in whatever order the data came, and in whatever parts.
TEST(Observer, HistogramsWidenExactly) {
  for (const char* name : {"growing", "heavy", "shifted", "relu"}) {
    const std::vector<float> x = numbers_of(name);
    const auto [lo, hi] = std::minmax_element(x.begin(), x.end());
    Histogram once, parts, backwards;
    once.add(x.data(), static_cast<int64_t>(x.size()), *lo, *hi);
    for (size_t i = 0; i < x.size(); ++i) {
      parts.add(&x[i], 1, x[i], x[i]);
      const float& y = x[x.size() - 1 - i];
      backwards.add(&y, 1, y, y);
    }
    for (const Histogram* h : {&parts, &backwards}) {
      EXPECT_EQ(h->width(), once.width()) << name;
      EXPECT_EQ(h->first(), once.first()) << name;
      EXPECT_EQ(h->zeros(), once.zeros()) << name;
      EXPECT_EQ(h->counts(), once.counts()) << name;
    }
    int64_t total = once.zeros();
    for (int64_t c : once.counts()) total += c;
    EXPECT_EQ(total, static_cast<int64_t>(x.size()));
    EXPECT_LE(once.counts().size(), static_cast<size_t>(Histogram::kMaxBins));
  }
}

TEST(Observer, HistogramsHoldTheSmallestAndLargestFloats) {
  Histogram h;
  const float tiny = std::numeric_limits<float>::denorm_min(),
              huge = std::numeric_limits<float>::max();
  h.add(&tiny, 1, tiny, tiny);
  EXPECT_EQ(h.counts().back(), 1);
  const float large[] = {huge, -huge};
  h.add(large, 2, -huge, huge);
  int64_t total = 0;
  for (int64_t c : h.counts()) total += c;
  EXPECT_EQ(total, 3);
}

TEST(Observer, HasARangeForEachChannel) {
  // [2, 3, 2]: channel c has values around c.
  const HostTensor x = floats({2, 3, 2}, {0, 0.5, 10, 11, -20, -22, 0, -0.5, 9, 12, -21, 3});
  for (const ObserverKind kind : {ObserverKind::kMinMax, ObserverKind::kPercentile}) {
    Observer observer({kind, 0.01, 100}, 1);
    observer.observe(x);
    const std::vector<Range> r = observer.ranges(DType::kI8, false);
    ASSERT_EQ(r.size(), 3U);
    EXPECT_EQ(r[0].lo, -0.5F);
    EXPECT_EQ(r[0].hi, 0.5F);
    EXPECT_EQ(r[1].hi, 12);
    EXPECT_EQ(r[2].lo, -22);
    EXPECT_EQ(r[2].hi, 3);
    const QParams q = observer.params(DType::kI8, true);
    EXPECT_EQ(q.axis, 1);
    EXPECT_EQ(q.scale[1], 12.0F / 127);
  }
}

TEST(Observer, AConstantIsARange) {
  for (const ObserverKind kind :
       {ObserverKind::kMinMax, ObserverKind::kMovingAverage, ObserverKind::kPercentile,
        ObserverKind::kEntropy, ObserverKind::kMse}) {
    for (const float c : {0.0F, 3.5F, -1e-30F, 3e38F, 1e-45F}) {
      for (const DType dtype : {DType::kU8, DType::kI8, DType::kI4}) {
        for (const bool symmetric : {false, true}) {
          Observer observer({kind, 0.01, 99.99});
          observer.observe(floats({3}, {c, c, c}));
          EXPECT_TRUE(observer.constant());
          const QParams q = observer.params(dtype, symmetric);
          check(q, "constant");
          if (std::fabs(c) > 1e-37F) {
            const HostTensor back = to_reals(to_integers(floats({1}, {c}), q), q);
            EXPECT_NEAR(back.as<float>()[0], c, std::fabs(c) * 0.01)
                << observer_name(kind) << " " << dtype_name(dtype) << symmetric;
          }
        }
      }
    }
  }
}

// A normalised image: 29 % of its numbers are above the background's magnitude. The bin that holds
// the background and everything beyond must not decide where the range is clipped.
TEST(Observer, EntropyKeepsWhatLiesBeyondADominantValue) {
  const std::vector<float> image = numbers_of("image");
  for (const float background : {-0.8125F, 0.8125F}) {
    std::vector<float> x = image;
    for (float& v : x) v = v == -0.8125F ? background : v;
    for (const DType dtype : {DType::kU8, DType::kI8}) {
      Observer observer({ObserverKind::kEntropy});
      feed(&observer, x);
      const Range r = observer.ranges(dtype, false)[0];
      const auto beyond =
          std::count_if(x.begin(), x.end(), [&](float v) { return v < r.lo || v > r.hi; });
      EXPECT_LE(beyond, static_cast<int64_t>(x.size()) / 128) << background;
    }
  }
}

// Between the first batch's bins and the second's there are as many bits as in an int64, or more.
TEST(Observer, HistogramsWidenAsFarAsFloatsGo) {
  for (const float small : {1e-15F, 1e-20F, 1e-38F, 1e-45F}) {
    Histogram h;
    const float first[] = {-small, small / 2, -small / 2, small}, second[] = {0.5F, 1.0F};
    h.add(first, 4, -small, small);
    const int64_t zeros = h.zeros();  // half of the least float is none
    h.add(second, 2, 0.5F, 1.0F);
    int64_t all = 0, below = 0;
    for (size_t i = 0; i < h.counts().size(); ++i) {
      all += h.counts()[i];
      if (h.first() + static_cast<int64_t>(i) < 0) below += h.counts()[i];
    }
    EXPECT_EQ(h.first(), -1) << small;
    EXPECT_EQ(all + zeros, 6) << small;
    EXPECT_EQ(below + zeros / 2, 2) << small;
  }
  for (const ObserverKind kind :
       {ObserverKind::kPercentile, ObserverKind::kEntropy, ObserverKind::kMse}) {
    Observer observer({kind});
    observer.observe(floats({4}, {-1e-20F, -2e-20F, -3e-20F, -1e-21F}));
    observer.observe(floats({4}, {0.25F, 0.5F, 0.75F, 1}));
    const Range r = observer.ranges(DType::kU8, false)[0];
    EXPECT_GE(r.lo, -3e-20F);
    EXPECT_LE(r.lo, 0);
    EXPECT_GT(r.hi, 0.2F);
  }
}

TEST(Observer, RefusesBadData) {
  Observer observer({ObserverKind::kEntropy});
  EXPECT_THAT(error_of([&] { (void)observer.params(DType::kU8, false); }),
              HasSubstr("[observe] nothing was observed"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of([&] {
                observer.observe(floats({3}, {1, nan, nan}));
              }),
              HasSubstr("[observe] 2 of 3 numbers are NaN or infinite, the first is nan"));
  EXPECT_THAT(error_of([&] {
                observer.observe(floats({2}, {1, -HUGE_VALF}));
              }),
              HasSubstr("the first is -inf"));
  EXPECT_THAT(error_of([&] { observer.observe(HostTensor(DType::kI32, Shape{2})); }),
              HasSubstr("takes float32, got int32"));
  Observer channels({}, 1);
  channels.observe(HostTensor(DType::kF32, Shape{2, 3}));
  EXPECT_THAT(error_of([&] {
                channels.observe(HostTensor(DType::kF32, Shape{2, 4}));
              }),
              HasSubstr("axis 1 of [2,4] had size 3 before"));
  EXPECT_THAT(error_of([&] { channels.observe(HostTensor(DType::kF32, Shape{3})); }),
              HasSubstr("no axis 1 in [3]"));
  channels.observe(HostTensor(DType::kF32, Shape{0, 3}));  // nothing is fine
}

// 0 is an integer of its own in every range.
TEST(QParams, HoldZeroExactly) {
  const std::vector<Range> ranges = {{-1, 3},         {2, 5},          {-7, -3},
                                     {0, 0},          {-0.001F, 1000}, {-1000, 0.001F},
                                     {-1e38F, 3e38F}, {0, 1e-45F},     {-1e-40F, 1e-39F},
                                     {-0.3F, 0.7F}};
  for (const DType dtype : {DType::kU8, DType::kI8, DType::kU4, DType::kI4}) {
    for (const bool symmetric : {false, true}) {
      for (const Range& r : ranges) {
        const QParams q = params_of(r, dtype, symmetric);
        check(q, "range");
        const HostTensor x = floats({3}, {0, r.lo, r.hi});
        const HostTensor back = to_reals(to_integers(x, q), q);
        EXPECT_EQ(back.as<float>()[0], 0) << r.lo << " " << r.hi;
        const double step = static_cast<double>(q.scale[0]) * 1.001;
        EXPECT_NEAR(back.as<float>()[1], r.lo, step) << r.lo << " " << r.hi << dtype_name(dtype);
        EXPECT_NEAR(back.as<float>()[2], r.hi, step) << r.lo << " " << r.hi << dtype_name(dtype);
      }
    }
  }
}

TEST(QParams, FollowTheFormula) {
  const QParams a = params_of({-1, 3}, DType::kU8, false);
  EXPECT_EQ(a.scale[0], 4.0F / 255);
  EXPECT_EQ(a.zero_point[0], 64);
  EXPECT_EQ(params_of({-1, 3}, DType::kI8, false).zero_point[0], -64);
  EXPECT_EQ(params_of({-1, 3}, DType::kI8, true).scale[0], 3.0F / 127);
  EXPECT_EQ(params_of({-1, 3}, DType::kU8, true).zero_point[0], 128);
  EXPECT_EQ(params_of({2, 3}, DType::kU8, false).scale[0], 3.0F / 255);
  EXPECT_EQ(params_of({-1, 0.5F}, DType::kI4, true).scale[0], 1.0F / 7);
  EXPECT_EQ(params_of({0, 0}, DType::kU8, false).scale[0], 1);
}

TEST(QParams, RefuseWhatIsNoScale) {
  QParams q{{0}, {0}, DType::kU8, -1};
  EXPECT_THAT(error_of([&] { check(q, "x"); }), HasSubstr("[quantize] x: scale 0 is 0"));
  q.scale = {-1};
  EXPECT_THAT(error_of([&] { check(q, "x"); }), HasSubstr("finite and > 0"));
  q = {{1}, {256}, DType::kU8, -1};
  EXPECT_THAT(error_of([&] { check(q, "x"); }), HasSubstr("zero point 0 is 256, no uint8"));
  q = {{1, 1}, {0}, DType::kU8, 0};
  EXPECT_THAT(error_of([&] { check(q, "x"); }), HasSubstr("2 scales, 1 zero points"));
  EXPECT_THAT(error_of([] {
                params_of({1, HUGE_VALF}, DType::kU8, false);
              }),
              HasSubstr("no range"));
  EXPECT_THAT(error_of([] {
                params_of({0, 1}, DType::kF32, false);
              }),
              HasSubstr("no integers of dtype float32"));
  q = {{1, 1}, {0, 0}, DType::kI8, 0};
  EXPECT_THAT(error_of([&] { to_integers(HostTensor(DType::kF32, Shape{3}), q); }),
              HasSubstr("2 scales for axis 0 of [3]"));
}

TEST(Recipe, NamesAndPatterns) {
  EXPECT_EQ(mode_from("weight-only"), Mode::kWeightOnly);
  EXPECT_STREQ(observer_name(observer_from("entropy")), "entropy");
  EXPECT_THAT(error_of([] { mode_from("int8"); }), HasSubstr("static, dynamic, weight-only, qat"));
  EXPECT_THAT(error_of([] { observer_from("max"); }), HasSubstr("no observer \"max\""));
  EXPECT_TRUE(fits_pattern("features.0.conv", "features.*.conv"));
  EXPECT_TRUE(fits_pattern("a", "?"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_TRUE(fits_pattern("xaybzab", "*a*b"));
  EXPECT_FALSE(fits_pattern("features.0.conv", "conv"));
  EXPECT_FALSE(fits_pattern("ab", "?"));
  EXPECT_FALSE(fits_pattern("xaybz", "*a*b"));
}

TEST(Recipe, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    Recipe r;
    change(r);
    return error_of([&] { check(r); });
  };
  EXPECT_THAT(refused([](Recipe& r) { r.activation = DType::kI4; }), HasSubstr("activations"));
  EXPECT_THAT(refused([](Recipe& r) { r.weight = DType::kU8; }), HasSubstr("weights are int8"));
  EXPECT_THAT(refused([](Recipe& r) { r.weight = DType::kU4; }), HasSubstr("weight_symmetric"));
  EXPECT_THAT(refused([](Recipe& r) { r.mode = Mode::kWeightOnly, r.block_size = 48; }),
              HasSubstr("32, 64 or 128, got 48"));
  EXPECT_THAT(refused([](Recipe& r) { r.activation_observer.percentile = NAN; }),
              HasSubstr("percentile"));
  EXPECT_THAT(refused([](Recipe& r) { r.activation_observer.averaging = 0; }),
              HasSubstr("averaging"));
  EXPECT_THAT(refused([](Recipe& r) { r.weight_observer.kind = ObserverKind::kMovingAverage; }),
              HasSubstr("nothing to average"));
  EXPECT_EQ(refused([](Recipe&) {}), "no error");
}

}  // namespace
}  // namespace wick::quantize
