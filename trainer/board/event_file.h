// A TensorBoard event file: records one behind the other, each with its checksums (TFRecord:
// tensorflow/core/lib/io/record_writer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick::board {

// CRC-32C (Castagnoli, RFC 3720 B.4), and the form of it that the records hold, which is rotated
// and offset so that a checksum of checksums is one too.
uint32_t crc32c(const void* bytes, size_t n);
uint32_t masked_crc32c(const void* bytes, size_t n);

// Records are collected in memory and written by flush(), or when there are kBuffer bytes of them.
// Whole records alone are written: what a failed write left of one is cut off again, so that the
// file stays readable, and the records wait for the next flush().
class EventFile {
 public:
  static constexpr size_t kBuffer = size_t{1} << 20;

  // Makes `folder` where it is missing, and in it a new file
  // events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER, then SUFFIX: what TensorBoard looks for.
  // Error (kIo): the folder or the file cannot be made.
  EventFile(const std::string& folder, const std::string& suffix);
  ~EventFile();  // flushes; what fails then is lost in silence: close() says it
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  const std::string& path() const { return path_; }
  // Error (kIo) where the buffer is full and cannot be written, or the file was closed.
  void append(std::string_view record);
  // To the disk (fsync), so that neither a crash nor a power cut takes it. Error (kIo): a full
  // disk.
  void flush();
  // flush(), and nothing more can be appended. Once closed, it does nothing.
  void close();

 private:
  void write();

  std::string path_, buffer_;
  int fd_ = -1;
  uint64_t written_ = 0;  // bytes of whole records in the file
};

}  // namespace wick::board
