#include "trainer/loop/metrics_csv.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "runtime/core/atomic_file.h"
#include "wick/error.h"

namespace wick::loop {

MetricsCsv::MetricsCsv(std::string path, int64_t keep_epochs) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::string text =
      "epoch,step,lr,train_loss,train_accuracy,val_loss,val_accuracy,images_per_second,seconds\n";
  std::ifstream old(path_);
  std::string row;
  std::getline(old, row);  // its header
  while (keep_epochs > 0 && std::getline(old, row)) {
    // A line cut short by a kill has no end of line: eof is set.
    if (!old.eof() && std::atoll(row.c_str()) >= 1 && std::atoll(row.c_str()) <= keep_epochs) {
      text += row + "\n";
    }
  }
  check_status(write_file_atomically(path_.c_str(), text.data(), text.size()));
}

void MetricsCsv::append(const EpochMetrics& m) {
  if (path_.empty()) return;
  std::string row = fmt::format("{},{},{:.9g},{:.9g},{:.9g},", m.epoch, m.step, m.lr, m.train_loss,
                                m.train_accuracy);
  row += m.validated ? fmt::format("{:.9g},{:.9g},", m.val_loss, m.val_accuracy) : ",,";
  row += fmt::format("{:.1f},{:.3f}\n", m.items_per_second, m.seconds);
  std::ofstream out(path_, std::ios::app);
  out << row << std::flush;
  if (!out) throw Error("[metrics] cannot write " + path_, Code::kIo);
}

}  // namespace wick::loop
