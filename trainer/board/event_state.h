// A SummaryWriter has this; internal.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "trainer/board/event_file.h"
#include "trainer/board/proto.h"
#include "trainer/board/summary_writer.h"

namespace wick::board {

struct SummaryWriter::State {
  using Clock = std::chrono::steady_clock;
  State(const std::string& folder, const SummaryOptions& options);
  // An event of that step with the fields of `what`; now and then it flushes.
  void add(int64_t step, const Message& what);
  // An event with a Summary of one value.
  void add_value(int64_t step, const Message& value, const Where& where);

  std::string log_dir;
  SummaryOptions options;
  EventFile file;
  Clock::time_point flushed;
  std::map<std::string, SummaryWriter> parts;  // add_scalars' writers, by folder
};

// Since 1970, as events have it.
double seconds_now();
// Readers of protocol buffers refuse a whole event for a text that is no UTF-8.
void check_text(const char* op, const char* what, const std::string& text, const Where& where);

}  // namespace wick::board
