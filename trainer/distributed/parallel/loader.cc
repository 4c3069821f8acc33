#include "trainer/distributed/parallel/loader.h"

#include "trainer/distributed/comm/tree.h"

namespace wick::distributed {

PartBatches::PartBatches(std::shared_ptr<const data::Batches> batches, int rank, int ranks,
                         int shards, Where where)
    : batches_(std::move(batches)), shards_(shards) {
  if (rank < 0 || rank >= ranks || ranks > shards) {
    throw_error("part_batches",
                "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " with " +
                    std::to_string(shards) + " shards: there must be a shard for every rank",
                where);
  }
  const Shards own = shards_of(rank, ranks, shards);
  for (const std::vector<int64_t>& batch : batches_->batches(0)) {
    Step step{static_cast<int64_t>(batch.size()), {}};
    for (int index = own.begin; index < own.end; ++index) {
      const auto [begin, end] = samples_of(index, shards, step.total);
      if (begin == end) continue;
      Part part;
      part.index = index;
      part.samples = end - begin;
      part.total = step.total;
      step.parts.push_back(std::move(part));
    }
    size_ += static_cast<int64_t>(step.parts.size());
    steps_.push_back(std::move(step));
  }
}

std::vector<std::vector<int64_t>> PartBatches::batches(uint64_t epoch) const {
  std::vector<std::vector<int64_t>> mine;
  const std::vector<std::vector<int64_t>> all = batches_->batches(epoch);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= steps_.size() || steps_[i].total != static_cast<int64_t>(all[i].size())) {
      throw Error("[part_batches] epoch " + std::to_string(epoch) +
                  " has batches of other sizes than epoch 0");
    }
    for (const Part& part : steps_[i].parts) {
      const auto [begin, end] = samples_of(part.index, shards_, part.total);
      mine.emplace_back(all[i].begin() + begin, all[i].begin() + end);
    }
  }
  return mine;
}

Loader::Loader(std::shared_ptr<const data::Dataset> dataset, const Group& group,
               const LoaderOptions& o, Where where) {
  if (!dataset || dataset->size() < 1) throw_error("loader", "the data set is empty", where);
  if (o.sampler && o.shuffle)
    throw_error("loader", "sampler and shuffle exclude each other", where);
  std::shared_ptr<const data::Sampler> sampler = o.sampler;
  if (!sampler && o.shuffle) {
    sampler =
        std::make_shared<data::RandomSampler>(dataset->size(), false, std::nullopt, o.seed, where);
  }
  if (!sampler) sampler = std::make_shared<data::SequentialSampler>(dataset->size(), where);
  auto global =
      std::make_shared<data::BatchSampler>(std::move(sampler), o.batch_size, o.drop_last, where);
  if (global->size() < 1) throw_error("loader", "no batch: drop_last and few samples", where);
  parts_ = std::make_shared<PartBatches>(std::move(global), group.rank(), group.size(),
                                         o.shards > 0 ? o.shards : group.size(), where);
  if (parts_->size() == 0) return;
  data::LoaderOptions mine;
  mine.batch_sampler = parts_;
  mine.workers = o.workers;
  mine.prefetch = o.prefetch;
  mine.collate = o.collate;
  loader_ = std::make_unique<data::DataLoader>(std::move(dataset), mine, where);
}

bool Loader::next(Batch& batch) {
  if (position_.batch >= batches()) {
    position_ = {position_.epoch + 1, 0};
    return false;
  }
  const PartBatches::Step& step = parts_->steps()[static_cast<size_t>(position_.batch)];
  batch = {step.total, step.parts};
  for (Part& part : batch.parts) {
    // The loader ends an epoch by a call that gives nothing.
    if (!loader_->next(part.fields)) loader_->next(part.fields);
    if (!part.fields.empty()) part.x = part.fields[0];
    if (part.fields.size() > 1) part.y = part.fields[1];
  }
  ++position_.batch;
  return true;
}

void Loader::seek(data::LoaderPosition position, Where where) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches()) {
    throw_error(
        "loader",
        "seek to batch " + std::to_string(position.batch) + " of " + std::to_string(batches()),
        where);
  }
  int64_t before = 0;
  for (int64_t i = 0; i < position.batch; ++i) {
    before += static_cast<int64_t>(parts_->steps()[static_cast<size_t>(i)].parts.size());
  }
  if (loader_) loader_->seek({position.epoch, before}, where);
  position_ = position;
  in_loop_ = false;
}

}  // namespace wick::distributed
