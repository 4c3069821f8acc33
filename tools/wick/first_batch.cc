#include "tools/wick/first_batch.h"

#include "trainer/data/image/images.h"
#include "trainer/data/loader.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/philox.h"

namespace wick::tool {

std::shared_ptr<nn::Module> first_module(const FirstBatchOptions& options) {
  std::shared_ptr<nn::Module> module;
  if (!options.run.empty()) module = loop::load_trained(options.run).module;
  manual_seed(options.seed);
  if (!module) module = nn::make_model(options.model);
  module->train();
  return module;
}

FirstBatch first_batch(const FirstBatchOptions& options) {
  FirstBatch first;
  first.model = options.model;
  first.data = options.data.empty() ? "fashion-mnist" : options.data;
  if (!options.run.empty()) {
    first.config = loop::load_trained(options.run).config;
    first.model = first.config->model;
    if (options.data.empty()) first.data = first.config->data;
  }
  first.module = first_module(options);
  data::ImageData images = data::open_images(first.data);
  data::LoaderOptions reading;
  reading.batch_size = options.batch;
  reading.shuffle = true;
  reading.seed = options.seed;
  data::DataLoader loader(images.train, reading);
  data::Batch batch;
  if (!loader.next(batch)) throw Error("[wick] " + first.data + " has no images");
  first.images = batch.at(0);
  first.labels = batch.at(1);
  return first;
}

std::unique_ptr<optim::Optimizer> first_optimizer(const FirstBatch& first, nn::Module& module) {
  const Where here = Where::current();
  const auto parameters = module.parameters();
  if (!first.config) return loop::make_optimizer("sgd", parameters, 0.01, 0, here);
  return loop::make_optimizer(first.config->optimizer, parameters, first.config->lr,
                              first.config->weight_decay, here);
}

void accept_batch(Command command, FirstBatchOptions* options) {
  command.add_option("--data", options->data,
                     "fashion-mnist, mnist, tinydigits, or a folder of IDX files (default: the "
                     "run's own, of a new model fashion-mnist)");
  command.add_option("--batch", options->batch, "images looked at").at_least(1);
  command.add_option("--seed", options->seed, "of weights and of the choice of images");
}

}  // namespace wick::tool
