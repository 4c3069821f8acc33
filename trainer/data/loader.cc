#include "trainer/data/loader.h"

#include <algorithm>

#include "runtime/core/int_math.h"
#include "trainer/data/loader_parts.h"
#include "trainer/data/read_time.h"

namespace wick::data {
namespace {

std::string place(LoaderPosition at) {
  return "[data_loader] epoch " + std::to_string(at.epoch) + ", batch " + std::to_string(at.batch) +
         ": ";
}

// Calls f() and puts `prefix` before the text of what it throws.
template <class F, class P>
auto named(const P& prefix, const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(prefix() + e.what(), e.code());
  } catch (const std::exception& e) {
    throw Error(prefix() + e.what());
  } catch (...) {
    throw Error(prefix() + "an exception that is no std::exception");
  }
}

}  // namespace

void DataLoader::check(const Where& where) const {
  const LoaderOptions& o = options_;
  auto refuse = [&](const std::string& text) { throw_error("data_loader", text, where); };
  if (o.batch_size < 1) refuse("batch_size " + std::to_string(o.batch_size));
  if (o.workers < 0 || o.workers > 256 || o.prefetch < 1 || o.prefetch > 65536) {
    refuse("workers " + std::to_string(o.workers) + " (0 to 256), prefetch " +
           std::to_string(o.prefetch) + " (at least 1)");
  }
  if (o.world < 1 || o.rank < 0 || o.rank >= o.world) {
    refuse("rank " + std::to_string(o.rank) + " of " + std::to_string(o.world));
  }
  if (stream_) {
    if (o.shuffle) refuse("a stream has no order to shuffle: use ShuffleBuffer");
    if (o.sampler || o.batch_sampler) refuse("a stream cannot be sampled: it has no numbers");
    return;
  }
  if (o.world != 1) refuse("rank and world are a stream's: a Dataset takes a DistributedSampler");
  if (o.sampler && o.shuffle) refuse("sampler and shuffle exclude each other");
  if (o.batch_sampler && (o.batch_size != 1 || o.shuffle || o.sampler || o.drop_last)) {
    refuse("batch_sampler excludes batch_size, shuffle, sampler and drop_last");
  }
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
                       Where where)
    : dataset_(std::move(dataset)), options_(options) {
  if (!dataset_) throw_error("data_loader", "no data set", where);
  check(where);
  if (dataset_->size() < 1) throw_error("data_loader", "the data set is empty", where);
  int64_t b = options_.batch_size;
  if (options_.batch_sampler) {
    batches_ = options_.batch_sampler->size();
    items_ = 0;
    for (const auto& batch : options_.batch_sampler->batches(0)) {
      items_ += static_cast<int64_t>(batch.size());
    }
  } else {
    int64_t n = options_.sampler ? options_.sampler->size() : dataset_->size();
    batches_ = options_.drop_last ? n / b : ceil_div(n, b);
    items_ = options_.drop_last ? batches_ * b : n;
  }
  if (batches_ < 1) {
    throw_error("data_loader",
                options_.drop_last ? "no batch: drop_last, batch_size " + std::to_string(b) +
                                         " and fewer items than that"
                                   : std::string("no batch: the sampler gives no items"),
                where);
  }
}

DataLoader::DataLoader(std::shared_ptr<const IterableDataset> dataset, const LoaderOptions& options,
                       Where where)
    : stream_(std::move(dataset)), options_(options) {
  if (!stream_) throw_error("data_loader", "no data set", where);
  check(where);
  int64_t n = stream_->size();
  if (n < 0) return;
  n = n > options_.rank ? ceil_div(n - options_.rank, options_.world) : 0;
  batches_ = options_.drop_last ? n / options_.batch_size : ceil_div(n, options_.batch_size);
  items_ = options_.drop_last ? batches_ * options_.batch_size : n;
}

DataLoader::~DataLoader() = default;

const Dataset& DataLoader::dataset() const {
  if (!dataset_) throw Error("[data_loader] a stream of items has no numbered data set");
  return *dataset_;
}

int64_t DataLoader::dataset_size() const { return stream_ ? stream_->size() : dataset_->size(); }

std::shared_ptr<DataLoader::Epoch> DataLoader::open_epoch(LoaderPosition at) const {
  auto epoch = std::make_shared<Epoch>();
  epoch->number = static_cast<uint64_t>(at.epoch);
  epoch->first_batch = epoch->make_next = at.batch;
  if (stream_) {
    epoch->stream = stream_->open(epoch->number);
    return epoch;
  }
  size_t expected = static_cast<size_t>(batches_), got = expected;
  if (options_.batch_sampler) {
    epoch->batches = options_.batch_sampler->batches(epoch->number);
    got = epoch->batches.size();
  } else if (options_.sampler) {
    epoch->order = options_.sampler->indices(epoch->number);
    expected = static_cast<size_t>(options_.sampler->size());
    got = epoch->order.size();
  } else if (options_.shuffle) {
    epoch->order = epoch_permutation(dataset_->size(), options_.seed, epoch->number);
  } else {
    epoch->order = SequentialSampler(dataset_->size()).indices(0);
  }
  if (got != expected) {
    throw Error("[data_loader] epoch " + std::to_string(at.epoch) + ": the sampler gave " +
                std::to_string(got) + " of the " + std::to_string(expected) + " it announced");
  }
  return epoch;
}

bool DataLoader::claim(Epoch& epoch, LoaderPosition at, Work& work) const {
  work.at = at;
  auto b = static_cast<size_t>(options_.batch_size);
  if (!stream_) {
    if (at.batch >= batches_) return false;
    if (options_.batch_sampler) {
      work.items = epoch.batches[static_cast<size_t>(at.batch)];
      return true;
    }
    size_t first = static_cast<size_t>(at.batch) * b;
    size_t last = std::min(epoch.order.size(), first + b);
    work.items.assign(epoch.order.begin() + static_cast<int64_t>(first),
                      epoch.order.begin() + static_cast<int64_t>(last));
    return true;
  }
  MakeScope time;
  auto next = [&](Pending& item) {
    return named([&] { return place(at) + "item " + std::to_string(epoch.items_read) + ": "; },
                 [&] {
                   for (;;) {
                     if (!epoch.stream->next(item)) return false;
                     if (epoch.items_read++ % options_.world == options_.rank) return true;
                   }
                 });
  };
  Pending item;
  if (!epoch.skipped) {
    // Skipped items are read but never made.
    for (int64_t skip = epoch.first_batch * options_.batch_size; skip > 0; --skip) {
      if (!next(item)) return false;
    }
    epoch.skipped = true;
  }
  while (work.pending.size() < b && next(item)) {
    work.items.push_back(epoch.items_read - 1);
    work.pending.push_back(std::move(item));
  }
  if (work.pending.empty() && at == LoaderPosition{at.epoch, 0}) {
    throw Error("[data_loader] epoch " + std::to_string(at.epoch) + ": the stream gave no items");
  }
  return work.pending.size() == b || (!work.pending.empty() && !options_.drop_last);
}

Batch DataLoader::make(const Work& work) const {
  MakeScope time;
  EpochScope epoch(static_cast<uint64_t>(work.at.epoch));
  NoGrad guard;
  Span<const int64_t> numbers{work.items.data(), work.items.size()};
  return named([&] { return place(work.at); },
               [&] {
                 if (work.items.empty()) throw Error("the batch sampler gave a batch of no items");
                 if (!stream_ && !options_.collate) return dataset_->get_batch(numbers);
                 std::vector<Item> items;
                 items.reserve(work.items.size());
                 for (size_t i = 0; i < work.items.size(); ++i) {
                   items.push_back(
                       stream_
                           ? named([&] { return "item " + std::to_string(work.items[i]) + ": "; },
                                   [&] { return work.pending[i](); })
                           : dataset_->get_named(work.items[i]));
                 }
                 return options_.collate ? options_.collate(items) : stack_items(items, numbers);
               });
}

bool DataLoader::next(Batch& batch) {
  bool more = dataset_ == nullptr || position_.batch < batches_;
  try {
    if (more && !epoch_) {
      epoch_ = open_epoch(position_);
      if (options_.workers > 0) {
        if (!pipeline_) {
          pipeline_ = std::make_unique<Pipeline>(*this, options_.workers, options_.prefetch);
        }
        pipeline_->restart(epoch_);
      }
    }
    if (more && pipeline_) {
      more = pipeline_->take(position_, batch);
    } else if (more) {
      Work work;
      more = claim(*epoch_, position_, work);
      if (more) batch = make(work);
    }
  } catch (...) {
    epoch_.reset();  // a retry makes the batch again
    throw;
  }
  if (more) {
    ++position_.batch;
    return true;
  }
  position_ = {position_.epoch + 1, 0};
  epoch_.reset();
  if (!options_.persistent_workers) pipeline_.reset();
  return false;
}

std::vector<int64_t> DataLoader::items_of(LoaderPosition at) const {
  Work work;
  if (!stream_) {
    claim(*open_epoch(at), at, work);
    return work.items;
  }
  for (int64_t i = 0; i < options_.batch_size; ++i) {
    work.items.push_back((at.batch * options_.batch_size + i) * options_.world + options_.rank);
  }
  return work.items;
}

void DataLoader::seek(LoaderPosition position, Where where) {
  if (position.epoch < 0 || position.batch < 0 || (batches_ >= 0 && position.batch > batches_)) {
    throw_error("data_loader",
                "no batch " + std::to_string(position.batch) + " in an epoch of " +
                    std::to_string(batches_),
                where);
  }
  position_ = position;
  in_loop_ = false;
  epoch_.reset();
}

}  // namespace wick::data
