// Which op is not deterministic: a function is run again and again, and every kernel's results are
// compared, by their hash, with those of the first run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick {

struct AuditOptions {
  // Of each run; 0 stands for num_threads() as it is. The first one is what the others must equal.
  std::vector<int> threads = {0, 0, 1, 2, 3};
  // Beyond so many kernels the audit stops to listen (16 bytes each); what f returns is compared
  // all the same.
  size_t max_ops = size_t{1} << 24;
};

struct AuditResult {
  bool deterministic = true;
  int64_t ops = 0;  // kernels compared in each run
  int runs = 0;
  // Of the first difference; op "" where only what f returned differs, by name in `where`.
  int64_t index = -1;        // which kernel of the run, from 0
  int run = 0, threads = 0;  // the run in which it showed, from 1, and its threads
  std::string op, where, module, shapes;
  bool backward = false;
  std::string what;          // "output 0 differs", "another op ran: ..."
  std::string text() const;  // one line
};

// f must do the same each time: make or restore its state, seed its generators (manual_seed), and
// return what is to be equal beside the ops: weights, say; may be empty. Ops of the calling thread
// are heard, backward's included. num_threads() is restored. Throws what f throws.
AuditResult audit_determinism(const std::function<nn::NamedTensors()>& f,
                              const AuditOptions& options = {}, Where where = Where::current());

}  // namespace wick
