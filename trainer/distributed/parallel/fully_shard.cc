#include "trainer/distributed/parallel/fully_shard.h"

#include <map>

#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/param_units.h"
#include "trainer/distributed/parallel/sync_batch_norm.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

DataParallelOptions common(const FullyShardOptions& o, const Where& where) {
  if (o.stage < 1 || o.stage > 3) {
    throw_error("fully_shard", "stage " + std::to_string(o.stage) + ": there are 1, 2 and 3", where,
                Code::kUnsupported);
  }
  return {.shards = o.shards,
          .bucket_bytes = o.bucket_bytes,
          .mean = o.mean,
          .check_loss = o.check_loss};
}

void check_compute(nn::Module& net, const FullyShardOptions& o, const Where& where) {
  const bool low = o.compute == DType::kBF16 || o.compute == DType::kF16;
  if (!low || o.stage == 1) {
    throw_error("fully_shard",
                std::string("compute = ") + dtype_name(o.compute) + " in stage " +
                    std::to_string(o.stage) + ": takes bfloat16 and float16, in stages 2 and 3",
                where, Code::kUnsupported);
  }
  for (const auto& [path, module] : net.named_modules()) {
    if (dynamic_cast<const SyncBatchNorm*>(module) == nullptr) continue;
    throw_error("fully_shard", "'" + path + "': a SyncBatchNorm has no sums of 16-bit floats",
                where, Code::kUnsupported);
  }
  for (const auto& [name, p] : net.named_parameters()) {
    if (p.dtype() == DType::kF32 || !p.requires_grad()) continue;
    throw_error("fully_shard",
                "'" + name + "' is " + dtype_name(p.dtype()) +
                    ": a net that computes in another dtype is made in float32",
                where, Code::kTypeMismatch);
  }
}

}  // namespace

std::unique_ptr<DataParallel::Impl> FullyShard::make(nn::Module& net, const Group& group,
                                                     const FullyShardOptions& o,
                                                     const Where& where) {
  auto impl = std::make_unique<Impl>(net, group, common(o, where),
                                     o.stage == 1 ? SumsTo::kAll : SumsTo::kSegments, where);
  impl->compute = o.compute;
  if (o.compute != DType::kNone) check_compute(net, o, where);
  if (o.stage < 3) return impl;
  impl->lists = ParamUnits::lists_of(net, impl->parameters);
  impl->synchronized = true;
  return impl;
}

FullyShard::FullyShard(nn::Module& net, const Group& group, const FullyShardOptions& options,
                       Where where)
    : DataParallel(make(net, group, options, where), where) {
  Impl& m = *impl_;
  for (size_t b = 0; b < m.buckets->count(); ++b) {
    const Segment own = segment_of(m.group.rank(), m.group.size(), m.buckets->elements(b));
    const Tensor flat = m.buckets->flatten(b);
    m.segments.push_back(flat.narrow(0, own.begin, own.count()).clone().requires_grad_());
    m.gathered.push_back(m.segments.back().version());
  }
  if (m.compute != DType::kNone) m.net.to(m.compute);  // rounds as gather_bucket() does
  for (size_t b = 0; b < m.buckets->count(); ++b) m.buckets->mark(b);
  if (options.stage < 3) {
    m.before_batch = [this](size_t, const Where& at) { gather(at); };
    return;
  }
  units_ = std::make_unique<ParamUnits>(net, *m.buckets, m.segments, m.compute,
                                        m.group.split(0, m.group.rank(), "parameters", where),
                                        m.parameters, options.prefetch);
  m.before_batch = [this](size_t parts, const Where&) { units_->begin(parts); };
  units_->begin(1);
}

FullyShard::~FullyShard() = default;

const std::vector<Tensor>& FullyShard::segments() const { return impl_->segments; }

Tensor FullyShard::operator()(const Arg& x) {
  // A part's batch did it, and in stage 3 layers do it.
  if (current_part() == nullptr && units_ == nullptr) gather(x.where);
  return DataParallel::operator()(x);
}

void FullyShard::take_over_written(const Where& where) {
  Impl& m = *impl_;
  if (units_ != nullptr) return units_->take_over_all(where);
  std::vector<TakeOver> list;
  for (size_t b = 0; b < m.segments.size(); ++b)
    list.push_back({.bucket = b, .changed = m.segments[b].version() != m.gathered[b]});
  take_over(*m.buckets, list, m.group, m.segments, m.compute, where);
}

void FullyShard::gather(Where where) {
  if (units_ != nullptr) return units_->hold();
  Impl& m = *impl_;
  take_over_written(where);
  bool current = true;
  for (size_t b = 0; b < m.segments.size(); ++b)
    current = current && m.segments[b].version() == m.gathered[b];
  if (current) return;
  std::vector<GatheredBucket> buckets;
  for (size_t b = 0; b < m.segments.size(); ++b) {
    buckets.push_back(gather_bucket(m.group, m.segments[b], m.buckets->elements(b), m.compute,
                                    "parameters of bucket " + std::to_string(b), where));
  }
  for (size_t b = 0; b < buckets.size(); ++b) {
    buckets[b].handle.wait();
    m.buckets->unflatten(b, buckets[b].flat);
    m.buckets->mark(b);
    m.gathered[b] = m.segments[b].version();
  }
}

nn::NamedTensors FullyShard::state_dict(Where where) {
  Impl& m = *impl_;
  if (m.open) throw_error("fully_shard", "within a batch: call finish() first", where);
  take_over_written(where);
  std::map<std::string, Tensor> whole;
  for (size_t b = 0; b < m.segments.size(); ++b) {
    const GatheredBucket g =
        gather_bucket(m.group, m.segments[b], m.buckets->elements(b), DType::kNone,
                      "state of bucket " + std::to_string(b), where);
    g.handle.wait();
    for (const auto& [name, t] : m.buckets->named_windows(b, g.flat)) whole[name] = t;
  }
  std::map<uint64_t, std::string> first_names;  // a shared tensor has several
  for (const auto& [name, p] : m.parameters) first_names[p.id()] = name;
  nn::NamedTensors state;
  for (const auto& [name, t] : m.net.state_dict()) {
    const auto it = first_names.find(t.id());
    state.emplace_back(name, it == first_names.end() ? t : whole.at(it->second));
  }
  return state;
}

std::vector<Tensor> FullyShard::own_gradients(bool* of_all) const {
  *of_all = false;
  std::vector<Tensor> gradients;
  for (const Tensor& segment : impl_->segments) {
    if (segment.grad().defined()) gradients.push_back(segment.grad().detach());
  }
  return gradients;
}

}  // namespace wick::distributed
