// A product or a convolution with what follows it. The fused ops have the unfused arithmetic in the
// unfused order (docs/numerics.md, "fused epilogue").
#include "runtime/ops/activation.h"
#include "runtime/registry/registry.h"
#include "trainer/compile/values.h"
#include "trainer/tensor/internal.h"

namespace wick::compiled {
namespace {

// Returns the activation that an epilogue can apply; kNone: the work is none.
EpilogueAttrs activation_of(const Work& work) {
  for (const ActivationRow& row : kActivations) {
    if (row.op != work.op || row.times || work.in.size() != 1) continue;
    EpilogueAttrs e{static_cast<int64_t>(row.activation)};
    double* parameter = &e.alpha;
    bool form = true;
    AnyAttrs own = work.attrs;
    for (const AttrField& f : op_info(work.op)->attrs->fields) {
      if (f.kind == AttrKind::kInt) form = (attr_int(f, own.get()) != 0) == (row.flag != 0);
      if (f.kind == AttrKind::kFloat) {
        *parameter = attr_float(f, own.get());
        parameter = &e.beta;
      }
    }
    if (form) return e;
  }
  return {};
}

bool plain(const Operand& o) {
  return o.value >= 0 && o.view.dtype == DType::kF32 && o.view.contiguous();
}

class Epilogues {
 public:
  explicit Epilogues(Works* works) : w_(*works), uses_(*works) {}

  int run() {
    int fused = 0;
    for (size_t i = 0; i < w_.list.size(); ++i) {
      const Work& work = w_.list[i];
      if (work.gone || work.entry->kind != Entry::kKernel) continue;
      if (work.op == OpId::kLinear || work.op == OpId::kConv) fused += join(static_cast<int>(i));
    }
    return fused;
  }

 private:
  Work& work(int i) { return w_.list[static_cast<size_t>(i)]; }

  int join(int head) {
    const Work& product = work(head);
    for (const Operand& o : product.in) {
      if (o.value >= 0 && !plain(o)) return 0;
    }
    if (!plain(product.out[0])) return 0;
    std::vector<int> chain = {head};
    Operand result = product.out[0], residual;
    int next = uses_.only_reader(result);
    if (next >= 0 && work(next).op == OpId::kAdd) {
      const Work& add = work(next);
      const Operand& other = add.in[0].value == result.value ? add.in[1] : add.in[0];
      if (other.value == result.value || !plain(other) ||
          !(other.view.shape == result.view.shape) || !plain(add.out[0]))
        return 0;
      residual = other;
      chain.push_back(next);
      result = add.out[0];
      next = uses_.only_reader(result);
    }
    EpilogueAttrs epilogue;
    if (next >= 0 && work(next).out.size() == 1 && plain(work(next).out[0])) {
      epilogue = activation_of(work(next));
      if (epilogue.activation != 0) chain.push_back(next);
    }
    const int last = chain.back();
    if (chain.size() == 1 || !uses_.may_wait(product, head, last)) return 0;
    Work fused = work(last);
    // What is written in place must not be read by a kernel that reads it as another operand.
    const Value& out = w_.values[static_cast<size_t>(fused.out[0].value)];
    for (const Operand& o : product.in) {
      if (o.value >= 0 && !out.once && w_.values[static_cast<size_t>(o.value)].buffer == out.buffer)
        return 0;
    }
    if (residual.value >= 0) {
      const Value& v = w_.values[static_cast<size_t>(residual.value)];
      if (v.buffer == out.buffer && !out.once) return 0;
    }
    fused.in = product.in;
    fused.in.resize(3);
    fused.in.resize(5);  // neither scale nor shift
    fused.in.push_back(residual);
    if (product.op == OpId::kLinear) {
      fused.op = OpId::kFusedLinear;
      fused.attrs = AnyAttrs::of(epilogue);
    } else {
      fused.op = OpId::kFusedConv;
      fused.attrs = AnyAttrs::of(FusedConvAttrs{product.attrs.as<ConvAttrs>(), epilogue});
    }
    if (residual.value < 0) fused.in.resize(3);
    // Where only the reference has the fused form, the parts are faster.
    std::vector<TensorView> views, outs;
    for (const Operand& o : fused.in) views.push_back(o.view);
    for (const Operand& o : fused.out) outs.push_back(o.view);
    const KernelQuery q{fused.op, fused.attrs.get(), views, outs};
    if (find_kernel({trainer_kernels(false).data(), 1}, q) == nullptr) return 0;
    for (int i : chain) work(i).gone = i != last;
    work(last) = std::move(fused);
    work(last).gone = false;
    return static_cast<int>(chain.size()) - 1;
  }

  Works& w_;
  Uses uses_;
};

}  // namespace

int fuse_epilogues(Works* works) { return Epilogues(works).run(); }

}  // namespace wick::compiled
