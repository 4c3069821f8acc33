// metrics.csv: one line per epoch. A resumed run drops the lines of epochs that it will train
// again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wick::loop {

struct EpochMetrics {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;
  double lr = 0, train_loss = 0, train_accuracy = 0;
  bool train_predicts = true;  // false: no accuracy in training
  bool validated = false;
  double val_loss = 0, val_accuracy = 0;
  bool val_predicts = true;
  std::map<std::string, double> own;  // FitOptions::metrics
  double items_per_second = 0, seconds = 0;
};

class MetricsCsv {
 public:
  // Keeps the lines of epochs <= keep_epochs of an existing file (0: starts a new one). With an
  // empty path nothing is written. `own`: names of additional columns at the end.
  MetricsCsv(std::string path, int64_t keep_epochs, const std::vector<std::string>& own = {});
  void append(const EpochMetrics& m);

 private:
  std::string path_;
};

}  // namespace wick::loop
