#include "trainer/distributed/parallel/fully_shard.h"

#include <cstring>

#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/param_units.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

DataParallelOptions common(const FullyShardOptions& o, const Where& where) {
  if (o.stage < 1 || o.stage > 3) {
    throw_error("fully_shard", "stage " + std::to_string(o.stage) + ": there are 1, 2 and 3", where,
                Code::kUnsupported);
  }
  return {.shards = o.shards, .bucket_bytes = o.bucket_bytes, .mean = o.mean};
}

}  // namespace

std::unique_ptr<DataParallel::Impl> FullyShard::make(nn::Module& net, const Group& group,
                                                     const FullyShardOptions& o,
                                                     const Where& where) {
  auto impl = std::make_unique<Impl>(net, group, common(o, where),
                                     o.stage == 1 ? SumsTo::kAll : SumsTo::kSegments, where);
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
    if (m.buckets->elements(b) < m.group.size()) {
      throw_error("fully_shard",
                  "a bucket of " + std::to_string(m.buckets->elements(b)) + " parameters for " +
                      std::to_string(m.group.size()) +
                      " ranks: take a larger bucket_bytes, or a stage below 3",
                  where);
    }
    const Tensor flat = m.buckets->flatten(b);
    m.segments.push_back(flat.narrow(0, own.begin, own.count()).clone().requires_grad_());
    m.gathered.push_back(m.segments.back().version());
  }
  if (options.stage < 3) {
    m.before_batch = [this](size_t, const Where& at) { gather(at); };
    return;
  }
  units_ = std::make_unique<ParamUnits>(net, *m.buckets, m.segments,
                                        m.group.split(0, m.group.rank(), "parameters", where),
                                        m.parameters);
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

void FullyShard::gather(Where where) {
  if (units_ != nullptr) return units_->hold();
  Impl& m = *impl_;
  bool current = true;
  for (size_t b = 0; b < m.segments.size(); ++b)
    current = current && m.segments[b].version() == m.gathered[b];
  if (current) return;
  std::vector<Tensor> flats;
  std::vector<Handle> handles;
  for (size_t b = 0; b < m.segments.size(); ++b) {
    const int64_t n = m.buckets->elements(b);
    const Segment own = segment_of(m.group.rank(), m.group.size(), n);
    const Tensor& mine = m.segments[b];
    const Tensor flat = new_tensor(Shape{n}, mine.dtype(), where);
    const auto size = static_cast<int64_t>(dtype_size(mine.dtype()));
    memcpy(static_cast<std::byte*>(flat.raw().data) + own.begin * size, mine.raw().data,
           mine.nbytes());
    Call call;
    call.dtype = mine.dtype();
    call.count = n;
    call.name = "parameters of bucket " + std::to_string(b);
    call.where = where;
    handles.push_back(m.group.communicator().gather_segments(call, flat.raw().data,
                                                             std::make_shared<const Tensor>(flat)));
    flats.push_back(flat);
  }
  for (size_t b = 0; b < handles.size(); ++b) {
    handles[b].wait();
    m.buckets->unflatten(b, flats[b]);
    m.gathered[b] = m.segments[b].version();
  }
}

}  // namespace wick::distributed
