// Finds ops that are not deterministic: runs a function several times, and compares every kernel's
// results, by their hash, with those of the first run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace wick {

// Options of audit_determinism().
struct AuditOptions {
  // The threads of each run; 0: num_threads() unchanged. The other runs must equal the first one.
  std::vector<int> threads = {0, 0, 1, 2, 3};
  // After so many kernels the audit ignores further ones (16 bytes each); the results of f are
  // still compared.
  size_t max_ops = size_t{1} << 24;
};

// Says what the audit found.
struct AuditResult {
  bool deterministic = true;  // all runs had the same bits
  int64_t ops = 0;            // kernels compared in each run
  int runs = 0;               // that were made
  // The first difference. op is "" if only the results of f differ; `where` then names the result.
  int64_t index = -1;        // the kernel's number in the run, from 0
  int run = 0, threads = 0;  // the run with the difference, counted from 1, and its threads
  std::string op, where, module, shapes;
  bool backward = false;
  std::string what;          // "output 0 differs", "another op ran: ..."
  std::string text() const;  // one line
};

// f must do the same each time: create or restore its state, and seed its generators (manual_seed).
// It returns what has to be equal besides the ops, such as weights; the list may be empty. Ops of
// the calling thread are observed, also in backward. num_threads() is restored. Throws what f
// throws.
AuditResult audit_determinism(const std::function<nn::NamedTensors()>& f,
                              const AuditOptions& options = {}, Where where = Where::current());

}  // namespace wick
