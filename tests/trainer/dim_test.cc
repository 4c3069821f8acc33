// Functions along one dimension: at every rank, dimension and keepdim they give what the function
// gives for each line as a vector. Quantiles are also compared with their formula, written out
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "wick/trainer.h"

namespace wick {
namespace {

constexpr DType kD = DType::kF64;

struct Along {
  const char* name;
  std::function<Tensor(const Tensor& x, int dim, bool keepdim)> f;
  bool reduces;
};

// Values apart from each other; every fifth one NaN where `holes`.
Tensor values(const Shape& shape, bool holes, Generator& g) {
  const int64_t n = numel(shape);
  Tensor t = (randperm(n, g).to(kD) * 0.37 - 0.2 * static_cast<double>(n)).reshape(shape);
  if (!holes) return t;
  Tensor at = remainder(randperm(n, g), 5).reshape(shape);
  return where(eq(at, 0), full({}, std::nan(""), kD), t);
}

std::vector<Shape> shapes() {
  return {{4},
          {1},
          {3, 5},
          {5, 1},
          {2, 3, 4},
          {4, 1, 3},
          {3, 4, 2},
          {2, 2, 2},
          {2, 3, 1, 4},
          {2, 3, 4, 2},
          {1, 2, 3, 4},
          {3, 1, 2, 2, 2},
          {2, 1, 1, 3, 1, 1, 1, 2}};
}

// [rows, n]: every line along the dimension.
Tensor lines_of(const Tensor& x, int dim) {
  Tensor last = movedim(x, dim, -1);
  return last.reshape({-1, x.raw_shape()[dim]});
}

Shape without(const Shape& s, int dim) {
  Shape rest;
  for (int i = 0; i < s.rank(); ++i) {
    if (i != dim) rest.push_back(s[i]);
  }
  return rest;
}

Shape reversed(int rank) {
  Shape axes;
  for (int i = rank - 1; i >= 0; --i) axes.push_back(i);
  return axes;
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(to_text(got.raw_shape()).text, std::string(to_text(want.raw_shape()).text)) << what;
  EXPECT_TRUE(allclose(got, want.to(got.dtype()), 1e-12, 1e-12, true)) << what;
}

std::vector<Along> functions() {
  std::vector<Along> all;
  auto reduces = [&](const char* name, std::function<Tensor(const Tensor&, int, bool)> f) {
    all.push_back({name, std::move(f), true});
  };
  auto keeps = [&](const char* name, std::function<Tensor(const Tensor&, int)> f) {
    all.push_back({name, [f](const Tensor& x, int d, bool) { return f(x, d); }, false});
  };
#define R(name, ...) reduces(name, [](const Tensor& x, int d, bool keep) { return __VA_ARGS__; })
#define K(name, ...) keeps(name, [](const Tensor& x, int d) { return __VA_ARGS__; })
  for (const char* how : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    reduces("quantile",
            [how](const Tensor& x, int d, bool keep) { return quantile(x, 0.3, d, keep, how); });
    reduces("nanquantile",
            [how](const Tensor& x, int d, bool keep) { return nanquantile(x, 0.6, d, keep, how); });
  }
  R("median", median(x, d, keep).values);
  R("median.indices", median(x, d, keep).indices);
  R("nanmedian", nanmedian(x, d, keep).values);
  R("mode", mode(x, d, keep).values);
  R("kthvalue", kthvalue(x, 1, d, keep).values);
  R("max", max(x, d, keep).values);
  R("min.indices", min(x, d, keep).indices);
  R("argmax", argmax(x, d, keep));
  R("argmin", argmin(x, d, keep));
  R("sum", sum(x, {d}, keep));
  R("mean", mean(x, {d}, keep));
  R("prod", prod(x, {d}, keep));
  R("amax", amax(x, {d}, keep));
  R("amin", amin(x, {d}, keep));
  R("var", var(x, {d}, 0, keep));
  R("std", wick::std(x, {d}, 0, keep));
  R("nansum", nansum(x, {d}, keep));
  R("nanmean", nanmean(x, {d}, keep));
  R("vector_norm", linalg::vector_norm(x, 3, {d}, keep));
  K("sort", sort(x, d).values);
  K("sort.indices", sort(x, d, true).indices);
  K("argsort", argsort(x, d));
  K("topk", topk(x, 1, d).values);
  K("topk.indices", topk(x, x.size(d), d, false).indices);
  K("cumsum", cumsum(x, d));
  K("cumprod", cumprod(x, d));
  K("cummax", cummax(x, d).values);
  K("cummin.indices", cummin(x, d).indices);
  K("logcumsumexp", logcumsumexp(x, d));
  K("diff", diff(x, 1, d));
  K("flip", flip(x, {d}));
  K("roll", roll(x, {1}, {d}));
  K("softmax", softmax(x, d));
  K("log_softmax", log_softmax(x, d));
#undef R
#undef K
  return all;
}

TEST(AlongADim, IsWhatTheFunctionMakesOfEachLine) {
  set_num_threads(1);
  Generator g{5, 0};
  for (const Along& along : functions()) {
    for (const Shape& shape : shapes()) {
      const bool holes = std::string(along.name).rfind("nan", 0) == 0;
      Tensor x = values(shape, holes, g);
      for (int d = 0; d < shape.rank(); ++d) {
        std::vector<Tensor> each;
        for (const Tensor& line : unbind(lines_of(x, d), 0))
          each.push_back(along.f(line.clone(), 0, false));
        Tensor want = stack(each, 0);
        Shape rest = without(shape, d);
        if (!along.reduces) {
          rest.push_back(want.raw_shape()[1]);
          want = movedim(want.reshape(rest), -1, d);
        } else {
          want = want.reshape(rest);
        }
        for (bool keep : {false, true}) {
          const Tensor kept = keep && along.reduces ? want.unsqueeze(d) : want;
          for (int dim : {d, d - shape.rank()}) {
            const std::string what = std::string(along.name) + " of " + to_text(shape).text +
                                     " along " + std::to_string(dim) + (keep ? ", kept" : "");
            expect_same(along.f(x, dim, keep), kept, what);
            // the same values in another order of the memory
            Tensor turned = x.permute(reversed(shape.rank())).contiguous();
            expect_same(along.f(turned.permute(reversed(shape.rank())), dim, keep), kept, what);
          }
          if (!along.reduces) break;
        }
      }
    }
  }
}

// NumPy's and PyTorch's definition.
double quantile_of(std::vector<double> v, double q, const std::string& how, bool leave_nan_out) {
  auto numbers = std::remove_if(v.begin(), v.end(), [](double a) { return std::isnan(a); });
  if (numbers != v.end() && !leave_nan_out) return std::nan("");
  v.erase(numbers, v.end());
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  const double rank = q * static_cast<double>(v.size() - 1);
  const double low = v[static_cast<size_t>(std::floor(rank))];
  const double high = v[static_cast<size_t>(std::ceil(rank))];
  if (how == "lower") return low;
  if (how == "higher") return high;
  if (how == "nearest") return v[static_cast<size_t>(std::nearbyint(rank))];
  const double weight = how == "midpoint" ? 0.5 : rank - std::floor(rank);
  return low + weight * (high - low);
}

TEST(Quantile, IsTheFormulaAtEveryRankDimAndKeepdim) {
  set_num_threads(1);
  Generator g{6, 0};
  const std::vector<double> qs = {0.0, 0.3, 0.5, 0.85, 1.0};
  for (const Shape& shape : shapes()) {
    for (bool leave_out : {false, true}) {
      Tensor x = values(shape, leave_out || numel(shape) > 12, g);
      for (const char* how : {"linear", "lower", "higher", "midpoint", "nearest"}) {
        for (int d = -1; d < shape.rank(); ++d) {  // -1: of all elements
          Tensor rows = d < 0 ? x.reshape({1, -1}) : lines_of(x, d);
          std::vector<double> one, many;
          for (const Tensor& line : unbind(rows, 0))
            one.push_back(quantile_of(line.to_vector<double>(), 0.4, how, leave_out));
          for (double q : qs) {
            for (const Tensor& line : unbind(rows, 0))
              many.push_back(quantile_of(line.to_vector<double>(), q, how, leave_out));
          }
          for (bool keep : {false, true}) {
            Shape s;
            for (int i = 0; i < shape.rank(); ++i) {
              const bool gone = d < 0 || i == d;
              if (!gone || keep) s.push_back(gone ? 1 : shape[i]);
            }
            Shape led{static_cast<int64_t>(qs.size())};
            for (int64_t e : s) led.push_back(e);
            const std::optional<int> dim = d < 0 ? std::nullopt : std::optional<int>(d);
            auto f = [&](const Arg& q) {
              return leave_out ? nanquantile(x, q, dim, keep, how) : quantile(x, q, dim, keep, how);
            };
            const std::string what = std::string(how) + " of " + to_text(shape).text + " along " +
                                     std::to_string(d) + (keep ? ", kept" : "");
            expect_same(f(full({}, 0.4, kD)), tensor(one).reshape(s), what);
            if (led.overflowed()) {
              EXPECT_THROW(f(tensor(qs)), Error) << what;
              continue;
            }
            expect_same(f(tensor(qs)), tensor(many).reshape(led), what + ", several");
            expect_same(f(tensor(std::vector<double>{})), zeros({0}, kD).reshape([&] {
              Shape none = led;
              none[0] = 0;
              return none;
            }()),
                        what + ", none");
          }
        }
      }
    }
  }
}

TEST(Quantile, OfANumber) {
  const Tensor x = full({}, 2.5, kD), two = tensor({0.25, 0.5}, DType::kF64);
  for (bool keep : {false, true}) {
    for (std::optional<int> dim : {std::optional<int>(), std::optional<int>(0)}) {
      EXPECT_EQ(quantile(x, 0.3, dim, keep).raw_shape(), Shape{});
      EXPECT_EQ(quantile(x, two, dim, keep).raw_shape(), (Shape{2}));
      EXPECT_EQ(quantile(x, two, dim, keep).to_vector<double>(), (std::vector<double>{2.5, 2.5}));
    }
  }
}

TEST(Quantile, GradientGoesToTheElementsItIsMadeOf) {
  Generator g{7, 0};
  for (int d = 0; d < 3; ++d) {
    for (bool keep : {false, true}) {
      auto f = [=](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{quantile(in[0], 0.3, d, keep),
                                   nanquantile(in[0], tensor({0.2, 0.9}, DType::kF64), d, keep)};
      };
      GradcheckResult r = gradgradcheck(f, {values({2, 3, 4}, false, g)});
      EXPECT_TRUE(r.ok) << d << ": " << r.message;
    }
  }
}

}  // namespace
}  // namespace wick
