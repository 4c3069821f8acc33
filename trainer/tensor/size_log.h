// SizeLog: what one run of a captured forward read of sizes, computed from them, and asked of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <source_location>
#include <tuple>
#include <vector>

#include "trainer/tensor/dim.h"

namespace wick {

class SizeLog {
 public:
  SizeLog();

  struct Entry {
    detail::SizeOp op;
    int32_t a = -1, b = -1;      // entries; of kRead the graph's value and its dimension
    int64_t number = 0;          // what it was in this run
    int32_t before = 0;          // the node that was made next
    std::source_location where;  // of the last size that was read for it, at its last use
  };
  // A question that decides what forward does.
  struct Guard {
    detail::SizeCompare how;
    int32_t a, b;  // entries
    bool yes;
    int32_t before;
    std::source_location where;  // of the last size that was read for it
  };

  Dim read(int32_t value, int dim, int64_t number, const std::source_location& where);
  Dim combine(detail::SizeOp op, Dim a, Dim b);
  bool compare(detail::SizeCompare how, Dim a, Dim b);
  int64_t escape(Dim d);
  // Nodes made so far.
  void at_node(size_t count) { now_ = static_cast<int32_t>(count); }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Guard>& guards() const { return guards_; }
  // Entries that became plain integers, and where the last size of them was read.
  const std::map<int32_t, std::source_location>& escaped() const { return escaped_; }

 private:
  int32_t entry(Dim d);
  Dim made(const Entry& e);
  const std::source_location& where_of(int32_t a, int32_t b) const;

  uint32_t turn_;
  int32_t now_ = 0;
  std::vector<Entry> entries_;
  std::map<std::tuple<detail::SizeOp, int32_t, int32_t, int64_t>, int32_t> known_;
  std::vector<Guard> guards_;  // each once
  std::set<std::tuple<detail::SizeCompare, int32_t, int32_t, bool>> asked_;
  std::map<int32_t, std::source_location> escaped_;
};

// This thread's log, or null.
SizeLog* active_size_log();
// Makes `log` this thread's for as long as it lives.
class SizeLogScope {
 public:
  explicit SizeLogScope(SizeLog* log);
  ~SizeLogScope();
  SizeLogScope(const SizeLogScope&) = delete;
  SizeLogScope& operator=(const SizeLogScope&) = delete;

 private:
  SizeLog* saved_;
};

}  // namespace wick
