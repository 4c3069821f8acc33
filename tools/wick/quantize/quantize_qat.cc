#include "tools/wick/quantize/quantize_qat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "quantize/qat/qat_module.h"
#include "trainer/data/datasets.h"
#include "trainer/data/image/images.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/loop/trainer.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// ByteImages are images as bytes: the normalisation is in the graph.
class ByteImages : public data::Dataset {
 public:
  explicit ByteImages(std::shared_ptr<const data::ImageDataset> from) : from_(std::move(from)) {}
  int64_t size() const override { return from_->size(); }

  data::Batch get_batch(Span<const int64_t> indices) const override {
    const data::HostArray &images = from_->images(), &labels = from_->labels();
    const auto rows = static_cast<int64_t>(indices.size()), area = images.numel() / size();
    Tensor x = empty({rows, 1, images.shape[1], images.shape[2]}, DType::kU8);
    Tensor y = empty({rows}, DType::kI64);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t index = indices[static_cast<size_t>(r)];
      check_index(index);
      std::memcpy(static_cast<uint8_t*>(x.raw().data) + r * area,
                  images.as<uint8_t>() + index * area, static_cast<size_t>(area));
      static_cast<int64_t*>(y.raw().data)[r] = labels.as<uint8_t>()[index];
    }
    return {x, y};
  }
  data::Item get(int64_t index) const override {
    data::Batch b = get_batch({&index, 1});
    return {b[0].reshape({1, from_->images().shape[1], from_->images().shape[2]}),
            b[1].reshape(Shape())};
  }

 private:
  std::shared_ptr<const data::ImageDataset> from_;
};

}  // namespace

QatTrained train_quantized(const ir::Graph& graph, const QatRun& run) {
  const data::ImageData images = data::open_images(run.data);
  set_num_threads(run.threads);
  manual_seed(run.seed);
  quantize::QatOptions options;
  options.recipe = run.recipe;
  options.learn_scales = run.learn_scales;
  options.observer_epochs = options.batch_norm_epochs =
      static_cast<int>(std::max<int64_t>(1, run.epochs - 1));
  quantize::QatModule net(graph, options);

  data::LoaderOptions reading;
  reading.batch_size = run.batch;
  reading.shuffle = true;
  reading.seed = run.seed;
  reading.workers = 1;
  std::shared_ptr<const data::Dataset> trained = std::make_shared<ByteImages>(images.train);
  std::optional<data::DataLoader> validation;
  if (run.val_split > 0) {  // the same split as loop::run_training()
    const int64_t n = trained->size();
    const auto held = std::llround(run.val_split * static_cast<double>(n));
    const auto parts = data::random_split(trained, std::vector<int64_t>{n - held, held}, run.seed);
    trained = parts[0];
    data::LoaderOptions testing;
    testing.batch_size = 250;
    validation.emplace(parts[1], testing);
  }
  data::DataLoader train(trained, reading);
  const auto optimizer = loop::make_optimizer("sgd", net.parameters(), run.lr, 0, Where::current());
  const auto schedule =
      loop::make_schedule("cosine", *optimizer, run.epochs * train.batches(), 0, Where::current());
  loop::Trainer trainer(
      net, *optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      schedule.get());
  loop::FitOptions fit;
  fit.epochs = run.epochs;
  fit.progress = run.progress;
  fit.handle_interrupt = false;  // nothing is saved before the end
  int epoch = 0;
  net.train_epoch(epoch);
  QatTrained result;
  fit.on_epoch = [&](const loop::EpochMetrics& m) {
    if (validation) result.validation.push_back(m.val_accuracy);
    net.train_epoch(++epoch);
  };
  trainer.fit(train, validation ? &*validation : nullptr, fit);
  net.eval();
  result.images = trained->size();
  result.graph = net.convert();
  result.unrounded = net.unrounded();
  return result;
}

}  // namespace wick::tool
