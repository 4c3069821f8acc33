#include "trainer/data/iterable.h"

namespace wick::data {
namespace {

class Generated : public IterableDataset {
 public:
  explicit Generated(std::function<std::function<Item()>(uint64_t)> start)
      : start_(std::move(start)) {}
  std::unique_ptr<ItemStream> open(uint64_t epoch) const override {
    struct Stream : ItemStream {
      std::function<Item()> make;
      bool next(Pending& item) override {
        Item made = make();
        if (made.empty()) return false;
        item = [made = std::move(made)] { return made; };
        return true;
      }
    };
    auto stream = std::make_unique<Stream>();
    stream->make = start_(epoch);
    return stream;
  }

 private:
  std::function<std::function<Item()>(uint64_t)> start_;
};

class Buffered : public ItemStream {
 public:
  Buffered(std::unique_ptr<ItemStream> from, int64_t size, const Draws& draws)
      : from_(std::move(from)), size_(static_cast<size_t>(size)), draws_(draws) {}
  bool next(Pending& item) override {
    Pending read;
    while (!ended_ && waiting_.size() < size_) {
      if (from_->next(read)) {
        waiting_.push_back(std::move(read));
      } else {
        ended_ = true;
      }
    }
    if (waiting_.empty()) return false;
    auto at = static_cast<size_t>(draws_.below(static_cast<int64_t>(waiting_.size())));
    item = std::move(waiting_[at]);
    waiting_[at] = std::move(waiting_.back());
    waiting_.pop_back();
    return true;
  }

 private:
  std::unique_ptr<ItemStream> from_;
  size_t size_;
  Draws draws_;
  std::vector<Pending> waiting_;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<IterableDataset> generate(
    std::function<std::function<Item()>(uint64_t epoch)> start) {
  return std::make_shared<Generated>(std::move(start));
}

ShuffleBuffer::ShuffleBuffer(std::shared_ptr<const IterableDataset> dataset, int64_t buffer_size,
                             uint64_t seed, Where where)
    : dataset_(std::move(dataset)), buffer_size_(buffer_size), seed_(seed) {
  if (!dataset_) throw_error("shuffle_buffer", "no data set", where);
  if (buffer_size < 1) {
    throw_error("shuffle_buffer", "buffer_size " + std::to_string(buffer_size), where);
  }
}
std::unique_ptr<ItemStream> ShuffleBuffer::open(uint64_t epoch) const {
  return std::make_unique<Buffered>(dataset_->open(epoch), buffer_size_,
                                    Draws(seed_, Draws::kBuffer, epoch));
}

}  // namespace wick::data
