#include "trainer/distributed/parallel/param_units.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

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

GatheredBucket gather_bucket(const Group& group, const Tensor& segment, int64_t n, DType compute,
                             const std::string& name, const Where& where) {
  NoGrad guard;
  const Tensor mine =
      compute == DType::kNone ? segment.detach() : segment.detach().to(compute, where);
  const Segment own = segment_of(group.rank(), group.size(), n);
  GatheredBucket g{new_tensor(Shape{n}, mine.dtype(), where), {}};
  memcpy(static_cast<std::byte*>(g.flat.raw().data) +
             own.begin * static_cast<int64_t>(dtype_size(mine.dtype())),
         mine.raw().data, mine.nbytes());
  Call call;
  call.dtype = mine.dtype();
  call.count = n;
  call.name = name;
  call.where = where;
  g.handle = group.communicator().gather_segments(call, g.flat.raw().data,
                                                  std::make_shared<const Tensor>(g.flat));
  return g;
}

namespace {

// FNV-1a over words: a state of another rank differs by mistake, not by design.
void add_to_digest(uint64_t* digest, const Tensor& t) {
  const auto* bytes = static_cast<const std::byte*>(t.raw().data);
  const size_t n = t.nbytes();
  for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, std::min(sizeof word, n - i));
    *digest = (*digest ^ word) * 1099511628211u;
  }
}

// Each rank takes its share of what was loaded: all of them must have loaded the same. Where only
// some ranks have, this collective is not what the others call, and the report has its name.
void check_same_state(Buckets& buckets, const std::vector<size_t>& written, const Group& group,
                      const Where& where) {
  uint64_t digest = 14695981039346656037u;
  for (size_t b : written) {
    digest = (digest ^ b) * 1099511628211u;
    add_to_digest(&digest, buckets.flatten(b));
  }
  const auto mine = static_cast<int64_t>(digest);
  std::vector<int64_t> all(static_cast<size_t>(group.size()));
  Call call;
  call.dtype = DType::kI64;
  call.count = 1;
  call.name = "a state that was loaded into the net";
  call.where = where;
  group.communicator().all_gather(call, &mine, all.data(), nullptr).wait();
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    throw_error("fully_shard",
                "what was loaded into the net is not the same on rank 0 and on rank " +
                    std::to_string(r) + ": load one state on every rank",
                where);
  }
}

}  // namespace

void take_over(Buckets& buckets, const std::vector<TakeOver>& list, const Group& group,
               const std::vector<Tensor>& segments, DType compute, const Where& where) {
  NoGrad guard;
  auto own_of = [&](size_t bucket) {
    const Segment own = segment_of(group.rank(), group.size(), buckets.elements(bucket));
    return buckets.flatten(bucket).narrow(0, own.begin, own.count());
  };
  std::vector<size_t> written;
  std::string problem;
  for (const TakeOver& t : list) {
    const std::string name = buckets.written(t.bucket);
    if (name.empty()) continue;
    written.push_back(t.bucket);
    const Tensor& segment = segments[t.bucket];
    std::string text;
    if (!t.whole) {
      text = "while stage 3 had let it go: call gather() before load_state_dict()";
    } else if (t.changed) {
      text =
          "by the program, and the optimizer has made a step that the net does not have yet: call "
          "gather() before load_state_dict()";
    } else if (compute != DType::kNone &&
               !equal(own_of(t.bucket), segment.detach().to(compute).to(segment.dtype()))) {
      text = std::string("in ") + dtype_name(compute) + ", and what is trained is " +
             dtype_name(segment.dtype()) +
             ": load the state before FullyShard is made, or write segments()";
    }
    if (problem.empty() && !text.empty()) problem = "'" + name + "' of the net was written " + text;
  }
  if (problem.empty() && !written.empty()) {
    try {
      check_same_state(buckets, written, group, where);
    } catch (...) {
      for (size_t b : written) buckets.mark(b);
      throw;
    }
  }
  for (size_t b : written) {
    if (problem.empty() && compute == DType::kNone) segments[b].detach().copy_(own_of(b), where);
    buckets.mark(b);
  }
  if (!problem.empty()) throw_error("fully_shard", problem, where);
}

ParamUnits::ParamUnits(nn::Module& net, Buckets& buckets, const std::vector<Tensor>& segments,
                       DType compute, Group gathers, const nn::NamedTensors& parameters,
                       bool prefetch)
    : buckets_(buckets),
      segments_(segments),
      compute_(compute),
      gathers_(std::move(gathers)),
      of_bucket_(buckets.count()),
      prefetch_(prefetch) {
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
        gather_in_batch(*unit);
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
    out.register_hook(
        [this, &unit, asked, alive = std::weak_ptr<const bool>(alive_)](const Tensor&) {
          if (alive.expired())
            throw Error("[fully_shard] backward of what a net gave whose FullyShard is gone");
          if (*asked) return;
          *asked = true;
          together("parameters in backward", [&] { gather_in_batch(unit); });
        });
  }
}

bool ParamUnits::current(const Unit& unit) const {
  for (size_t i = 0; i < unit.versions.size(); ++i) {
    if (segments_[unit.buckets[i]].version() != unit.versions[i]) return false;
  }
  return true;
}

void ParamUnits::start(Unit& unit, const Where& where) {
  unit.versions.clear();
  for (size_t b : unit.buckets) {
    unit.versions.push_back(segments_[b].version());
    unit.coming.push_back(gather_bucket(gathers_, segments_[b], buckets_.elements(b), compute_,
                                        "parameters of " + unit.path, where));
  }
}

void ParamUnits::add_to(std::vector<TakeOver>* list, const Unit& unit) const {
  for (size_t i = 0; i < unit.buckets.size(); ++i) {
    const size_t b = unit.buckets[i];
    list->push_back({b, unit.whole && segments_[b].version() != unit.versions[i], unit.whole});
  }
}

void ParamUnits::take_over_all(const Where& where) {
  std::vector<TakeOver> list;
  for (const auto& unit : units_) add_to(&list, *unit);
  take_over(buckets_, list, gathers_, segments_, compute_, where);
}

void ParamUnits::gather(Unit& unit, const Where& where) {
  // The optimizer may have made a step since, or the program has written the segments.
  if (!current(unit)) unit.whole = false, unit.coming.clear();
  if (unit.whole) return;
  if (unit.coming.empty()) start(unit, where);
  for (size_t i = 0; i < unit.coming.size(); ++i) {
    unit.coming[i].handle.wait();
    buckets_.point_to(unit.buckets[i], unit.coming[i].flat);
    buckets_.mark(unit.buckets[i]);
  }
  unit.coming.clear();
  unit.whole = true;
}

// Gathers a unit, and begins to gather the one that came next in the batch before. All ranks run
// the same layers in one order, so they begin the same gathers.
void ParamUnits::gather_in_batch(Unit& unit) {
  gather(unit, Where::current());
  if (!prefetch_ || current_part() == nullptr) return;
  order_.push_back(&unit);
  if (order_.size() >= before_.size() || before_[order_.size() - 1] != &unit) return;
  Unit& next = *before_[order_.size()];
  if (!next.whole && next.coming.empty()) start(next, Where::current());
}

void ParamUnits::let_go(Unit& unit) {
  unit.complete = 0;
  if (held_) return;
  for (size_t b : unit.buckets) {
    buckets_.point_to(b, Tensor());
    buckets_.mark(b);
  }
  unit.whole = false;
}

void ParamUnits::begin(size_t parts) {
  take_over_all(Where::current());
  parts_ = parts;
  held_ = false;
  before_ = std::move(order_);
  order_.clear();
  for (auto& unit : units_) {
    unit->inside = 0;
    unit->coming.clear();  // of values before the optimizer's step
    let_go(*unit);
  }
}

void ParamUnits::hold() {
  take_over_all(Where::current());
  for (auto& unit : units_) gather(*unit, Where::current());
  held_ = true;
}

}  // namespace wick::distributed
