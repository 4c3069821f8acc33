#include "trainer/nn/change/prune.h"

#include <cmath>
#include <functional>

#include "trainer/tensor/ops.h"

namespace wick::nn::prune {
namespace {

// The original of a pruned parameter, and the mask so far (undefined: none).
struct Pruned {
  Tensor value, mask;
};
Pruned find(const char* op, Module& m, const std::string& name, const Where& where) {
  if (m.find_tensor(name + "_mask").defined())
    return {m.get_parameter(name + "_orig", where), m.get_buffer(name + "_mask", where)};
  if (m.is_computed(name))
    throw_error(op, "'" + name + "' is parametrized: remove that first", where, Code::kUnsupported);
  return {m.get_parameter(name, where), Tensor()};
}

Tensor float_mask(const Pruned& p) {
  return p.mask.defined() ? p.mask.detach().clone() : ones_like(p.value.detach());
}

void apply(Module& m, const std::string& name, const Pruned& p, const Tensor& mask) {
  if (p.mask.defined()) {
    p.mask.copy_(mask);
    m.refresh();
    return;
  }
  Tensor original = m.compute_parameter(name, [name](Module& self) {
    return self.find_tensor(name + "_orig") * self.find_tensor(name + "_mask");
  });
  const bool trains = original.requires_grad();
  m.register_parameter(name + "_orig", original).requires_grad_(trains);
  m.register_buffer(name + "_mask", mask);
  m.refresh();
}

// Returns the indices of the `drop` smallest scores [n] whose mask is not 0; of equal ones the
// first.
std::vector<int64_t> smallest(const Tensor& scores, const Tensor& left, int64_t drop) {
  Tensor rest = nonzero(left).flatten();
  Tensor order = argsort(index_select(scores.flatten(), 0, rest), 0);
  std::vector<int64_t> at =
      index_select(rest, 0, order.narrow(0, 0, drop)).to(DType::kI64).to_vector<int64_t>();
  return at;
}

Tensor zero_at(Tensor mask, int dim, const std::vector<int64_t>& places) {
  if (!places.empty()) mask.index_fill_(dim, tensor(places), 0);
  return mask;
}

using Score = std::function<Tensor(const Tensor&)>;

Tensor unstructured(const char* op, Module& m, const std::string& name, Amount amount,
                    const Score& score, const Where& where) {
  NoGrad guard;
  Pruned p = find(op, m, name, where);
  Tensor mask = float_mask(p), flat = mask.flatten();
  const int64_t drop = amount.resolve(op, static_cast<int64_t>(sum(flat).item()), where);
  flat = zero_at(flat.clone(), 0, smallest(score(p.value.detach()), flat, drop));
  mask = flat.view(mask.raw_shape());
  apply(m, name, p, mask);
  return mask;
}

Tensor structured(const char* op, Module& m, const std::string& name, Amount amount, int dim,
                  const Score& score, const Where& where) {
  NoGrad guard;
  Pruned p = find(op, m, name, where);
  const int rank = p.value.rank();
  if (rank < 2)
    throw_error(op, "'" + name + "' has " + std::to_string(rank) + " dimensions, slices need two",
                where);
  if (dim < -rank || dim >= rank) {
    throw_error(op,
                "no dimension " + std::to_string(dim) + " in " + to_text(p.value.raw_shape()).text,
                where);
  }
  if (dim < 0) dim += rank;
  Tensor mask = float_mask(p);
  Dims others;
  for (int d = 0; d < rank; ++d) {
    if (d != dim) others.values[others.count++] = d;
  }
  Tensor left = sum(mask, others);  // a slice with at least one entry left counts
  const int64_t drop = amount.resolve(op, nonzero(left).raw_shape()[0], where);
  Tensor value = (p.value.detach() * mask).transpose(0, dim).flatten(1);
  mask = zero_at(mask, dim, smallest(score(value), left, drop));
  apply(m, name, p, mask);
  return mask;
}

}  // namespace

int64_t Amount::resolve(const char* op, int64_t of, const Where& where) const {
  if (relative) {
    if (!(fraction >= 0 && fraction <= 1))
      throw_error(op, "amount must be in [0, 1], got " + std::to_string(fraction), where);
    return static_cast<int64_t>(std::nearbyint(fraction * static_cast<double>(of)));
  }
  if (count < 0 || count > of) {
    throw_error(
        op,
        "amount is " + std::to_string(count) + ", there are " + std::to_string(of) + " to prune",
        where);
  }
  return count;
}

Tensor l1_unstructured(Module& m, const std::string& name, Amount amount, Where where) {
  return unstructured(
      "l1_unstructured", m, name, amount, [](const Tensor& t) { return abs(t); }, where);
}
Tensor random_unstructured(Module& m, const std::string& name, Amount amount, Generator& g,
                           Where where) {
  return unstructured(
      "random_unstructured", m, name, amount,
      [&](const Tensor& t) { return rand(t.raw_shape(), DType::kF64, g); }, where);
}
Tensor ln_structured(Module& m, const std::string& name, Amount amount, double n, int dim,
                     Where where) {
  if (std::isnan(n)) throw_error("ln_structured", "the norm's order is not a number", where);
  return structured(
      "ln_structured", m, name, amount, dim,
      [&](const Tensor& rows) { return linalg::vector_norm(rows, n, 1); }, where);
}
Tensor random_structured(Module& m, const std::string& name, Amount amount, int dim, Generator& g,
                         Where where) {
  return structured(
      "random_structured", m, name, amount, dim,
      [&](const Tensor& rows) { return rand({rows.raw_shape()[0]}, DType::kF64, g); }, where);
}

Tensor custom_from_mask(Module& m, const std::string& name, const Tensor& mask, Where where) {
  NoGrad guard;
  Pruned p = find("custom_from_mask", m, name, where);
  if (!(mask.raw_shape(where) == p.value.raw_shape())) {
    throw_error("custom_from_mask",
                std::string("the mask is ") + to_text(mask.raw_shape()).text + ", '" + name +
                    "' is " + to_text(p.value.raw_shape()).text,
                where, Code::kShapeMismatch);
  }
  Tensor own = mask.detach().to(p.value.dtype());
  if (sum(own * (1 - own)).item() != 0 || min(own).item() < 0)
    throw_error("custom_from_mask", "a mask is made of ones and zeros", where);
  Tensor whole = float_mask(p) * own;
  apply(m, name, p, whole);
  return whole;
}

void global_unstructured(const std::vector<std::pair<Module*, std::string>>& parameters,
                         Amount amount, Where where) {
  if (parameters.empty()) throw_error("global_unstructured", "no parameters", where);
  NoGrad guard;
  std::vector<Pruned> found;
  std::vector<Tensor> scores, masks;
  for (const auto& [m, name] : parameters) {
    found.push_back(find("global_unstructured", *m, name, where));
    scores.push_back(abs(found.back().value.detach()).flatten());
    masks.push_back(float_mask(found.back()).flatten());
  }
  Tensor all = cat(masks, 0);
  const int64_t drop =
      amount.resolve("global_unstructured", static_cast<int64_t>(sum(all).item()), where);
  all = zero_at(all, 0, smallest(cat(scores, 0), all, drop));
  int64_t at = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const Shape& shape = found[i].value.raw_shape();
    const int64_t n = found[i].value.numel();
    apply(*parameters[i].first, parameters[i].second, found[i],
          all.narrow(0, at, n).clone().view(shape));
    at += n;
  }
}

std::vector<std::pair<Module*, std::string>> prunable(Module& model) {
  std::vector<std::pair<Module*, std::string>> all;
  for (Module* m : model.modules()) {
    const std::string kind = m->kind();
    if (kind != "Linear" && !kind.starts_with("Conv")) continue;
    if (m->find_tensor("weight").defined()) all.emplace_back(m, "weight");
  }
  return all;
}

bool is_pruned(Module& module) {
  for (const auto& [name, t] : module.named_buffers()) {
    if (name.ends_with("_mask")) {
      const size_t dot = name.rfind('.');
      Module& owner = module.get_submodule(dot == std::string::npos ? "" : name.substr(0, dot));
      const std::string own = dot == std::string::npos ? name : name.substr(dot + 1);
      if (owner.is_computed(own.substr(0, own.size() - 5))) return true;
    }
  }
  return false;
}

void remove(Module& m, const std::string& name, Where where) {
  if (!m.is_computed(name) || !m.find_tensor(name + "_mask").defined())
    throw_error("prune.remove", "'" + name + "' is not pruned", where, Code::kNotFound);
  NoGrad guard;
  Tensor original = m.find_tensor(name + "_orig");
  Tensor value = original * m.find_tensor(name + "_mask");
  value.requires_grad_(original.requires_grad());
  m.restore_parameter(name, value, where);
  m.unregister(name + "_orig");
  m.unregister(name + "_mask");
}

double measure_sparsity(const Tensor& t) {
  if (t.numel() == 0) return 0;
  NoGrad guard;
  return mean(t.detach().eq(0).to(DType::kF64)).item();
}

double measure_sparsity(Module& model) {
  NoGrad guard;
  double zeros = 0, all = 0;
  auto count = [&](const Tensor& t) {
    if (t.rank() < 2) return;
    zeros += measure_sparsity(t) * static_cast<double>(t.numel());
    all += static_cast<double>(t.numel());
  };
  for (Module* m : model.modules()) {
    for (const auto& [name, t] : m->named_parameters("", false)) {
      const bool masked =
          name.ends_with("_orig") && m->is_computed(name.substr(0, name.size() - 5));
      count(masked ? m->find_tensor(name.substr(0, name.size() - 5)) : t);
    }
  }
  return all == 0 ? 0 : zeros / all;
}

}  // namespace wick::nn::prune
