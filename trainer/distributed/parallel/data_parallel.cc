#include "trainer/distributed/parallel/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/leaf_grad.h"
#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/distributed/parallel/same_net.h"
#include "trainer/distributed/parallel/sync_batch_norm.h"
#include "trainer/tensor/draws.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick::distributed {
namespace {

constexpr const char* kName = "data_parallel";
constexpr const char* kShardsKey = "wick.shards";

nn::NamedTensors trained(const nn::Module& net) {
  nn::NamedTensors all = net.named_parameters();
  std::erase_if(all, [](const auto& p) { return !p.second.requires_grad(); });
  return all;
}

// Where the statistics of a batch norm would be those of a part, the net is refused. Returns
// whether it has synchronized ones.
bool look_at_norms(nn::Module& net, int shards, const Where& where) {
  bool synchronized = false;
  for (const auto& [path, module] : net.named_modules()) {
    const auto* norm = dynamic_cast<const nn::BatchNormNd*>(module);
    if (norm == nullptr) continue;
    if (dynamic_cast<const SyncBatchNorm*>(norm) != nullptr) {
      synchronized = true;
    } else if (shards > 1 && norm->running_mean.defined()) {
      throw_error(kName,
                  "'" + path + "' keeps running statistics, which would be those of one part of " +
                      std::to_string(shards) + ": call convert_sync_batchnorm(net) first",
                  where);
    }
  }
  return synchronized;
}

std::string names_of(const nn::NamedTensors& parameters, const std::vector<size_t>& list) {
  std::string names;
  for (size_t i : list) names += (names.empty() ? "'" : ", '") + parameters[i].first + "'";
  return names;
}

Group checked(Group world, int shards, const Where& where) {
  if (shards >= world.size()) return world;
  throw_error(kName,
              "shards = " + std::to_string(shards) + " for " + std::to_string(world.size()) +
                  " ranks: every rank needs one, so take at least as many",
              where);
}

Generator part_generator(const Draw& draw, int part) {
  const auto words = philox(draw.seed, draw.stream, static_cast<uint64_t>(part));
  return {uint64_t{words[0]} << 32 | words[1], 0};
}

}  // namespace

DataParallel::Impl::Impl(nn::Module& n, const Group& world, const DataParallelOptions& o, SumsTo to,
                         const Where& where)
    : net(n),
      options(o),
      shards(o.shards > 0 ? o.shards : world.size()),
      group(checked(world, shards, where).split(0, world.rank(), kName, where)),
      synchronized(look_at_norms(n, shards, where)),
      statistics(synchronized ? group.split(0, group.rank(), "batch statistics", where) : group),
      parameters(trained(n)),
      sums_to(to),
      lockstep(statistics.communicator(), shards) {}

void DataParallel::Impl::fail(const std::string& text, const Where& at) {
  if (group.communicator().engine().transport().size() == 1) {
    give_up();
    throw_error(kName, text, at);
  }
  group.fail(std::string("[") + kName + "] " + text, at);
}

void DataParallel::Impl::give_up() {
  open = false;
  pending.clear();
  buckets->clear();
}

void DataParallel::Impl::deliver(const std::vector<bool>& used, const Where& where) {
  for (size_t i = 0; i < leaves.size() && sums_to == SumsTo::kAll; ++i) {
    if (!used[i]) continue;
    add_to_grad(leaves[i].impl(), buckets->gradient(i), false, where);
    run_after_hooks(leaves[i].impl());
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    add_to_grad(segments[i].impl(), buckets->segment(i), false, where);
    run_after_hooks(segments[i].impl());
  }
}

DataParallel::DataParallel(nn::Module& net, const Group& group, const DataParallelOptions& options,
                           Where where)
    : DataParallel(std::make_unique<Impl>(net, group, options, SumsTo::kAll, where), where) {}

DataParallel::DataParallel(std::unique_ptr<Impl> impl, const Where& where)
    : impl_(std::move(impl)) {
  Impl& m = *impl_;
  if (m.parameters.empty())
    throw_error(kName, "the net has no parameter that requires grad", where);
  nn::Module& net = m.net;
  make_same(m.group, net, m.shards, where);
  for (const auto& [name, p] : m.parameters) m.leaves.push_back(p);
  if (m.lists.empty()) m.lists = Buckets::by_size(m.parameters, m.shards, m.options.bucket_bytes);
  m.buckets = std::make_unique<Buckets>(m.group.communicator(), m.shards, m.parameters, m.lists,
                                        m.options.bf16_gradients, m.sums_to);
  for (size_t i = 0; i < m.leaves.size(); ++i) {
    m.hooks.push_back(m.leaves[i].register_hook(
        [&m, i](const Tensor& g) { return m.take_gradient(i, g); }, where));
    m.hooks_before.push_back(m.leaves[i].impl()->hooks->before.size());
  }
  for (const auto& [path, module] : net.named_modules()) {
    if (m.shards == 1 || dynamic_cast<const SyncBatchNorm*>(module) != nullptr) continue;
    for (const auto& [name, buffer] : module->named_buffers(path.empty() ? "" : path + ".", false))
      m.watched.emplace_back(name, buffer);
  }
}

DataParallel::~DataParallel() {
  for (HookHandle& h : impl_->hooks) h.remove();
}

Tensor DataParallel::operator()(const Arg& x) { return impl_->net(x); }
nn::Module& DataParallel::module() { return impl_->net; }
int DataParallel::shards() const { return impl_->shards; }

Tensor DataParallel::Impl::take_gradient(size_t parameter, const Tensor& g) {
  const PartRun* run = current_part();
  if (run == nullptr || run->owner != this || !run->in_backward) return {};
  buckets->take(run->part->index, parameter, g, line);
  // The bucket has it: what backward keeps until its end needs no memory of its own, unless a hook
  // that was registered later looks at it.
  if (leaves[parameter].impl()->hooks->before.size() > hooks_before[parameter]) return {};
  return full({}, 0, g.dtype()).expand(g.raw_shape());
}

std::vector<Part> DataParallel::Impl::begin(std::vector<Part> parts, int64_t samples,
                                            const Where& where) {
  if (open) throw_error(kName, "the batch before was not finished: call finish()", where);
  if (samples < 1) throw_error(kName, "a batch without samples", where);
  if (synchronized && samples < shards) {
    throw_error(kName,
                "a batch of " + std::to_string(samples) + " samples for " + std::to_string(shards) +
                    " shards: SyncBatchNorm and stage 3 need a sample for each (drop_last leaves "
                    "short batches out)",
                where);
  }
  if (before_batch) before_batch(parts.size(), where);
  // One draw a batch, the same on all ranks: streams of the parts follow from it, and what is drawn
  // between batches does not depend on the number of parts.
  if (shards > 1) {
    const Draw draw = next_draw(default_generator());
    for (Part& part : parts) part.generator = part_generator(draw, part.index);
  }
  const Shards own = shards_of(group.rank(), group.size(), shards);
  pending.clear();
  for (const Part& part : parts) {
    const auto [first, last] = samples_of(part.index, shards, samples);
    const bool mine = part.index >= own.begin && part.index < own.end;
    if (!mine || last - first != part.samples || part.total != samples) {
      throw_error(kName,
                  "part " + std::to_string(part.index) + " of " + std::to_string(part.samples) +
                      " samples is not one of this rank's: make the loader with shards = " +
                      std::to_string(shards) + " and the same group",
                  where);
    }
    pending.push_back(part.index);
  }
  versions.clear();
  for (const auto& [name, buffer] : watched) versions.push_back(buffer.version());
  buckets->begin(samples, sync);
  losses.assign(static_cast<size_t>(own.size()), 0.0);
  total = samples;
  open = true;
  return parts;
}

DataParallel::Parts DataParallel::parts(const Batch& batch, Where where) {
  return {impl_.get(), impl_->begin(batch.parts, batch.total, where)};
}

std::vector<Part> DataParallel::Impl::parts_of(const data::Batch& whole, int64_t* total,
                                               const Where& where) const {
  if (whole.empty() || !whole[0].defined() || whole[0].rank() < 1) {
    throw_error(kName, "a batch needs a field with the samples as dimension 0", where);
  }
  const int64_t all = *total = whole[0].raw_shape()[0];
  const Shards own = shards_of(group.rank(), group.size(), shards);
  std::vector<Part> list;
  for (int index = own.begin; index < own.end; ++index) {
    const auto [begin, end] = samples_of(index, shards, all);
    if (begin == end) continue;
    Part part;
    part.index = index;
    part.samples = end - begin;
    part.total = all;
    for (const Tensor& field : whole) {
      if (field.rank() < 1 || field.raw_shape()[0] != all) {
        throw_error(kName, "the fields of a batch differ in their number of samples", where,
                    Code::kShapeMismatch);
      }
      part.fields.push_back(part.samples == all ? field
                                                : field.narrow(0, begin, end - begin, where));
    }
    part.x = part.fields[0];
    if (part.fields.size() > 1) part.y = part.fields[1];
    list.push_back(std::move(part));
  }
  return list;
}

DataParallel::Parts DataParallel::parts(const data::Batch& whole, Where where) {
  int64_t total = 0;
  std::vector<Part> list = impl_->parts_of(whole, &total, where);
  return {impl_.get(), impl_->begin(std::move(list), total, where)};
}

DataParallel::Parts::Parts(Impl* impl, std::vector<Part> list)
    : impl_(impl), list_(std::move(list)), exceptions_(std::uncaught_exceptions()) {}
DataParallel::Parts::Parts(Parts&& from) noexcept
    : impl_(std::exchange(from.impl_, nullptr)),
      list_(std::move(from.list_)),
      scope_(std::move(from.scope_)),
      exceptions_(from.exceptions_) {}
DataParallel::Parts::~Parts() {
  if (impl_ != nullptr && std::uncaught_exceptions() > exceptions_) impl_->give_up();
}

void DataParallel::Parts::enter(size_t at) {
  scope_.reset();
  if (at >= list_.size()) return;
  if (impl_->synchronized && list_.size() > 1) {
    throw Error("[data_parallel] SyncBatchNorm or stage 3: this rank has " +
                std::to_string(list_.size()) +
                " parts, which wait for each other within forward: use ddp.step(batch, [&](Part& "
                "part) { ... })");
  }
  const bool several = impl_->shards > 1;
  scope_ = std::make_unique<PartScope>(
      PartRun{impl_, &list_[at], impl_->shards,
              impl_->synchronized && several ? &impl_->lockstep : nullptr, at == 0},
      several ? &list_[at].generator : nullptr);
}

void DataParallel::run_parts(Parts parts, const std::function<void(Part&)>& f, const Where&) {
  Impl& m = *impl_;
  if (!m.synchronized || parts.size() < 2) {
    for (Part& part : parts) f(part);
    return;
  }
  m.lockstep.run(parts.list_, [&](Part& part, Meeting& meeting) {
    PartScope scope({&m, &part, m.shards, &meeting, &part == parts.list_.data()}, &part.generator);
    f(part);
  });
}

void DataParallel::backward(const Tensor& loss, const Part& part, Where where) {
  impl_->check_turn(part, where);
  const Tensor root = impl_->take_loss(loss, part, where);
  impl_->backward(loss, root, Tensor(), part, where);
}

Tensor DataParallel::Impl::take_loss(const Tensor& loss, const Part& part, const Where& where) {
  if (!loss.defined() || loss.layout().numel() != 1) {
    throw_error(kName, "the loss of a part must be a scalar", where, Code::kShapeMismatch);
  }
  const Shards own = shards_of(group.rank(), group.size(), shards);
  const double count = options.mean ? static_cast<double>(part.samples) : 1;
  losses[static_cast<size_t>(part.index - own.begin)] = loss.item(where) * count;
  const double weight =
      options.mean ? static_cast<double>(part.samples) / static_cast<double>(part.total) : 1;
  return full(loss.raw_shape(), weight, loss.dtype());
}

void DataParallel::Impl::check_turn(const Part& part, const Where& where) const {
  const PartRun* run = current_part();
  const bool waits = std::count(pending.begin(), pending.end(), part.index) == 1;
  if (open && waits && run != nullptr && run->owner == this && run->part->index == part.index)
    return;
  throw_error(kName,
              "backward of part " + std::to_string(part.index) +
                  ": once for each part, within its turn of the loop over parts(batch)",
              where);
}

Tensor DataParallel::Impl::backward(const Tensor& output, const Tensor& gradient,
                                    const Tensor& input, const Part& part, const Where& where) {
  check_turn(part, where);
  const PartRun* run = current_part();
  line = where;
  std::vector<Tensor> inputs = leaves;
  if (input.defined()) inputs.push_back(input);
  run->in_backward = true;
  const std::vector<Tensor> grads = grad({output}, inputs, {gradient}, false, false, true, where);
  run->in_backward = false;
  const std::vector<size_t> unused = buckets->end_part(part.index, where);
  if (!unused.empty() && !options.find_unused) {
    fail("no gradient for " + names_of(parameters, unused) + " in part " +
             std::to_string(part.index) + ": freeze what the loss does not use, or set find_unused",
         where);
  }
  // Behind backward, which knows better where a NaN is that stage 3 gave.
  const Shards own = shards_of(group.rank(), group.size(), shards);
  const double value = losses[static_cast<size_t>(part.index - own.begin)];
  if (options.check_loss && !std::isfinite(value)) {
    fail("the loss of part " + std::to_string(part.index) + " is " + std::to_string(value) +
             ": look for its first op by anomaly mode, or set check_loss = false",
         where);
  }
  std::erase(pending, part.index);
  return input.defined() ? grads.back() : Tensor();
}

// Returns the batch's loss: the parts' by the tree, so that all ranks have the same bits.
double DataParallel::Impl::loss_of_all(const Where& where) {
  const auto block = static_cast<size_t>((shards + group.size() - 1) / group.size());
  std::vector<double> mine(block), all(block * static_cast<size_t>(group.size()));
  std::copy(losses.begin(), losses.end(), mine.begin());
  Call call;
  call.dtype = DType::kF64;
  call.count = static_cast<int64_t>(block);
  call.name = "loss";
  call.where = where;
  group.communicator().all_gather(call, mine.data(), all.data(), nullptr).wait();
  std::vector<Shards> pieces;
  std::vector<const void*> values;
  for (int rank = 0; rank < group.size(); ++rank) {
    const Shards own = shards_of(rank, group.size(), shards);
    for (int s = own.begin; s < own.end; ++s) {
      pieces.push_back({s, s + 1});
      values.push_back(
          &all[static_cast<size_t>(rank) * block + static_cast<size_t>(s - own.begin)]);
    }
  }
  double sum = 0;
  TreeSum(shards, pieces).run(values, &sum, 1, DType::kF64, ReduceOp::kSum);
  return options.mean ? sum / static_cast<double>(total) : sum;
}

std::vector<bool> DataParallel::Impl::used_by_any(const Where& where) {
  std::vector<uint8_t> flags(parameters.size(), 1);
  if (options.find_unused) {
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = buckets->used(i) ? 1 : 0;
    Call call;
    call.dtype = DType::kU8;
    call.count = static_cast<int64_t>(flags.size());
    call.op = ReduceOp::kMax;
    call.name = "used parameters";
    call.where = where;
    group.communicator().all_reduce(call, {.inputs = {flags.data()}}, flags.data(), nullptr).wait();
  }
  return {flags.begin(), flags.end()};
}

void DataParallel::Impl::check_buffers(const Where& where) {
  for (size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].second.version() == versions[i]) continue;
    fail("the forward of a part wrote the buffer '" + watched[i].first +
             "', which then differs between ranks: of several parts only SyncBatchNorm may",
         where);
  }
}

double DataParallel::finish(Where where) {
  Impl& m = *impl_;
  if (!m.open) throw_error(kName, "finish() without a batch: call parts(batch) first", where);
  if (!m.pending.empty()) {
    m.fail("part " + std::to_string(m.pending[0]) + " had no backward before finish()", where);
  }
  m.check_buffers(where);
  m.open = false;
  if (!m.sync) return 0;
  m.buckets->finish(where);
  const std::vector<bool> used = m.used_by_any(where);
  const double loss = m.loss_of_all(where);
  m.deliver(used, where);
  m.buckets->clear();
  return loss;
}

DataParallel::NoSync::NoSync(DataParallel* ddp) : ddp_(ddp), before_(ddp->impl_->sync) {
  ddp->impl_->sync = false;
}
DataParallel::NoSync::~NoSync() { ddp_->impl_->sync = before_; }

std::map<std::string, std::string> DataParallel::metadata() const {
  return {{kShardsKey, std::to_string(impl_->shards)}};
}

void DataParallel::check_metadata(const std::map<std::string, std::string>& metadata,
                                  Where where) const {
  const auto it = metadata.find(kShardsKey);
  const std::string before = it == metadata.end() ? "1" : it->second;
  if (before == std::to_string(impl_->shards)) return;
  throw_error(kName,
              "the checkpoint was trained with shards = " + before + ", this run has " +
                  std::to_string(impl_->shards) + ": its results would differ",
              where);
}

}  // namespace wick::distributed
