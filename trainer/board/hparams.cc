// A run's hyperparameters, and the texts that events take.
#include <fmt/core.h>

#include "runtime/core/printable.h"
#include "runtime/core/utf8.h"
#include "trainer/board/event_state.h"
#include "trainer/board/summary.h"

namespace wick::board {

void check_text(const char* op, const char* what, const std::string& text, const Where& where) {
  if (text.empty()) throw_error(op, std::string(what) + " is empty", where);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point(text.data() + at, text.size() - at);
    if (c.value == kNoCodePoint) {
      throw_error(op,
                  fmt::format("{} is no UTF-8 at byte {}, which TensorBoard cannot read: {}", what,
                              at, printable(text.substr(0, 100))),
                  where);
    }
    at += c.bytes;
  }
}

void SummaryWriter::add_hparams(const HParams& hparams,
                                const std::map<std::string, double>& metrics,
                                const std::string& run, Where where) {
  for (const auto& [name, value] : hparams) {
    check_text("add_hparams", "a name", name, where);
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && !text->empty()) check_text("add_hparams", "a value", *text, where);
  }
  for (const auto& [name, value] : metrics) check_text("add_hparams", "a name", name, where);
  if (run.find('/') != std::string::npos || run == "..") {
    throw_error("add_hparams", "the run's name must be a folder's, got " + run, where);
  }
  const double now = seconds_now();
  const std::string folder =
      state_->log_dir + "/" + (run.empty() ? fmt::format("{:.6f}", now) : run);
  SummaryWriter writer(folder, {.suffix = state_->options.suffix}, where);
  for (const Message& value :
       {hparams_experiment(hparams, metrics), hparams_begin(hparams, now), hparams_end(now)}) {
    writer.state_->add_value(0, value, where);
  }
  for (const auto& [name, value] : metrics) writer.add_scalar(name, value, 0, where);
  writer.close(where);
}

}  // namespace wick::board
