// SummaryWriter: TensorBoard's event files, as torch.utils.tensorboard writes them.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "trainer/tensor/tensor.h"

namespace wick::board {

// Options of SummaryWriter.
struct SummaryOptions {
  std::string suffix = {};     // behind the file's name
  double flush_seconds = 120;  // what is added later than that after the last flush() flushes
  // A run that goes on from an earlier state: of what is in the folder, TensorBoard forgets the
  // values of this step and later ones.
  std::optional<int64_t> purge_step = {};
};

// A hyperparameter: a bool, a number (kept as float64) or a text.
struct HParam : std::variant<bool, double, std::string> {
  // The values that it can be.
  using Base = std::variant<bool, double, std::string>;
  HParam(bool v) : Base(v) {}                      // NOLINT: implicit by design
  HParam(const char* v) : Base(std::string(v)) {}  // NOLINT
  HParam(std::string v) : Base(std::move(v)) {}    // NOLINT
  template <class T>
    requires(std::integral<T> || std::floating_point<T>)
  HParam(T v) : Base(static_cast<double>(v)) {}  // NOLINT
};
using HParams = std::map<std::string, HParam>;

// Writes events.out.tfevents.* into log_dir, which is made where it is missing. What is added waits
// in memory until flush(), close(), 1 MiB or flush_seconds: a crash loses what was not flushed, and
// no more. The destructor closes, but cannot tell of a full disk. Of one thread at a time.
//
// `tag` names a series (its text before the first slash a group) and `step` a place in it, of the
// caller's meaning. Errors of all of them: a tag that is empty or no UTF-8; a folder or a file that
// cannot be written, a full disk (kIo: the message names the file, whose whole records stay
// readable); anything added after close().
class SummaryWriter {
 public:
  explicit SummaryWriter(const std::string& log_dir, const SummaryOptions& options = {},
                         Where where = Where::current());
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // Kept as float32; NaN and infinities too.
  void add_scalar(const std::string& tag, double value, int64_t step,
                  Where where = Where::current());
  // Several lines in one diagram: each in a folder of its own, log_dir/TAG_NAME (slashes become _).
  void add_scalars(const std::string& tag, const std::map<std::string, double>& values,
                   int64_t step, Where where = Where::current());
  // Counts the elements of a float or integer tensor of any shape in torch's buckets
  // (bins="tensorflow"): 0, 1e-12 and from there 1.1 times wider each, on both sides. NaN and
  // infinities are left out.
  // Error: no element that is finite; another dtype.
  void add_histogram(const std::string& tag, const Arg& values, int64_t step);
  // A [C, H, W] (C 1 to 4) or [H, W] image: float32 or float64 in 0..1, rounded as save_image does
  // (torch cuts the fraction off, which makes an image of bytes / 255 darker), or uint8. One
  // channel becomes three. Kept as PNG. Error: another dtype or shape, no pixels.
  void add_image(const std::string& tag, const Arg& image, int64_t step);
  // UTF-8, which TensorBoard reads as Markdown; the series is called TAG/text_summary.
  void add_text(const std::string& tag, const std::string& text, int64_t step,
                Where where = Where::current());
  // Writes what a run was made with and what came of it, for the HParams tab, to a folder of its
  // own, log_dir/RUN; an empty name is the time.
  void add_hparams(const HParams& hparams, const std::map<std::string, double>& metrics,
                   const std::string& run = {}, Where where = Where::current());

  void flush(Where where = Where::current());
  void close(Where where = Where::current());
  const std::string& log_dir() const;
  const std::string& path() const;  // the file's

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wick::board
