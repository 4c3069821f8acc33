#include "trainer/distributed/comm/flight_recorder.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/core/printable.h"
#include "wick/error.h"

namespace wick::distributed {
namespace {

int64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string seconds(double s) {
  char text[32];
  snprintf(text, sizeof text, "%.1f s", s);
  return text;
}

// Bytes that are no UTF-8, as a file's name in an error may have, are spelled out: no reader of
// JSON takes them.
std::string quoted(const std::string& text) {
  std::string s = "\"";
  for (char c : printable(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      s += "\\n";
      continue;
    }
    if (byte < 0x20 || byte == 0x7F) {
      s += '?';
      continue;
    }
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s + '"';
}

// With a dot, whatever the program's locale is.
std::string number(double value) { return fmt::format("{:.6f}", value); }

}  // namespace

FlightRecorder::FlightRecorder() : start_(clock_ns()) { ring_.reserve(kCapacity); }

double FlightRecorder::now() const { return static_cast<double>(clock_ns() - start_) * 1e-9; }

uint64_t FlightRecorder::begin(const std::string& group, const std::string& id, uint32_t sequence,
                               const Call& call, size_t bytes) {
  Entry e{0,     group, id, sequence, call.text(), fingerprint_of(call, sequence).site,
          bytes, now(), -1, -1};
  std::lock_guard lock(mutex_);
  e.number = next_++;
  const size_t at = (e.number - 1) % kCapacity;
  if (at < ring_.size()) {
    ring_[at] = std::move(e);
  } else {
    ring_.push_back(std::move(e));
  }
  return next_ - 1;
}

FlightRecorder::Entry* FlightRecorder::find(uint64_t number) {
  Entry& e = ring_[(number - 1) % kCapacity];
  return e.number == number ? &e : nullptr;
}

void FlightRecorder::met(uint64_t number) {
  std::lock_guard lock(mutex_);
  if (Entry* e = find(number)) e->met = now();
}

void FlightRecorder::ended(uint64_t number) {
  std::lock_guard lock(mutex_);
  if (Entry* e = find(number)) e->ended = now();
}

std::vector<FlightRecorder::Entry> FlightRecorder::entries() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry> all;
  const size_t first = ring_.size() < kCapacity ? 0 : (next_ - 1) % kCapacity;
  for (size_t i = 0; i < ring_.size(); ++i) all.push_back(ring_[(first + i) % ring_.size()]);
  return all;
}

std::string FlightRecorder::state() const {
  const std::vector<Entry> all = entries();
  auto label = [](const Entry& e) {
    return "#" + std::to_string(e.sequence) + " of group '" + e.group + "', " + e.call;
  };
  std::string open;
  for (const Entry& e : all) {
    if (e.ended >= 0) continue;
    open += (open.empty() ? "in " : "; in ") + label(e) + " for " + seconds(now() - e.called);
  }
  if (!open.empty()) return open;
  if (all.empty()) return "in no collective, and it called none before";
  return "in no collective; its last, " + label(all.back()) + ", ended " +
         seconds(now() - all.back().ended) + " before";
}

std::string FlightRecorder::json(int rank, int ranks, const std::string& reason) const {
  std::string s = "{\"rank\": " + std::to_string(rank) + ", \"ranks\": " + std::to_string(ranks) +
                  ", \"now\": " + number(now()) + ", \"reason\": " + quoted(reason) +
                  ", \"entries\": [";
  const char* comma = "\n";
  for (const Entry& e : entries()) {
    s += comma;
    s += "{\"number\": " + std::to_string(e.number) + ", \"group\": " + quoted(e.group) +
         ", \"id\": " + quoted(e.id) + ", \"sequence\": " + std::to_string(e.sequence) +
         ", \"call\": " + quoted(e.call) + ", \"site\": " + std::to_string(e.site) +
         ", \"bytes\": " + std::to_string(e.bytes) + ", \"called\": " + number(e.called) +
         ", \"met\": " + number(e.met) + ", \"ended\": " + number(e.ended) + "}";
    comma = ",\n";
  }
  return s + "\n]}\n";
}

std::string flight_dump_path(const std::string& folder, int rank) {
  return folder + "/wick-flight-" + std::to_string(rank) + ".json";
}

std::string write_flight_dump(const std::string& folder, int rank, const std::string& json) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::string path = flight_dump_path(folder, rank);
  std::ofstream out(path, std::ios::binary);
  out << json;
  out.close();
  if (!out) throw Error("[flight_recorder] cannot write " + path);
  return path;
}

}  // namespace wick::distributed
