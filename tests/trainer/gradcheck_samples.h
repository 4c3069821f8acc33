// The samples of gradcheck_test.cc: one small input or more for each differentiable row.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "wick/trainer.h"

namespace wick::gradchecks {

using List = std::vector<Tensor>;
using Fn = std::function<List(const List&)>;

// Why a sample has no second order.
enum class Second : uint8_t { kYes, kPiecewiseConstant, kThroughFloat32, kNonSmooth, kTrainHelper };

struct Sample {
  std::string name;  // the row, then what varies
  Fn f;
  List inputs;
  Second second = Second::kYes;
};

using Samples = std::vector<Sample>;

constexpr DType kD = DType::kF64;

Tensor random(const Shape& shape, double lo = -1, double hi = 1);
// Distinct values at least 0.05 apart, shuffled: extrema do not change within a difference step.
Tensor distinct(const Shape& shape);
Tensor ints(std::initializer_list<int64_t> v, const Shape& s);

template <class A>
Fn row(OpId op, const A& attrs, size_t outputs = 1) {
  return [op, attrs, outputs](const List& in) {
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : in) pointers.push_back(&t);
    List out(outputs);
    call(op, &attrs, pointers, out, Where::current());
    return out;
  };
}

// These add samples to `all`, in this order: random numbers continue from one to the next.
void add_elementwise_samples(Samples& all);
void add_layer_samples(Samples& all);   // products, convolutions, pools, norms, reductions
void add_index_samples(Samples& all);   // ops that move elements
void add_linalg_samples(Samples& all);  // and strided views
// Points at which a formula has a case of its own, and the function its derivatives all the same.
void add_zero_samples(Samples& all);
// Ops that read images between pixels, by regions or by windows.
void add_image_samples(Samples& all);

}  // namespace wick::gradchecks
