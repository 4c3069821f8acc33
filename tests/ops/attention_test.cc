// Linear attention without its recurrence: a token's output is a sum over the tokens before it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b[0].size(); ++j)
      for (size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

struct Call {
  LinearAttentionAttrs attrs;
  std::vector<Value> in, out;
  double at(size_t i, int64_t b, int64_t t, int64_t d) const {
    const Shape s = in[i].view().shape;
    return in[i].at((b * s[1] + t) * s[2] + d);
  }
};

// The change of the state by token t of a head is S -> M S + N, with M [k, k] and N [k, v]; the
// state at t is the product of those before it. exp(g) (1 - beta k k^T) and beta k v^T.
double state_read(const Call& c, int64_t b, int64_t head, int64_t t, int64_t column) {
  const auto& a = c.attrs;
  const int64_t kv = head / (a.q_num_heads / a.kv_num_heads),
                n = c.in[0].view().shape[2] / a.q_num_heads,
                m = c.in[2].view().shape[2] / a.kv_num_heads;
  const auto present = [&](size_t i) { return i < c.in.size() && c.in[i].view().present(); };
  Matrix line(1, std::vector<double>(static_cast<size_t>(n)));  // q^T M_t ... M_s, going back
  for (int64_t i = 0; i < n; ++i) line[0][static_cast<size_t>(i)] = c.at(0, b, t, head * n + i);
  double sum = 0;
  for (int64_t s = t; s >= 0; --s) {
    double beta = 1;
    if (present(5)) beta = c.at(5, b, s, c.in[5].view().shape[2] == 1 ? 0 : kv);
    double hit = 0;  // the line times k
    for (int64_t i = 0; i < n; ++i)
      hit += line[0][static_cast<size_t>(i)] * c.at(1, b, s, kv * n + i);
    sum += hit * beta * c.at(2, b, s, kv * m + column);
    Matrix change(static_cast<size_t>(n), std::vector<double>(static_cast<size_t>(n)));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double x = i == j ? 1 : 0;
        if (present(5)) x -= beta * c.at(1, b, s, kv * n + i) * c.at(1, b, s, kv * n + j);
        if (present(4)) {
          bool each = c.in[4].view().shape[2] == a.kv_num_heads * n;
          x *= std::exp(c.at(4, b, s, each ? kv * n + j : kv));
        }
        change[static_cast<size_t>(i)][static_cast<size_t>(j)] = x;
      }
    }
    line = times(line, change);
  }
  for (int64_t i = 0; i < n && present(3); ++i)
    sum += line[0][static_cast<size_t>(i)] *
           c.in[3].at(((b * a.kv_num_heads + kv) * n + i) * m + column);
  return sum * (a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(n)));
}

TEST(LinearAttention, ReadsTheSumOverTheTokensBefore) {
  for (const TestRow* row : all_test_rows()) {
    if (row->op != OpId::kLinearAttention) continue;
    for (const Sample& s : row->samples()) {
      SCOPED_TRACE(s.name);
      Call c{s.attrs.as<LinearAttentionAttrs>(), make_inputs(s), {}};
      Status status = run_op(row->op, s.attrs.get(), c.in, 2, reference_sets(), nullptr, &c.out);
      ASSERT_TRUE(status.ok()) << status.message();
      const Shape y = c.out[0].view().shape;
      const int64_t m = y[2] / c.attrs.q_num_heads;
      const double room = c.in[0].view().dtype == DType::kF32 ? 1e-5 : 1e-2;
      for (int64_t i = 0; i < c.out[0].view().numel(); i += 1 + y[2] / 40) {
        const int64_t b = i / (y[1] * y[2]), t = i / y[2] % y[1], column = i % y[2];
        double want = state_read(c, b, column / m, t, column % m);
        EXPECT_NEAR(c.out[0].at(i), want, room * (1 + std::fabs(want))) << i;
      }
    }
  }
}

TEST(LinearAttention, ContradictionsAreRefused) {
  auto why = [](std::vector<Input> in, LinearAttentionAttrs a) {
    std::vector<Value> out;
    Sample s = sample("bad", std::move(in), a, 2);
    Status status = run_op(OpId::kLinearAttention, s.attrs.get(), make_inputs(s), 2,
                           reference_sets(), nullptr, &out);
    return status.ok() ? std::string() : std::string(status.message());
  };
  using A = LinearAttentionAttrs;
  Input x = f32({2, 3, 4}), none = Input::absent();
  EXPECT_EQ(why({x, x, x}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, x}, A{0, 0, 0, 0}), "");
  EXPECT_NE(why({x, x, x}, A{2, -1, 0, 0}), "");
  EXPECT_NE(why({x, x, x}, A{3, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, x}, A{3, 3, 0, 0}), "");  // 4 does not divide
  EXPECT_NE(why({x, x, x}, A{INT64_MAX, INT64_MAX, 0, 0}), "");
  EXPECT_NE(why({x, x, x}, A{2, 2, 4, 0}), "");
  EXPECT_NE(why({x, x, x}, A{2, 2, -1, 0}), "");
  EXPECT_NE(why({x, x, x}, A{2, 2, 1, 0}), "");  // gated without a decay
  EXPECT_NE(why({x, x, x, none, x}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, x, none, f32({2, 3, 3})}, A{2, 2, 1, 0}), "");
  EXPECT_NE(why({x, x, x, none, none, x}, A{2, 2, 2, 0}), "");  // beta is one a head
  EXPECT_NE(why({x, f32({2, 2, 4}), x}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, f32({2, 3, 2}), x}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, f32({1, 3, 4})}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, x, f32({2, 2, 2, 3})}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, x, of(DType::kI32, {2, 2, 2, 2})}, A{2, 2, 0, 0}), "");
  EXPECT_NE(why({x, x, of(DType::kF16, {2, 3, 4})}, A{2, 2, 0, 0}), "");
}

}  // namespace
}  // namespace wick::test
