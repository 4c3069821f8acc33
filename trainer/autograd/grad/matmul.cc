#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/epilogue.h"

namespace wick {

// A vector is treated as a row (left) or a column (right), whose dim the result lacks.
WICK_GRAD(MatMul, 3, 0, 0, [](GradCtx& c) {
  Tensor a = c.in(0), b = c.in(1), g = c.g();
  bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = a.unsqueeze(0);
  if (column) b = b.unsqueeze(1);
  if (column) g = g.unsqueeze(-1);
  if (row) g = g.unsqueeze(-2);
  if (c.needs(0)) {
    Tensor ga = matmul(g, b.transpose(-2, -1));
    c.set(0, sum_to(ga, a.raw_shape()).reshape(c.in_shape(0)));
  }
  if (c.needs(1)) {
    Tensor gb = matmul(a.transpose(-2, -1), g);
    c.set(1, sum_to(gb, b.raw_shape()).reshape(c.in_shape(1)));
  }
});

static Tensor rows(const Tensor& t) {
  if (t.rank() == 2) return t;
  const Shape& s = t.raw_shape();
  int64_t count = 1;
  for (int i = 0; i + 1 < s.rank(); ++i) count *= s[i];  // rows of no elements count, too
  return t.reshape({count, s[s.rank() - 1]});
}

WICK_GRAD(Linear, 3, 0, 0, [](GradCtx& c) {
  Tensor g = c.g();
  if (c.needs(1)) c.set(1, matmul(rows(g).t(), rows(c.in(0))));
  c.done_with(0);
  if (c.needs(0)) c.set(0, matmul(g, c.in(1)));
  if (c.has(2) && c.needs(2)) c.set(2, sum(rows(g), {0}));
});

WICK_GRAD(FusedLinear, 63, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    Tensor y = linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor());
    return std::vector<Tensor>{unfused_epilogue(y, in, -1, c.attrs<EpilogueAttrs>())};
  });
});

WICK_GRAD(FusedMatMul, 63, 0, 0, [](GradCtx& c) {
  grad_through(c, [&](const std::vector<Tensor>& in) {
    Tensor y = matmul(in[0], in[1]);
    if (in.size() > 2 && in[2].defined()) y = y + in[2];
    return std::vector<Tensor>{unfused_epilogue(y, in, -1, c.attrs<EpilogueAttrs>())};
  });
});

}  // namespace wick
