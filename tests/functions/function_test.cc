// Every property of every function row. `--gtest_filter='*/softmax'` is one function.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "runtime/core/half.h"
#include "tests/functions/goldens.h"
#include "tests/functions/inputs.h"
#include "tests/functions/row_name.h"
#include "tests/functions/totals.h"
#include "tests/support/where.h"

namespace wick::test {

namespace {

std::vector<const FunctionRow*> rows_that(bool (*property)(const FunctionRow&)) {
  std::vector<const FunctionRow*> some;
  for (const FunctionRow& row : function_rows())
    if (property(row)) some.push_back(&row);
  return some;
}

class Function : public testing::TestWithParam<const FunctionRow*> {
 protected:
  const FunctionRow& row() const { return *GetParam(); }
  // Draws start at one place, whatever ran before.
  List run(size_t sample, const List& in, DType dtype) const {
    manual_seed(11);
    return row().samples[sample].body({in, dtype});
  }
  void each(const std::function<void(size_t, DType)>& f) const {
    for (size_t s = 0; s < row().samples.size(); ++s) {
      for (DType t : listed(dtypes_of(row(), row().samples[s]))) {
        SCOPED_TRACE(sample_key(row(), s) + " " + dtype_name(t) + ": " + row().samples[s].torch);
        ++totals().cases;
        f(s, t);
      }
    }
  }
  const Golden* golden(size_t sample) const {
    std::string key = sample_key(row(), sample);
    const Golden* g = find_golden(row().family, key);
    bool current = g != nullptr && g->digest == sample_digest(row(), sample);
    EXPECT_TRUE(current) << key << (g == nullptr ? " has no golden" : "'s golden is stale")
                         << ": regenerate with tests/functions/make_goldens.py "
                            "BUILD/tests/functions/test_functions "
                         << row().family;
    return current ? g : nullptr;
  }
};

std::string shape_of(const Shape& shape) { return to_text(shape).text; }

double rounded_to(double v, DType t) {
  if (t == DType::kF32) return static_cast<float>(v);
  if (t == DType::kF16) return static_cast<float>(Half(static_cast<float>(v)));
  if (t == DType::kBF16) return static_cast<float>(BFloat16(static_cast<float>(v)));
  return v;
}

// The largest |got - want| relative to the largest finite |want|; infinity where a NaN, an infinity
// or a length differs.
double error_of(const std::vector<double>& got, const std::vector<double>& want, size_t* where) {
  *where = 0;
  if (got.size() != want.size()) return INFINITY;
  double scale = 0, worst = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  if (scale == 0) scale = 1;
  for (size_t i = 0; i < got.size(); ++i) {
    double off = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))
                     ? 0
                     : std::fabs(got[i] - want[i]) / scale;
    if (std::isnan(off)) off = INFINITY;
    if (off > worst) worst = off, *where = i;
  }
  return worst;
}

double bound_of(const FunctionRow& row, DType out) {
  if (out == DType::kF64) return row.f64_bound;
  if (out == DType::kF32) return row.f32_bound;
  if (out == DType::kF16) return row.half_bound * 0x1p-10;
  if (out == DType::kBF16) return row.half_bound * 0x1p-7;
  return 0;  // integers and bools
}

class FunctionValue : public Function {};

TEST_P(FunctionValue, MatchesPyTorch) {
  each([&](size_t s, DType t) {
    const Golden* g = golden(s);
    if (g == nullptr) return;
    List got = run(s, input_tensors(row(), s, t), t);
    auto at = g->values.find(dtype_name(t));
    ASSERT_NE(at, g->values.end());
    ASSERT_EQ(got.size(), at->second.size()) << "outputs";
    for (size_t k = 0; k < got.size(); ++k) {
      const GoldenOutput& want = at->second[k];
      EXPECT_EQ(dtype_name(got[k].dtype()), want.dtype) << "output " << k;
      EXPECT_EQ(shape_of(got[k].raw_shape()), shape_of(want.shape)) << "output " << k;
      if (want.values == nullptr) continue;
      std::vector<double> values = *want.values, ours = elements(got[k]);
      DType out = got[k].dtype();
      for (double& v : values) v = rounded_to(v, out);
      size_t i = 0;
      double error = error_of(ours, values, &i);
      EXPECT_LE(error, bound_of(row(), out))
          << "output " << k << ", element " << i << ": " << (i < ours.size() ? ours[i] : NAN)
          << ", PyTorch has " << (i < values.size() ? values[i] : NAN);
      if (out == DType::kF64 && std::isfinite(error))
        totals().worst(&Totals::f64_value, &Totals::f64_value_at, error, row().name);
    }
  });
}

std::vector<uint64_t> bits(const Tensor& t) {
  Tensor c = t.detach().contiguous();
  auto values = elements(c);
  std::vector<uint64_t> all;
  if (is_int(c.dtype()) && dtype_size(c.dtype()) == 8) {  // beyond a double's 53 bits
    const auto* p = static_cast<const uint64_t*>(c.raw().data);
    return {p, p + values.size()};
  }
  for (double v : values) all.push_back(std::isnan(v) ? ~uint64_t{0} : std::bit_cast<uint64_t>(v));
  return all;
}

// The same values, none of them where a contiguous tensor has them: a transposed buffer for two
// dimensions and more, every second element of one for one.
Tensor strided(const Tensor& t) {
  int rank = t.rank();
  if (rank == 0 || t.raw().numel() == 0) return t;
  if (rank == 1) {
    int64_t n = t.raw_shape()[0];
    Tensor both = stack({t, t}, 1).reshape({2 * n});
    return both.slice(0, 1, 2 * n, 2);
  }
  Tensor turned = t.transpose(0, rank - 1).contiguous();
  return turned.transpose(0, rank - 1);
}

TEST_P(FunctionValue, StridedInputsGiveTheSameBits) {
  each([&](size_t s, DType t) {
    List in = input_tensors(row(), s, t), apart;
    for (const Tensor& x : in) apart.push_back(strided(x));
    List want = run(s, in, t), got = run(s, apart, t);
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k].dtype(), want[k].dtype());
      EXPECT_EQ(shape_of(got[k].raw_shape()), shape_of(want[k].raw_shape()));
      EXPECT_EQ(bits(got[k]), bits(want[k])) << "output " << k;
    }
  });
}

// A write through a result of PyTorch's reaches the input where the result is a view of it or the
// tensor itself, and nowhere else.
TEST_P(FunctionValue, SharesMemoryWherePyTorchDoes) {
  each([&](size_t s, DType t) {
    const Golden* g = golden(s);
    if (g == nullptr) return;
    const List in = input_tensors(row(), s, t), out = run(s, in, t);
    const auto at = g->shared.find(dtype_name(t));
    const std::vector<std::vector<size_t>> none(out.size());
    EXPECT_EQ(shared_with(in, out), at == g->shared.end() ? none : at->second);
  });
}

class FunctionGradient : public Function {
 protected:
  // The samples in float64 that a gradient is asked of.
  void each_f64(const std::function<void(size_t)>& f) const {
    each([&](size_t s, DType t) {
      if (t == DType::kF64 && wants_gradient(row(), row().samples[s])) return f(s);
      --totals().cases;
    });
  }
  // The inputs with a gradient wanted where the row asks for one.
  List recorded(size_t s, List* wanted) const {
    List in = input_tensors(row(), s, DType::kF64);
    for (size_t i = 0; i < in.size(); ++i) {
      const In& spec = row().samples[s].in[i];
      if (!spec.grad || spec.fixed != DType::kNone) continue;
      in[i].requires_grad_();
      wanted->push_back(in[i]);
    }
    return in;
  }
  // The inputs with a gradient, and the sample as a function of those alone.
  std::function<List(const List&)> closed(size_t s, List* free) const {
    List in = input_tensors(row(), s, DType::kF64);
    std::vector<size_t> places;
    for (size_t i = 0; i < in.size(); ++i) {
      const In& spec = row().samples[s].in[i];
      if (!spec.grad || spec.fixed != DType::kNone) continue;
      free->push_back(in[i]);
      places.push_back(i);
    }
    return [this, s, in, places](const List& x) {
      List all = in;
      for (size_t k = 0; k < places.size(); ++k) all[places[k]] = x[k];
      List kept;
      for (const Tensor& t : run(s, all, DType::kF64))
        if (t.dtype() == DType::kF64) kept.push_back(t);
      return kept;
    };
  }
};

TEST_P(FunctionGradient, MatchesPyTorch) {
  each_f64([&](size_t s) {
    const Golden* g = golden(s);
    if (g == nullptr) return;
    List wanted, recorded_outputs, weights;
    List in = recorded(s, &wanted), out = run(s, in, DType::kF64);
    for (size_t k = 0; k < out.size(); ++k) {
      if (!out[k].requires_grad()) continue;
      std::vector<double> w(static_cast<size_t>(out[k].raw().numel()));
      for (size_t i = 0; i < w.size(); ++i) w[i] = output_weight(k, i);
      recorded_outputs.push_back(out[k]);
      weights.push_back(tensor(w).reshape(out[k].raw_shape()));
    }
    ASSERT_FALSE(recorded_outputs.empty()) << "nothing was recorded";
    List got = grad(recorded_outputs, wanted, weights, false, false, true);
    ASSERT_EQ(g->gradient.size(), in.size());
    for (size_t i = 0, slot = 0; i < in.size(); ++i) {
      if (g->gradient[i] == nullptr) continue;
      const Tensor& ours = got[slot++];
      std::vector<double> values(g->gradient[i]->size());
      if (ours.defined()) {
        EXPECT_EQ(shape_of(ours.raw_shape()), shape_of(in[i].raw_shape()));
        values = elements(ours);
      }
      std::vector<double> want = *g->gradient[i];
      for (size_t e = 0; row().diff.mark == Mark::kKink && e < want.size(); ++e)
        if (std::isnan(want[e]) && e < values.size())
          want[e] = values[e];  // PyTorch has none there
      size_t e = 0;
      double error = error_of(values, want, &e);
      EXPECT_LE(error, row().gradient_bound)
          << "gradient of x" << i << ", element " << e << ": "
          << (e < values.size() ? values[e] : NAN) << ", PyTorch has "
          << (e < g->gradient[i]->size() ? (*g->gradient[i])[e] : NAN);
      if (std::isfinite(error))
        totals().worst(&Totals::gradient, &Totals::gradient_at, error, row().name);
    }
  });
}

class FunctionDifferences : public FunctionGradient {};

TEST_P(FunctionDifferences, MatchTheGradient) {
  each_f64([&](size_t s) {
    List free;
    auto f = closed(s, &free);
    GradcheckResult r = gradcheck(f, free);
    EXPECT_TRUE(r.ok) << r.message;
    totals().worst(&Totals::gradcheck, &Totals::gradcheck_at, r.worst_relative, row().name);
  });
}

class FunctionDoubleGradient : public FunctionGradient {};

TEST_P(FunctionDoubleGradient, MatchesFiniteDifferences) {
  each_f64([&](size_t s) {
    List free;
    auto f = closed(s, &free);
    bool empty = true;
    for (const Tensor& t : free) empty = empty && t.raw().numel() == 0;
    if (empty) return;
    GradcheckOptions o;
    o.second_order = true;
    GradcheckResult r = gradcheck(f, free, o);
    EXPECT_TRUE(r.ok) << r.message;
    totals().worst(&Totals::gradgradcheck, &Totals::gradgradcheck_at, r.worst_relative, row().name);
  });
}

// <w, J v> == <J^T w, v>: forward mode against the gradient, which is PyTorch's.
TEST_P(FunctionGradient, ForwardModeIsTheJacobianTimesV) {
  each_f64([&](size_t s) {
    List free, v, w;
    auto f = closed(s, &free);
    Generator g{21, 0};
    for (const Tensor& t : free) v.push_back(uniform(t.raw_shape(), -1, 1, DType::kF64, g));
    List plain = f(free);
    for (const Tensor& t : plain) {
      Tensor weights = uniform(t.raw_shape(), 0.5, 1.5, DType::kF64, g);
      w.push_back(where(isfinite(t), weights, zeros_like(t)));  // NaN has no derivative
    }
    List forward, backward = vjp(f, free, w).second;
    try {
      forward = jvp(f, free, v).second;
    } catch (const Error& e) {  // by way of the second order, which the row says is missing
      if (row().diff.mark != Mark::kOnce) throw;
      EXPECT_NE(std::string(e.what()).find("once_differentiable"), std::string::npos) << e.what();
      return;
    }
    ASSERT_EQ(forward.size(), plain.size());
    double jv = 0, wj = 0, scale = 1;
    auto add = [&scale](double* total, const Tensor& a, const Tensor& b) {
      auto p = elements(a), q = elements(b);
      ASSERT_EQ(p.size(), q.size());
      for (size_t k = 0; k < p.size(); ++k) {
        if (p[k] == 0 || q[k] == 0) continue;  // 0 * NaN is no part of the sum
        *total += p[k] * q[k];
        scale = std::max(scale, std::fabs(p[k] * q[k]));
      }
    };
    for (size_t k = 0; k < plain.size(); ++k) {
      EXPECT_EQ(shape_of(forward[k].raw_shape()), shape_of(plain[k].raw_shape()));
      add(&jv, forward[k], w[k]);
    }
    for (size_t i = 0; i < free.size(); ++i) add(&wj, backward[i], v[i]);
    bool undefined = std::isnan(jv) || std::isnan(wj);
    if (undefined && row().diff.mark == Mark::kKink) return;
    double error = jv == wj ? 0 : std::fabs(jv - wj) / scale;
    EXPECT_LE(error, 1e-10) << "<w, J v> " << jv << ", <J^T w, v> " << wj;
    if (std::isfinite(error))
      totals().worst(&Totals::forward, &Totals::forward_at, error, row().name);
  });
}

// Checks that a row's reason for having no gradient is true.
class FunctionMark : public FunctionGradient {
 protected:
  bool takes_floats(size_t s, DType t) const {
    bool some = false;
    for (const In& in : row().samples[s].in)
      some = some || is_float(in.fixed == DType::kNone ? t : in.fixed);
    return some;
  }
  // The inputs, every float64 one recorded.
  List all_recorded(size_t s, List* floats) const {
    List in = input_tensors(row(), s, DType::kF64);
    for (Tensor& t : in) {
      if (t.dtype() == DType::kF64) floats->push_back(t.requires_grad_());
    }
    return in;
  }
  static List recorded_among(const List& out) {
    List some;
    for (const Tensor& t : out)
      if (t.requires_grad()) some.push_back(t);
    return some;
  }
};

TEST_P(FunctionMark, IsTrue) {
  each([&](size_t s, DType t) {
    Mark mark = row().diff.mark;
    if (mark == Mark::kIntegerOutput) {
      if (!takes_floats(s, t)) return;
      for (const Tensor& out : run(s, input_tensors(row(), s, t), t))
        EXPECT_FALSE(is_float(out.dtype())) << "a float output has a gradient: mark the row so";
      return;
    }
    if (t != DType::kF64) return;
    List floats, out;
    if (mark == Mark::kNotRecorded) {
      EXPECT_STRNE(row().diff.why, "");
      try {
        out = run(s, all_recorded(s, &floats), t);
      } catch (const Error&) {  // refuses recorded operands
        return;
      }
      EXPECT_TRUE(recorded_among(out).empty()) << "a result has a history";
      return;
    }
    if (mark == Mark::kPiecewiseConstant) {
      List some = recorded_among(run(s, all_recorded(s, &floats), t));
      if (some.empty()) return;
      List ones;
      for (const Tensor& o : some) ones.push_back(ones_like(o));
      for (const Tensor& g : grad(some, floats, ones, false, false, true)) {
        if (!g.defined()) continue;
        for (double e : elements(g)) EXPECT_EQ(e, 0) << "the gradient of a constant";
      }
      return;
    }
    // random: what is recorded is the derivative of one seed's draws
    List free;
    auto f = closed(s, &free);
    for (Tensor& x : free) x = x.detach().requires_grad_();
    if (free.empty() || recorded_among(f(free)).empty()) return;
    GradcheckResult r = gradcheck(f, free);
    EXPECT_TRUE(r.ok) << r.message;
  });
}

TEST(FunctionCoverage, NoDTypeIsLost) {
  // coverage.txt is what --coverage printed once; a row may only gain.
  std::ifstream file(source_dir() + "/tests/functions/coverage.txt");
  std::map<std::string, DTypeSet> covered;
  std::map<std::string, DType> by_name;
  for (DType t : listed(~DTypeSet{0})) by_name[dtype_name(t)] = t;
  for (const FunctionRow& row : function_rows())
    for (const Sample& s : row.samples) covered[row.name] |= dtypes_of(row, s);
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    size_t colon = line.find(": ");  // in "linalg::svd: float64 float32"
    ASSERT_NE(colon, std::string::npos) << line;
    std::string name = line.substr(0, colon), dtype;
    std::istringstream words(line.substr(colon + 1));
    while (words >> dtype) {
      ASSERT_EQ(by_name.count(dtype), 1U) << line;
      EXPECT_TRUE(has(covered[name], by_name[dtype]))
          << name << " is no longer tested in " << dtype;
    }
  }
  EXPECT_GT(lines, 100U);
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionValue,
                         testing::ValuesIn(rows_that([](const FunctionRow&) { return true; })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Functions, FunctionGradient,
                         testing::ValuesIn(rows_that([](const FunctionRow& r) {
                           return r.diff.differentiable();
                         })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Functions, FunctionDifferences,
                         testing::ValuesIn(rows_that([](const FunctionRow& r) {
                           return r.diff.differentiable() && r.diff.mark != Mark::kKink;
                         })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Functions, FunctionDoubleGradient,
                         testing::ValuesIn(rows_that([](const FunctionRow& r) {
                           return r.diff.mark == Mark::kSmooth || r.diff.mark == Mark::kPiecewise;
                         })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Functions, FunctionMark,
                         testing::ValuesIn(rows_that([](const FunctionRow& r) {
                           return !r.diff.differentiable() && r.diff.mark != Mark::kCreation;
                         })),
                         test_name);

}  // namespace
}  // namespace wick::test
