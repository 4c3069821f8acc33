// A program and a session of the C ABI, for tests.
#pragma once

#include <gtest/gtest.h>

#include "tests/runtime/programs.h"
#include "wick/wick.h"

namespace wick::test {

// Loads the file; a failed expectation where it cannot.
class CProgram {
 public:
  explicit CProgram(std::vector<uint8_t> file, const wick_load_options* options = nullptr)
      : file_(std::move(file)), bytes_(aligned_copy(file_)) {
    EXPECT_EQ(wick_program_load_memory(bytes_.get(), file_.size(), options, &program), WICK_OK)
        << wick_last_error();
  }
  ~CProgram() { wick_program_free(program); }
  CProgram(const CProgram&) = delete;
  CProgram& operator=(const CProgram&) = delete;

  wick_program* program = nullptr;

 private:
  std::vector<uint8_t> file_;
  AlignedBytes bytes_;
};

class CSession : public CProgram {
 public:
  explicit CSession(std::vector<uint8_t> file, const wick_session_options* options = nullptr,
                    const wick_load_options* load = nullptr)
      : CProgram(std::move(file), load) {
    EXPECT_EQ(wick_session_create(program, options, &session), WICK_OK) << wick_last_error();
  }
  ~CSession() { wick_session_free(session); }

  wick_session* session = nullptr;
};

inline wick_tensor c_matrix(void* data, int64_t rows, int64_t columns) {
  return {data, WICK_FLOAT32, 2, {rows, columns}};
}

}  // namespace wick::test
