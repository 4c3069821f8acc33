// torch.special, and other functions of statistics.
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);

// Far from the poles at 0, -1, -2, where differences have no limit.
In between_poles() {
  return given({-3.5, -2.25, -1.5, -0.75, -0.25, 0.125, 0.5, 1, 1.5, 2, 3, 7.75, 40}, {13});
}

void gamma_rows(Rows& row) {
  row("lgamma", smooth, kFloats)
      .sample("torch.lgamma(x0)", {between_poles()}, WICK_FN(lgamma(x0)))
      .sample("torch.lgamma(x0)", {given({1e3, 1e5, 1e-3, 0.999}, {4})}, WICK_FN(lgamma(x0)),
              kWideFloats);
  row("lgamma.poles", kink("at poles and infinities"), kWideFloats)
      .sample("torch.lgamma(x0)", {given({0, -1, -7, kInf, kNan}, {5}).no_grad()},
              WICK_FN(lgamma(x0)));
  row("digamma", smooth, kFloats)
      .sample("torch.digamma(x0)", {between_poles()}, WICK_FN(digamma(x0)))
      .sample("torch.digamma(x0)", {given({1e3, 1e5, 1e-3, 1.46}, {4})}, WICK_FN(digamma(x0)),
              kWideFloats);
  row("digamma.poles", kink("at poles and infinities"), kWideFloats)
      .sample("torch.digamma(x0)", {given({0, -1, -7, kInf, kNan}, {5}).no_grad()},
              WICK_FN(digamma(x0)));
  row("polygamma", smooth, kWideFloats)
      .sample("torch.polygamma(1, x0)", {between_poles()}, WICK_FN(polygamma(1, x0)))
      .sample("torch.polygamma(2, x0)", {x({3, 4}, 0.5, 4)}, WICK_FN(polygamma(2, x0)))
      .sample("torch.polygamma(5, x0)", {x({3}, 0.5, 4)}, WICK_FN(polygamma(5, x0)));
  row("mvlgamma", smooth, kWideFloats)
      .sample("torch.mvlgamma(x0, 3)", {x({4}, 2, 5)}, WICK_FN(mvlgamma(x0, 3)));
  row("special::gammaln", smooth, kWideFloats)
      .sample("torch.special.gammaln(x0)", {x({4}, 0.5, 5)}, WICK_FN(special::gammaln(x0)));
  row("special::psi", smooth, kWideFloats)
      .sample("torch.special.psi(x0)", {x({4}, 0.5, 5)}, WICK_FN(special::psi(x0)));
}

void error_function(Rows& row) {
  row("erfinv", smooth, kFloats)
      .sample("torch.erfinv(x0)", {x({3, 4}, -0.9, 0.9)}, WICK_FN(erfinv(x0)))
      .sample("torch.erfinv(x0)", {given({0, 0.5, -0.5, 0.99, -0.999}, {5})}, WICK_FN(erfinv(x0)),
              kWideFloats)
      .sample("torch.erfinv(x0)", {given({0.9999999, -0.999999999, 1 - 0x1p-50}, {3})},
              WICK_FN(erfinv(x0)), dtypes(DType::kF64));
  row("erfinv.ends", kink("at the ends"), kWideFloats)
      .sample("torch.erfinv(x0)", {given({1, -1, 2, -3, kNan}, {5}).no_grad()},
              WICK_FN(erfinv(x0)));
  row("special::ndtr", smooth, kWideFloats)
      .sample("torch.special.ndtr(x0)", {x({3, 4})}, WICK_FN(special::ndtr(x0)));
  row("special::ndtri", smooth, kWideFloats)
      .sample("torch.special.ndtri(x0)", {x({3, 4}, 0.1, 0.9)}, WICK_FN(special::ndtri(x0)));
  row("special::entr", smooth, kWideFloats)
      .sample("torch.special.entr(x0)", {x({3, 4}, 0.1, 2)}, WICK_FN(special::entr(x0)));
  row("special::entr.ends", kink("at 0 and below"), kWideFloats)
      .sample("torch.special.entr(x0)", {given({0, -1, kNan}, {3}).no_grad()},
              WICK_FN(special::entr(x0)));
  row("special::expit", smooth, kWideFloats)
      .sample("torch.special.expit(x0)", {x({3, 4})}, WICK_FN(special::expit(x0)));
  row("special::xlog1py", smooth, kWideFloats)
      .sample("torch.special.xlog1py(x0, x1)", {off_zero({4}), x({4}, 0, 2)},
              WICK_FN(special::xlog1py(x0, x1)));
}

}  // namespace

std::vector<FunctionRow> special_rows() {
  Rows row;
  gamma_rows(row);
  error_function(row);
  return row.all;
}

}  // namespace wick::test
