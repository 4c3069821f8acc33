#include "trainer/distributed/pipeline/pipeline.h"

#include <chrono>
#include <cstdio>
#include <optional>

#include "trainer/distributed/parallel/data_parallel_impl.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr const char* kPipeline = "pipeline";
// What goes before an activation: its dtype, rank and sizes, and the generator of the part, whose
// draws go on in the next stage.
constexpr int64_t kHeaderWords = 4 + kMaxRank;

DataParallelOptions options_of(const PipelineOptions& o, const Group& pipe, const Group& data,
                               const Where& where) {
  DataParallelOptions d;
  d.shards = o.shards > 0 ? o.shards : 2 * pipe.size() * data.size();
  d.bucket_bytes = o.bucket_bytes;
  d.mean = o.mean;
  d.check_loss = o.check_loss;
  if (pipe.size() > 1 && d.shards < 2) {
    throw_error(kPipeline, "one micro-batch for " + std::to_string(pipe.size()) + " stages", where);
  }
  return d;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// A part on its way through this stage.
struct Pipeline::MicroBatch {
  Part part;
  Generator before;  // of the part, before this stage's forward
  bool first_of_rank;
  Tensor input, output;  // output: of the last stage the loss; undefined under checkpointing
  Tensor root;           // of the last stage: the gradient of the loss
};

Pipeline::Pipeline(nn::Module& stage, const Group& pipe, const Group& data,
                   const PipelineOptions& options, Where where)
    : DataParallel(stage, data, options_of(options, pipe, data, where), where),
      pipe_(Group(pipe).split(0, pipe.rank(), kPipeline, where)),
      options_(options) {
  if (impl_->synchronized) {
    throw_error(kPipeline, "SyncBatchNorm needs all parts at once, which a pipeline has not", where,
                Code::kUnsupported);
  }
}

std::string Pipeline::Report::text() const {
  char text[200];
  snprintf(text, sizeof text,
           "%d stages, %zu micro-batches, %s: bubble %.1f %% = (%d - 1) / (%zu + %d - 1); waited "
           "%.1f %%; at most %zu in flight",
           stages, micro_batches, to_text(schedule), 100 * bubble, stages, micro_batches, stages,
           100 * waited, in_flight);
  return text;
}

double Pipeline::step(const Batch& batch, const Loss& loss, Where where) {
  return run(batch.parts, batch.total, loss, where);
}

double Pipeline::step(const data::Batch& whole, const Loss& loss, Where where) {
  int64_t total = 0;
  std::vector<Part> parts = impl_->parts_of(whole, &total, where);
  return run(std::move(parts), total, loss, where);
}

Tensor Pipeline::receive_activation(MicroBatch& m, const Where& where) {
  const int from = pipe_.rank() - 1;
  const std::string part = " of part " + std::to_string(m.part.index);
  const Tensor header = new_tensor(Shape{kHeaderWords}, DType::kI64, where);
  pipe_.recv(header, from, {.name = "header" + part}, where);
  const auto* words = header.data<int64_t>();
  const Shape shape = to_shape(Span<const int64_t>(words + 4, static_cast<size_t>(words[1])));
  m.part.generator = {static_cast<uint64_t>(words[2]), static_cast<uint64_t>(words[3])};
  const Tensor x = new_tensor(shape, static_cast<DType>(words[0]), where);
  pipe_.recv(x, from, {.name = "activation" + part}, where);
  return x;
}

void Pipeline::send_activation(MicroBatch& m, const Tensor& y, const Where& where) {
  const Tensor dense = y.detach().contiguous(where);
  if (!is_float(dense.dtype())) {
    throw_error(
        kPipeline,
        std::string("a stage gave ") + dtype_name(dense.dtype()) + ": the next one needs floats",
        where, Code::kTypeMismatch);
  }
  const Tensor header = full({kHeaderWords}, 0, DType::kI64);
  auto* words = header.mutable_data<int64_t>();
  words[0] = static_cast<int64_t>(dense.dtype());
  words[1] = dense.rank();
  words[2] = static_cast<int64_t>(m.part.generator.seed);
  words[3] = static_cast<int64_t>(m.part.generator.stream);
  for (int i = 0; i < dense.rank(); ++i) words[4 + i] = dense.raw_shape()[i];
  const std::string part = " of part " + std::to_string(m.part.index);
  for (const auto& [t, name] : {std::pair(header, "header"), std::pair(dense, "activation")}) {
    under_way_.emplace_back(t, pipe_.send_async(t, pipe_.rank() + 1, {.name = name + part}, where));
  }
}

void Pipeline::forward(MicroBatch& m, const Loss& loss, const Where& where) {
  m.input = first() ? m.part.x : receive_activation(m, where);
  if (!first()) m.input.requires_grad_();
  m.before = m.part.generator;
  // With checkpointing the last stage runs its forward once, right before its backward.
  if (options_.checkpoint && last()) return;
  const bool several = impl_->shards > 1;
  PartScope scope({impl_.get(), &m.part, impl_->shards, nullptr, m.first_of_rank},
                  several ? &m.part.generator : nullptr);
  std::optional<NoGrad> off;
  if (options_.checkpoint) off.emplace();
  const Tensor y = impl_->net({m.input, where});
  if (last()) {
    m.output = loss(y, m.part);
    m.root = impl_->take_loss(m.output, m.part, where);
    return;
  }
  send_activation(m, y, where);
  if (!options_.checkpoint) m.output = y;
}

void Pipeline::backward(MicroBatch& m, const Loss& loss, const Where& where) {
  const std::string name = "gradient of part " + std::to_string(m.part.index);
  m.part.generator = m.before;
  PartScope scope({impl_.get(), &m.part, impl_->shards, nullptr, m.first_of_rank},
                  impl_->shards > 1 ? &m.part.generator : nullptr);
  if (options_.checkpoint) {
    const Tensor y = impl_->net({m.input, where});
    m.output = last() ? loss(y, m.part) : y;
    if (last()) m.root = impl_->take_loss(m.output, m.part, where);
  }
  if (!last()) {
    m.root = new_tensor(m.output.raw_shape(), m.output.dtype(), where);
    pipe_.recv(m.root, pipe_.rank() + 1, {.name = name}, where);
  }
  Tensor into = impl_->backward(m.output, m.root, first() ? Tensor() : m.input, m.part, where);
  if (!first()) {
    into = into.defined() ? into.contiguous(where) : zeros(m.input.raw_shape(), m.input.dtype());
    under_way_.emplace_back(into, pipe_.send_async(into, pipe_.rank() - 1, {.name = name}, where));
  }
  m = {};  // nothing of it is needed any more
}

double Pipeline::run(std::vector<Part> list, int64_t total, const Loss& loss, const Where& where) {
  const double began = seconds_now(), waited = pipe_.traffic().waited_s;
  std::vector<Part> parts = impl_->begin(std::move(list), total, where);
  std::vector<MicroBatch> batches(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    batches[i].part = std::move(parts[i]);
    batches[i].first_of_rank = i == 0;
  }
  const std::vector<PipeStep> steps =
      pipe_steps(options_.schedule, pipe_.rank(), pipe_.size(), batches.size());
  try {
    for (const PipeStep& step : steps) {
      MicroBatch& m = batches[step.micro_batch];
      step.forward ? forward(m, loss, where) : backward(m, loss, where);
      std::erase_if(under_way_, [](const auto& message) { return message.second.done(); });
    }
  } catch (...) {
    impl_->give_up();
    under_way_.clear();
    throw;
  }
  const double ended = seconds_now();
  report_ = {options_.schedule,
             pipe_.size(),
             batches.size(),
             most_in_flight(steps),
             bubble_of(pipe_.size(), batches.size()),
             (pipe_.traffic().waited_s - waited) / (ended - began)};
  for (const auto& [t, handle] : under_way_) handle.wait();
  under_way_.clear();
  const Tensor value = full({1}, finish(where), DType::kF64);
  pipe_.broadcast(value, pipe_.size() - 1, {.name = "loss"}, where);
  return value.item(where);
}

// The number of this rank's file: ranks of one stage and one part of its split layers have one.
int Pipeline::file_of(const Group& world, int* files, const Where& where) {
  Group all = world, data = impl_->group;
  const Tensor writes = full({1}, data.rank() == 0 ? 1 : 0, DType::kI64);
  const std::vector<int64_t> flags =
      all.all_gather(writes, {.name = "files of a checkpoint"}, where).to_vector<int64_t>();
  int64_t before = 0;
  *files = 0;
  for (size_t rank = 0; rank < flags.size(); ++rank) {
    if (rank < static_cast<size_t>(world.rank())) before += flags[rank];
    *files += static_cast<int>(flags[rank]);
  }
  const Tensor number = full({1}, static_cast<double>(before), DType::kI64);
  data.broadcast(number, 0, {.name = "number of a file"}, where);
  return static_cast<int>(number.item(where));
}

void Pipeline::save(const Group& world, const std::string& folder,
                    const optim::Optimizer& optimizer, const Notes& notes, Where where) {
  int files = 0;
  const int number = file_of(world, &files, where);
  Snapshot s = snapshot(optimizer);
  s.file = shard_file(number, files);
  for (const auto& [name, text] : notes) s.metadata[kNotePrefix + name] = text;
  Group all = world;
  write_checkpoint(
      all, folder, std::move(s),
      [&](const std::string& text) {
        if (all.size() == 1) throw_error(kPipeline, text, where);
        all.fail(std::string("[") + kPipeline + "] " + text, where);
      },
      where);
}

Notes Pipeline::load(const Group& world, const std::string& folder, optim::Optimizer& optimizer,
                     Where where) {
  int files = 0, found = 0;
  const int number = file_of(world, &files, where);
  const std::string place = checkpoint_folder(folder, &found, where);
  if (found != files) {
    throw_error(kPipeline,
                place + " has " + std::to_string(found) +
                    " files, of stages and split layers; "
                    "this job has " +
                    std::to_string(files) + " of them",
                where);
  }
  Group all = world;
  const Notes notes = load_file(place + "/" + shard_file(number, files), optimizer, &all, where);
  all.barrier({.name = "checkpoint read"}, where);
  return notes;
}

}  // namespace wick::distributed
