#include "trainer/distributed/parallel/buckets.h"

#include <cmath>
#include <cstring>

#include "trainer/distributed/parallel/part.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

std::byte* place_in(const Tensor& flat, int64_t offset) {
  return static_cast<std::byte*>(flat.raw().data) +
         offset * static_cast<int64_t>(dtype_size(flat.dtype()));
}

void add_right(const Tensor& left, const Tensor& right) {
  combine(ReduceOp::kSum, left.dtype(), left.raw().data, right.raw().data, left.raw().data,
          left.layout().numel());
}

}  // namespace

Buckets::Lists Buckets::by_size(const nn::NamedTensors& parameters, int shards, int64_t bytes) {
  // Which parameters each bucket has, depends on the net and on `shards`, not on the ranks.
  Lists lists;
  std::vector<int64_t> counts;
  std::map<DType, std::vector<size_t>> of_dtype;  // indices of lists
  std::map<DType, bool> open;                     // the last of them takes more
  for (size_t i = parameters.size(); i-- > 0;) {
    const Tensor& p = parameters[i].second;
    std::vector<size_t>& mine = of_dtype[p.dtype()];
    if (!open[p.dtype()]) {
      mine.push_back(lists.size());
      lists.emplace_back();
      counts.push_back(0);
    }
    lists[mine.back()].push_back(i);
    counts[mine.back()] += p.layout().numel();
    const int64_t now = counts[mine.back()];
    open[p.dtype()] = now < shards || now * static_cast<int64_t>(dtype_size(p.dtype())) < bytes;
  }
  // A last bucket that has not an element for every rank joins the one before.
  for (auto& [dtype, mine] : of_dtype) {
    if (mine.size() < 2 || counts[mine.back()] >= shards) continue;
    std::vector<size_t>& before = lists[mine[mine.size() - 2]];
    before.insert(before.end(), lists[mine.back()].begin(), lists[mine.back()].end());
    lists[mine.back()].clear();
  }
  std::erase_if(lists, [](const auto& list) { return list.empty(); });
  return lists;
}

Buckets::Buckets(Communicator& communicator, int shards, const nn::NamedTensors& parameters,
                 const Lists& lists, bool bf16_wire, SumsTo to)
    : communicator_(communicator),
      shards_(shards),
      own_(shards_of(communicator.rank(), communicator.size(), shards)),
      parameters_(parameters),
      bf16_wire_(bf16_wire),
      to_(to),
      places_(parameters.size()),
      used_(parameters.size()),
      marks_(parameters.size()) {
  for (const std::vector<size_t>& list : lists) {
    Bucket& bucket = buckets_.emplace_back();
    bucket.dtype = parameters[list[0]].second.dtype();
    for (size_t i : list) {
      places_[i] = {buckets_.size() - 1, bucket.parameters.size()};
      bucket.parameters.push_back(i);
      bucket.offsets.push_back(bucket.count);
      bucket.count += parameters[i].second.layout().numel();
    }
  }
  for (Bucket& b : buckets_) {
    b.forest = Forest<Tensor>(own_, shards_);
    b.name = "gradients of " + parameters_[b.parameters.back()].first;
    if (b.parameters.size() > 1) b.name += " .. " + parameters_[b.parameters.front()].first;
  }
}

void Buckets::begin(int64_t total, bool sync) {
  total_ = total;
  sync_ = sync;
  for (Bucket& b : buckets_) {
    for (auto& [part, leaf] : b.leaves) {
      leaf.came.assign(b.parameters.size(), false);
      leaf.waiting = b.parameters.size();
    }
  }
}

Buckets::Leaf& Buckets::leaf_of(Bucket& bucket, int part) {
  Leaf& leaf = bucket.leaves[part];
  if (!leaf.bytes.defined()) {
    leaf.bytes = new_tensor(Shape{bucket.count}, bucket.dtype);
    leaf.has.assign(bucket.parameters.size(), false);
    leaf.came = leaf.has;
    leaf.waiting = bucket.parameters.size();
  }
  return leaf;
}

void Buckets::take(int part, size_t parameter, const Tensor& gradient, const Where& where) {
  const Place place = places_[parameter];
  Bucket& bucket = buckets_[place.bucket];
  Leaf& leaf = leaf_of(bucket, part);
  if (leaf.came[place.index]) {
    throw_error("data_parallel",
                "parameter '" + parameters_[parameter].first + "' got a second gradient in part " +
                    std::to_string(part) + ": one backward for each part",
                where);
  }
  const Tensor g = gradient.to(bucket.dtype, where).contiguous(where);
  std::byte* const to = place_in(leaf.bytes, bucket.offsets[place.index]);
  if (leaf.has[place.index]) {
    combine(ReduceOp::kSum, bucket.dtype, to, g.raw().data, to, g.layout().numel());
  } else {
    memcpy(to, g.raw().data, g.nbytes());
  }
  leaf.has[place.index] = leaf.came[place.index] = true;
  used_[parameter] = true;
  if (--leaf.waiting > 0) return;
  if (on_complete) on_complete(place.bucket);
  if (!sync_) return;
  push_ready(bucket, where);
  send_ready(where);
}

// Adds the parts of a bucket to its forest, in order, as far as they are complete. A part without
// samples counts as zeros.
void Buckets::push_ready(Bucket& bucket, const Where& where) {
  while (!bucket.sent && !bucket.forest.complete()) {
    const int part = bucket.forest.next();
    const auto [begin, end] = samples_of(part, shards_, total_);
    const auto it = bucket.leaves.find(part);
    Tensor value;
    if (it != bucket.leaves.end() && (it->second.waiting == 0 || begin == end)) {
      value = std::move(it->second.bytes);
      for (size_t i = 0; i < bucket.parameters.size(); ++i) {
        if (it->second.has[i]) continue;
        const Tensor& p = parameters_[bucket.parameters[i]].second;
        const auto bytes = static_cast<size_t>(p.layout().numel()) * dtype_size(bucket.dtype);
        memset(place_in(value, bucket.offsets[i]), 0, bytes);
      }
      bucket.leaves.erase(it);
    } else if (it == bucket.leaves.end() && begin == end) {
      value = new_tensor(Shape{bucket.count}, bucket.dtype, where);
      memset(value.raw().data, 0, value.nbytes());
    } else {
      return;
    }
    bucket.forest.push(std::move(value),
                       [](Tensor* left, const Tensor& right) { add_right(*left, right); });
  }
}

// Sends complete buckets, in the order that all ranks have.
void Buckets::send_ready(const Where& where) {
  for (; next_ < buckets_.size() && buckets_[next_].forest.complete(); ++next_) {
    Bucket& b = buckets_[next_];
    Communicator::Sum sum{.inputs = {}, .shards = shards_, .bf16_wire = bf16_wire_};
    std::vector<Tensor> pieces;
    b.forest.each([&](const Tensor& t) {
      pieces.push_back(t);
      sum.inputs.push_back(t.raw().data);
    });
    b.forest.clear();
    Call call;
    call.dtype = b.dtype;
    call.count = b.count;
    call.name = b.name;
    call.where = where;
    if (to_ == SumsTo::kAll) {
      b.sum = pieces[0];  // the sum replaces the first piece
      auto keep = std::make_shared<const std::vector<Tensor>>(std::move(pieces));
      b.handle = communicator_.all_reduce(call, sum, b.sum.raw().data, std::move(keep));
    } else {
      const Segment own = segment_of(communicator_.rank(), communicator_.size(), b.count);
      b.sum = new_tensor(Shape{own.count()}, b.dtype, where);
      pieces.push_back(b.sum);
      auto keep = std::make_shared<const std::vector<Tensor>>(std::move(pieces));
      b.handle = communicator_.reduce_segments(call, sum, b.sum.raw().data, std::move(keep));
    }
    b.sent = true;
  }
}

std::vector<size_t> Buckets::end_part(int part, const Where& where) {
  std::vector<size_t> unused;
  for (Bucket& b : buckets_) {
    if (b.sent || b.forest.next() > part) continue;  // it was complete
    Leaf& leaf = leaf_of(b, part);
    for (size_t i = 0; i < b.parameters.size(); ++i) {
      if (!leaf.came[i] && !leaf.has[i]) unused.push_back(b.parameters[i]);
    }
    leaf.waiting = 0;
    if (sync_) push_ready(b, where);
  }
  if (sync_) send_ready(where);
  return unused;
}

void Buckets::finish(const Where& where) {
  for (Bucket& b : buckets_) push_ready(b, where);
  send_ready(where);
  for (Bucket& b : buckets_) b.handle.wait();
}

Tensor Buckets::gradient(size_t parameter) const {
  const Place place = places_[parameter];
  const Bucket& b = buckets_[place.bucket];
  const Tensor& p = parameters_[parameter].second;
  Tensor g = new_tensor(p.raw_shape(), b.dtype);
  memcpy(g.raw().data, place_in(b.sum, b.offsets[place.index]), g.nbytes());
  return g;
}

Tensor Buckets::segment(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  if (to_ == SumsTo::kSegments) return b.sum;
  const Segment own = segment_of(communicator_.rank(), communicator_.size(), b.count);
  Tensor g = new_tensor(Shape{own.count()}, b.dtype);
  memcpy(g.raw().data, place_in(b.sum, own.begin), g.nbytes());
  return g;
}

Tensor Buckets::flatten(size_t bucket) const {
  const Bucket& b = buckets_[bucket];
  Tensor flat = new_tensor(Shape{b.count}, b.dtype);
  for (size_t i = 0; i < b.parameters.size(); ++i) {
    const Tensor p = parameters_[b.parameters[i]].second.detach().to(b.dtype).contiguous();
    memcpy(place_in(flat, b.offsets[i]), p.raw().data, p.nbytes());
  }
  return flat;
}

void Buckets::unflatten(size_t bucket, const Tensor& flat) const {
  const Bucket& b = buckets_[bucket];
  NoGrad guard;
  for (size_t i = 0; i < b.parameters.size(); ++i) {
    const Tensor& p = parameters_[b.parameters[i]].second;
    p.copy_(flat.narrow(0, b.offsets[i], p.layout().numel()).view(p.raw_shape()));
  }
}

void Buckets::mark(size_t bucket) {
  for (size_t i : buckets_[bucket].parameters) {
    const Tensor& p = parameters_[i].second;
    marks_[i] = {p.raw().data, p.version()};
  }
}

std::string Buckets::written(size_t bucket) const {
  for (size_t i : buckets_[bucket].parameters) {
    const auto& [name, p] = parameters_[i];
    if (p.raw().data != marks_[i].data || p.version() != marks_[i].version) return name;
  }
  return "";
}

nn::NamedTensors Buckets::named_windows(size_t bucket, const Tensor& flat) const {
  const Bucket& b = buckets_[bucket];
  nn::NamedTensors windows;
  for (size_t i = 0; i < b.parameters.size(); ++i) {
    const auto& [name, p] = parameters_[b.parameters[i]];
    windows.emplace_back(name,
                         flat.narrow(0, b.offsets[i], p.layout().numel()).view(p.raw_shape()));
  }
  return windows;
}

void Buckets::point_to(size_t bucket, const Tensor& flat) const {
  const Bucket& b = buckets_[bucket];
  NoGrad guard;
  for (size_t i = 0; i < b.parameters.size(); ++i) {
    const Tensor& p = parameters_[b.parameters[i]].second;
    const Shape shape = p.raw_shape();
    if (flat.defined()) {
      p.set_data(flat.narrow(0, b.offsets[i], numel(shape)).view(shape));
    } else {
      p.set_data(full({}, NAN, p.dtype()).expand(shape));
    }
  }
}

std::string Buckets::layout() const {
  std::string text;
  for (const Bucket& b : buckets_) {
    for (size_t i : b.parameters) {
      const auto& [name, p] = parameters_[i];
      text += name + " " + dtype_name(b.dtype) + to_text(p.raw_shape()).text + ";";
    }
    text += "\n";
  }
  return text;
}

void Buckets::clear() {
  for (Bucket& b : buckets_) {
    b.leaves.clear();
    b.forest.clear();
    b.sum = Tensor();
    b.handle = {};
    b.sent = false;
  }
  used_.assign(used_.size(), false);
  next_ = 0;
}

}  // namespace wick::distributed
