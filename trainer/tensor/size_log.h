// SizeLog: the sizes that one run of a captured forward read, what it computed from them, and how
// it compared them.
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
    int32_t a = -1, b = -1;      // entries; for kRead the graph's value and its dim
    int64_t number = 0;          // its number in this run
    int32_t before = 0;          // index of the next node of the graph
    std::source_location where;  // where the last of its sizes was read, at its last use
  };
  // A comparison on which forward depends.
  struct Guard {
    detail::SizeCompare how;
    int32_t a, b;  // entries
    bool yes;
    int32_t before;
    std::source_location where;  // where the last of its sizes was read
  };

  Dim read(int32_t value, int dim, int64_t number, const std::source_location& where);
  Dim combine(detail::SizeOp op, Dim a, Dim b);
  bool compare(detail::SizeCompare how, Dim a, Dim b);
  int64_t escape(Dim d);
  // Sets the number of nodes made so far.
  void at_node(size_t count) { now_ = static_cast<int32_t>(count); }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Guard>& guards() const { return guards_; }
  // Entries that became plain integers, and where the last of their sizes was read.
  const std::map<int32_t, std::source_location>& escaped() const { return escaped_; }

 private:
  int32_t entry(Dim d);
  Dim made(const Entry& e);
  const std::source_location& where_of(int32_t a, int32_t b) const;

  uint32_t turn_;
  int32_t now_ = 0;
  std::vector<Entry> entries_;
  std::map<std::tuple<detail::SizeOp, int32_t, int32_t, int64_t>, int32_t> known_;
  std::vector<Guard> guards_;  // without duplicates
  std::set<std::tuple<detail::SizeCompare, int32_t, int32_t, bool>> asked_;
  std::map<int32_t, std::source_location> escaped_;
};

// Returns this thread's log, or null.
SizeLog* active_size_log();
// Makes `log` this thread's log while it lives.
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
