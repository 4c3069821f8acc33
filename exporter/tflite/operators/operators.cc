#include "exporter/tflite/operators/operators.h"

#include <algorithm>
#include <iterator>

namespace wick::tflite {

// A row without the function of its name does not link.
#define WICK_TFLITE(code, NAME) void read_tflite_##NAME(ReadCtx&);
#define WICK_TFLITE_UNREAD(code, NAME)
#include "exporter/tflite/operators/operators.def"
#undef WICK_TFLITE
#undef WICK_TFLITE_UNREAD

namespace {

constexpr Operator kOperators[] = {
#define WICK_TFLITE(code, NAME) {code, #NAME, read_tflite_##NAME},
#define WICK_TFLITE_UNREAD(code, NAME) {code, #NAME, nullptr},
#include "exporter/tflite/operators/operators.def"
#undef WICK_TFLITE
#undef WICK_TFLITE_UNREAD
};

constexpr bool in_order() {
  for (size_t i = 1; i < std::size(kOperators); ++i) {
    if (kOperators[i].code <= kOperators[i - 1].code) return false;
  }
  return true;
}
static_assert(in_order(), "the rows of operators.def are sorted by their numbers");

}  // namespace

const Operator* find_operator(int32_t code) {
  const auto* found =
      std::lower_bound(std::begin(kOperators), std::end(kOperators), code,
                       [](const Operator& row, int32_t wanted) { return row.code < wanted; });
  return found != std::end(kOperators) && found->code == code ? found : nullptr;
}

}  // namespace wick::tflite
