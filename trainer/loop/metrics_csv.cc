#include "trainer/loop/metrics_csv.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "wick/error.h"

namespace wick::loop {

MetricsCsv::MetricsCsv(std::string path, int64_t keep_epochs, const std::vector<std::string>& own)
    : path_(std::move(path)) {
  if (path_.empty()) return;
  std::string text =
      "epoch,step,lr,train_loss,train_accuracy,val_loss,val_accuracy,images_per_second,seconds";
  for (const std::string& name : own) text += "," + name;
  text += "\n";
  std::string there, row;
  // A resumed run keeps its lines; if they cannot be read, it is an error.
  if (keep_epochs > 0) {
    const Status read = read_regular_file(path_.c_str(), &there);
    if (read.code() != Code::kNotFound) check_status(read);
  }
  std::istringstream old(there);
  std::getline(old, row);  // the header
  while (keep_epochs > 0 && std::getline(old, row)) {
    // A line truncated by a kill has no line end: eof is set.
    if (!old.eof() && std::atoll(row.c_str()) >= 1 && std::atoll(row.c_str()) <= keep_epochs) {
      text += row + "\n";
    }
  }
  check_status(write_file_atomically(path_.c_str(), text.data(), text.size()));
}

void MetricsCsv::append(const EpochMetrics& m) {
  if (path_.empty()) return;
  std::string row = fmt::format("{},{},{:.9g},{:.9g},", m.epoch, m.step, m.lr, m.train_loss);
  auto cell = [&row](bool there, double value) {
    row += there ? fmt::format("{:.9g},", value) : ",";
  };
  cell(m.train_predicts, m.train_accuracy);
  cell(m.validated, m.val_loss);
  cell(m.validated && m.val_predicts, m.val_accuracy);
  row += fmt::format("{:.1f},{:.3f}", m.items_per_second, m.seconds);
  for (const auto& [name, value] : m.own) row += fmt::format(",{:.9g}", value);
  row += "\n";
  // Written to the disk before the checkpoint that counts the epoch: a power cut in between leaves
  // a line that the resumed run drops, but never an epoch without a line.
  const int fd = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  bool done = fd >= 0;
  for (size_t at = 0; done && at < row.size();) {
    const ssize_t n = write(fd, row.data() + at, row.size() - at);
    if (n > 0) at += static_cast<size_t>(n);
    done = n > 0 || (n < 0 && errno == EINTR);
  }
  done = done && fsync(fd) == 0;
  const int cause = errno;
  if (fd >= 0) close(fd);
  if (!done) {
    throw Error("[metrics] cannot write " + path_ + ": " + std::strerror(cause), Code::kIo);
  }
}

}  // namespace wick::loop
