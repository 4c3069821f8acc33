#include "tools/wick/worker_times.h"

#include "tools/lib/now_ms.h"
#include "tools/wick/first_batch.h"
#include "trainer/data/image/images.h"
#include "trainer/data/loader.h"
#include "trainer/tensor/ops.h"

namespace wick::tool {
namespace {

constexpr int kBatches = 24;  // that are timed, behind the first ones
constexpr int kUntimed = 4;   // which start the workers and make the optimizer's state

// Returns the items a second of `use` on each batch; the data begin anew as often as they must.
template <class F>
double items_per_second(data::DataLoader& loader, const F& use) {
  int64_t items = 0;
  double begin = 0;
  data::Batch batch;
  for (int i = 0; i < kUntimed + kBatches; ++i) {
    if (i == kUntimed) begin = now_ms();
    if (!loader.next(batch) && !loader.next(batch)) throw Error("[report] the run's data is empty");
    use(batch);
    if (i >= kUntimed) items += batch.at(0).raw_shape()[0];
  }
  return static_cast<double>(items) / (now_ms() - begin) * 1e3;
}

}  // namespace

std::vector<WorkerTimes> worker_times(const std::string& run, int most) {
  FirstBatchOptions options;
  options.run = run;
  const FirstBatch first = first_batch(options);
  const data::ImageData images = data::open_images(first.data);
  std::vector<int> counts = {0};
  for (int w = 1; w < most; w *= 2) counts.push_back(w);
  if (most > 0) counts.push_back(most);
  std::vector<WorkerTimes> times;
  for (int workers : counts) {
    data::LoaderOptions reading;
    reading.batch_size = first.config->batch;
    reading.shuffle = true;
    reading.workers = workers;
    WorkerTimes t;
    t.workers = workers;
    {
      data::DataLoader loader(images.train, reading);
      t.reading = items_per_second(loader, [](const data::Batch&) {});
    }
    const std::unique_ptr<optim::Optimizer> optimizer = first_optimizer(first, *first.module);
    data::DataLoader loader(images.train, reading);
    t.training = items_per_second(loader, [&](const data::Batch& batch) {
      optimizer->zero_grad();
      cross_entropy((*first.module)(batch.at(0)), batch.at(1)).backward();
      optimizer->step();
    });
    times.push_back(t);
  }
  return times;
}

}  // namespace wick::tool
