// Here LBFGS checks what it takes, and makes one vector of its parameters.
#include <fmt/core.h>

#include "trainer/optim/lbfgs.h"
#include "trainer/optim/row_steps.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {
namespace {

std::string called(const Tensor& p, size_t i) {
  return p.name().empty() ? "parameter " + std::to_string(i) : "parameter '" + p.name() + "'";
}

}  // namespace

void LbfgsOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  auto at_least = [&](const char* name, int64_t value, int64_t least) {
    if (value < least) {
      throw_error(op, fmt::format("{} must be at least {}, got {}", name, least, value), where);
    }
  };
  at_least("max_iter", max_iter, 1);
  at_least("max_eval", max_eval, 0);
  at_least("history_size", history_size, 1);
  check_not_negative(op, "tolerance_grad", tolerance_grad, where);
  check_not_negative(op, "tolerance_change", tolerance_change, where);
  if (!line_search_fn.empty() && line_search_fn != "strong_wolfe") {
    throw_error(op,
                "line_search_fn must be \"strong_wolfe\" or empty, got \"" + line_search_fn + "\"",
                where);
  }
}

LBFGS::LBFGS(std::vector<Tensor> params, const LbfgsOptions& options, Where where)
    : LBFGS({Group<LbfgsOptions>{std::move(params), options}}, where) {}

LBFGS::LBFGS(std::vector<Group<LbfgsOptions>> groups, Where where) {
  if (groups.size() != 1) {
    throw_error(kName,
                fmt::format("{} groups of parameters; it takes one, with one set of options",
                            groups.size()),
                where);
  }
  group_ = std::move(groups[0]);
  group_.options.check(kName, where);
  if (group_.params.empty()) throw_error(kName, "no parameters", where);
  std::vector<uint64_t> seen;
  check_params(kName, group_.params, seen, where);
  for (size_t i = 1; i < group_.params.size(); ++i) {
    if (group_.params[i].dtype() == dtype()) continue;
    throw_error(kName,
                fmt::format("{} is {}, {} {}: all must be of one type, as they are one vector",
                            called(group_.params[0], 0), dtype_name(dtype()),
                            called(group_.params[i], i), dtype_name(group_.params[i].dtype())),
                where);
  }
}

LbfgsOptions& LBFGS::options(int group) {
  params(group);  // no such group: an Error
  return group_.options;
}

Optimizer::GroupFields LBFGS::fields(int) const {
  auto& g = const_cast<Group<LbfgsOptions>&>(group_);
  return {&g.options.lr, &g.initial_lr, nullptr, false};
}

int64_t LBFGS::numel() const {
  int64_t n = 0;
  for (const Tensor& p : group_.params) n += p.layout().numel();
  return n;
}

// Parameters may have been given other bytes since (module.to()).
void LBFGS::check_parameters() const {
  for (size_t i = 0; i < group_.params.size(); ++i) {
    const Tensor& p = group_.params[i];
    if (p.is_vulkan()) {
      throw Error(fmt::format("[lbfgs] {} is on {}: it steps on the CPU only; module.to(\"cpu\"), "
                              "or SGD, Adam or AdamW",
                              called(p, i), p.device().to_string()),
                  Code::kUnsupported);
    }
    const DType want = memory_.d.defined() ? memory_.d.dtype() : dtype();
    if (p.dtype() == want && (want == DType::kF32 || want == DType::kF64)) continue;
    throw Error(fmt::format("[lbfgs] {} is now {}, the optimizer {}: make it after module.to()",
                            called(p, i), dtype_name(p.dtype()), dtype_name(want)));
  }
}

Tensor LBFGS::flat_grad() const {
  std::vector<Tensor> flat;
  for (size_t i = 0; i < group_.params.size(); ++i) {
    const Tensor& p = group_.params[i];
    if (has_sparse_grad(p)) no_sparse_step(kName, p);
    const Tensor g = p.grad();
    if (!g.defined()) {
      flat.push_back(zeros({p.layout().numel()}, p.dtype()));
      continue;
    }
    check_step(kName, p, g, ParamState());
    flat.push_back(g.detach().reshape({p.layout().numel()}));
  }
  return flat.size() == 1 ? flat[0].clone() : cat(flat);
}

void LBFGS::add(double t, const Tensor& d) {
  int64_t at = 0;
  for (const Tensor& p : group_.params) {
    const int64_t n = p.layout().numel();
    p.add_(d.slice(0, at, at + n).reshape(p.raw_shape()), t);
    at += n;
  }
}

void LBFGS::set(const std::vector<Tensor>& values) {
  for (size_t i = 0; i < values.size(); ++i) group_.params[i].copy_(values[i]);
}

}  // namespace wick::optim
