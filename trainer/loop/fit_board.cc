#include "trainer/loop/fit_board.h"

#include "trainer/autograd/sparse_slot.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::loop {
namespace {

// Gradients of a step that float16 skipped may all be infinite.
void add_finite(board::SummaryWriter& to, const std::string& tag, const Tensor& values,
                int64_t step, const Where& where) {
  const Tensor host = to_host(values.detach(), where);
  if (range_of(host.raw()).finite > 0) to.add_histogram(tag, Arg(host, where), step);
}

}  // namespace

void FitBoard::begin(int64_t done, const Where& where) {
  if (options_.folder.empty()) return;
  writer_.emplace(options_.folder, board::SummaryOptions{.purge_step = done > 0 ? done + 1 : 0},
                  where);
}

void FitBoard::step_ends(int64_t step, double loss, double lr, const Where& where) {
  if (!writer_ || options_.every_steps == 0 || step % options_.every_steps != 0) return;
  writer_->add_scalar("step/loss", loss, step, where);
  writer_->add_scalar("step/lr", lr, step, where);
}

void FitBoard::epoch_ends(const EpochMetrics& m, const nn::Module& model, const Where& where) {
  if (!writer_) return;
  auto add = [&](const std::string& tag, double value) {
    writer_->add_scalar(tag, value, m.step, where);
  };
  add("epoch", static_cast<double>(m.epoch));
  add("lr", m.lr);
  add("loss/train", m.train_loss);
  if (m.train_predicts) add("accuracy/train", m.train_accuracy);
  if (m.validated) add("loss/val", m.val_loss);
  if (m.validated && m.val_predicts) add("accuracy/val", m.val_accuracy);
  for (const auto& [name, value] : m.own) add("metric/" + name, value);
  add("items_per_second", m.items_per_second);
  if (options_.histograms) {
    for (const auto& [name, p] : model.named_parameters()) {
      add_finite(*writer_, "weights/" + name, p, m.step, where);
      const Tensor g = grad_or_dense(p);
      if (g.defined()) add_finite(*writer_, "gradients/" + name, g, m.step, where);
    }
  }
  writer_->flush(where);
}

void FitBoard::flush(const Where& where) {
  if (writer_) writer_->flush(where);
}

void FitBoard::close(const Where& where) {
  if (writer_) writer_->close(where);
}

}  // namespace wick::loop
