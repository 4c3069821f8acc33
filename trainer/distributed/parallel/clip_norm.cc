// The norm of gradients that lie on several ranks, and clipping by it.
#include <algorithm>
#include <cmath>

#include "trainer/distributed/parallel/clip_norm.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/exact_sum.h"
#include "trainer/distributed/split/split_layers.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kClip = "clip_grad_norm";

struct NormTerms {
  ExactSum sum;
  double largest = 0;

  template <class T>
  void take(const T* g, int64_t n, double p) {
    for (int64_t i = 0; i < n; ++i) {
      const auto x = static_cast<double>(g[i]);
      if (p == 2) {
        sum.add_square(x);
      } else if (p == 1) {
        sum.add(std::abs(x));
      } else {
        largest = std::abs(x) > largest || std::isnan(x) ? std::abs(x) : largest;
        if (std::isnan(largest)) return;
      }
    }
  }
};

}  // namespace

std::vector<Tensor> DataParallel::own_gradients(bool* of_all) const {
  *of_all = true;
  std::vector<Tensor> gradients;
  for (const Tensor& leaf : impl_->leaves) {
    if (leaf.grad().defined()) gradients.push_back(leaf.grad().detach());
  }
  return gradients;
}

double DataParallel::clip_grad_norm(double max_norm, double norm_type, Where where) {
  if (split_over_ranks(impl_->net)) {
    throw_error(
        kClip,
        "the net has layers that are split over ranks, and this sees the shards of one rank: "
        "TensorParallel::clip_grad_norm() has the norm of all (not of FullyShard's segments)",
        where, Code::kUnsupported);
  }
  bool of_all = false;
  const std::vector<Tensor> gradients = own_gradients(&of_all);
  return clip_gradients(gradients, gradients, of_all ? nullptr : &impl_->group.communicator(),
                        max_norm, norm_type, where);
}

double clip_gradients(const std::vector<Tensor>& terms_of, const std::vector<Tensor>& scaled,
                      Communicator* ranks, double max_norm, double norm_type, const Where& where) {
  if (!(max_norm >= 0) || !(norm_type == 1 || norm_type == 2 || std::isinf(norm_type))) {
    throw_error(kClip,
                "takes max_norm >= 0 and norm_type 1, 2 or infinity, got " +
                    std::to_string(max_norm) + " and " + std::to_string(norm_type),
                where);
  }
  NoGrad guard;
  NormTerms terms;
  for (const Tensor& g : terms_of) {
    if (g.dtype() == DType::kF64) {
      terms.take(g.contiguous(where).data<double>(), g.layout().numel(), norm_type);
    } else {
      const Tensor wide = g.to(DType::kF32).contiguous(where);
      terms.take(wide.data<float>(), wide.layout().numel(), norm_type);
    }
  }
  double norm = 0;
  if (std::isinf(norm_type)) {
    norm = terms.largest;
    Call call;
    call.dtype = DType::kF64;
    call.count = 1;
    call.op = ReduceOp::kMax;
    call.name = "largest gradient";
    call.where = where;
    if (ranks != nullptr) ranks->all_reduce(call, {.inputs = {&norm}}, &norm, nullptr).wait();
  } else {
    std::array<int64_t, ExactSum::kWords> words = terms.sum.state();
    Call call;
    call.dtype = DType::kI64;
    call.count = static_cast<int64_t>(words.size());
    call.name = "norm of the gradients";
    call.where = where;
    if (ranks != nullptr)
      ranks->all_reduce(call, {.inputs = {words.data()}}, words.data(), nullptr).wait();
    norm = ExactSum::from_state(words).value();
    if (norm_type == 2) norm = std::sqrt(norm);
  }
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;  // a NaN reaches the gradients
  for (const Tensor& g : scaled) g.mul_(full({}, factor, g.dtype()), where);
  return norm;
}

}  // namespace wick::distributed
