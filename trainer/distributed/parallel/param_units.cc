#include "trainer/distributed/parallel/param_units.h"

#include <cstring>
#include <map>

#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

// For each module that has trained parameters of its own, their indices. A tensor that two modules
// share would be let go by one while the other uses it.
std::vector<std::pair<nn::Module*, std::vector<size_t>>> owners(
    nn::Module& net, const nn::NamedTensors& parameters) {
  std::map<uint64_t, size_t> index;
  for (size_t i = 0; i < parameters.size(); ++i) index[parameters[i].second.id()] = i;
  std::map<uint64_t, std::string> owner;
  std::vector<std::pair<nn::Module*, std::vector<size_t>>> all;
  for (const auto& [path, module] : net.named_modules()) {
    std::vector<size_t> own;
    for (const auto& [name, p] : module->named_parameters("", false)) {
      if (index.count(p.id()) == 0) continue;
      const auto [it, first] = owner.emplace(p.id(), path);
      if (!first) {
        throw Error("[fully_shard] stage 3 does not take a parameter of two layers: '" + name +
                    "' of '" + it->second + "' and '" + path + "' (stage 2 does)");
      }
      own.push_back(index[p.id()]);
    }
    if (!own.empty()) all.emplace_back(module, std::move(own));
  }
  return all;
}

}  // namespace

Buckets::Lists ParamUnits::lists_of(nn::Module& net, const nn::NamedTensors& parameters) {
  Buckets::Lists lists;
  const auto all = owners(net, parameters);
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    std::map<DType, std::vector<size_t>> by_dtype;
    for (size_t i : it->second) by_dtype[parameters[i].second.dtype()].push_back(i);
    for (auto& [dtype, list] : by_dtype) lists.push_back(std::move(list));
  }
  return lists;
}

ParamUnits::ParamUnits(nn::Module& net, Buckets& buckets, const std::vector<Tensor>& segments,
                       Group gathers, const nn::NamedTensors& parameters)
    : buckets_(buckets),
      segments_(segments),
      gathers_(std::move(gathers)),
      of_bucket_(buckets.count()) {
  std::map<const nn::Module*, std::string> paths;
  for (const auto& [path, module] : net.named_modules()) paths[module] = path;
  for (const auto& [module, list] : owners(net, parameters)) {
    units_.push_back(std::make_unique<Unit>());
    Unit* const unit = units_.back().get();
    unit->path = paths[module];
    for (size_t i : list) {
      const size_t bucket = buckets_.bucket_of(i);
      if (of_bucket_[bucket] != nullptr) continue;
      of_bucket_[bucket] = unit;
      unit->buckets.push_back(bucket);
    }
    using Tensors = std::vector<Tensor>;
    hooks_.push_back(module->register_forward_pre_hook([this, unit](nn::Module&, const Tensors&) {
      together("parameters", [&] {
        gather(*unit, Where::current());
        unit->inside = current_part() != nullptr ? parts_ : 1;
      });
    }));
    hooks_.push_back(module->register_forward_hook(
        [this, unit](nn::Module&, const Tensors&, const Tensors& outputs) {
          if (--unit->inside == 0) let_go(*unit);
          watch(*unit, outputs);
        }));
  }
  buckets_.on_complete = [this](size_t bucket) {
    Unit& unit = *of_bucket_[bucket];
    if (!unit.whole) {
      throw Error("[fully_shard] the parameters of '" + unit.path +
                  "' were read outside of a call of that layer, where stage 3 has let them go");
    }
    if (++unit.complete == parts_ * unit.buckets.size()) let_go(unit);
  };
}

ParamUnits::~ParamUnits() {
  for (HookHandle& h : hooks_) h.remove();
  buckets_.on_complete = nullptr;
}

// Runs the action once for all parts of this rank that are in the batch; outside of one at once.
void ParamUnits::together(const char* what, const std::function<void()>& action) {
  const PartRun* run = current_part();
  if (run == nullptr || run->meeting == nullptr) return action();
  run->meeting->meet(run->part->index, what, Where::current(), action);
}

// Before the formula of what made an output runs, the parameters are needed again.
void ParamUnits::watch(Unit& unit, const std::vector<Tensor>& outputs) {
  const auto asked = std::make_shared<bool>(false);
  for (const Tensor& out : outputs) {
    if (!out.defined() || !out.requires_grad() || out.is_leaf()) continue;
    out.register_hook([this, &unit, asked](const Tensor&) {
      if (*asked) return;
      *asked = true;
      together("parameters in backward", [&] { gather(unit, Where::current()); });
    });
  }
}

void ParamUnits::gather(Unit& unit, const Where& where) {
  if (unit.whole) return;
  std::vector<std::pair<Tensor, Handle>> flats;
  for (size_t b : unit.buckets) {
    const int64_t n = buckets_.elements(b);
    const Segment own = segment_of(gathers_.rank(), gathers_.size(), n);
    const Tensor flat = new_tensor(Shape{n}, segments_[b].dtype(), where);
    memcpy(static_cast<std::byte*>(flat.raw().data) +
               own.begin * static_cast<int64_t>(dtype_size(flat.dtype())),
           segments_[b].raw().data, segments_[b].nbytes());
    Call call;
    call.dtype = flat.dtype();
    call.count = n;
    call.name = "parameters of " + unit.path;
    call.where = where;
    flats.emplace_back(flat, gathers_.communicator().gather_segments(
                                 call, flat.raw().data, std::make_shared<const Tensor>(flat)));
  }
  for (size_t i = 0; i < flats.size(); ++i) {
    flats[i].second.wait();
    buckets_.point_to(unit.buckets[i], flats[i].first);
  }
  unit.whole = true;
}

void ParamUnits::let_go(Unit& unit) {
  unit.complete = 0;
  if (held_) return;
  for (size_t b : unit.buckets) buckets_.point_to(b, Tensor());
  unit.whole = false;
}

void ParamUnits::begin(size_t parts) {
  parts_ = parts;
  held_ = false;
  for (auto& unit : units_) {
    unit->inside = 0;
    let_go(*unit);
  }
}

void ParamUnits::hold() {
  for (auto& unit : units_) {
    if (!held_) unit->whole = false;  // the optimizer may have made a step
    gather(*unit, Where::current());
  }
  held_ = true;
}

}  // namespace wick::distributed
