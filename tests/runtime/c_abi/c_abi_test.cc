// The C ABI from a C program (a process of its own) and its corners from here.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/runtime/string_programs.h"
#include "tests/support/output_of.h"
#include "tests/support/temp_folder.h"
#include "wick/wick.h"

namespace wick {
namespace {

std::string write_model() {
  std::string path = wick::test::temp_folder() + "wick_c_abi.wick";
  auto file = test::mlp();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  return path;
}

TEST(CAbi, ACProgramLoadsRunsAndReadsErrors) {
  std::string path = write_model();
  // x = 1..6: rows (1,2,3), (4,5,6) times [[1,2],[3,4],[5,6]] = (22,28), (49,64); bias (-30, 0.5);
  // relu
  EXPECT_EQ(test::output_of(std::string(WICK_C_PROGRAM) + " '" + path + "'"),
            "x[2]: 0 28.5 19 64.5\n"
            "labels: 2, cat\n"
            "shape mismatch: input x: dimension 1 of [2,4] should be 3\n"
            "logged: 1\n");
}

TEST(CAbi, ACProgramGivesAndReadsStrings) {
  std::string path = wick::test::temp_folder() + "wick_c_strings.wick";
  auto file = test::greeting();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<long>(file.size()));
  EXPECT_EQ(test::output_of(std::string(WICK_C_STRINGS) + " '" + path + "'"),
            "hello world!\n"
            "hello !\n"
            "hello été!\n"
            "invalid argument: input x: string 1 has no bytes\n");
}

static_assert(sizeof(wick_string) == sizeof(StringRef));
static_assert(offsetof(wick_string, size) == offsetof(StringRef, size));

TEST(CAbi, AllocatorsOlderStructsAndNulls) {
  std::string path = write_model();
  static int64_t alive;
  alive = 0;
  wick_load_options options = WICK_INIT(wick_load_options);
  options.allocator.allocate = [](void*, size_t n, size_t align) {
    ++alive;
    return default_allocator().allocate(n, align);
  };
  options.allocator.deallocate = [](void*, void* p, size_t n, size_t align) {
    --alive;
    default_allocator().deallocate(p, n, align);
  };
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load(path.c_str(), &options, &program), WICK_OK) << wick_last_error();
  wick_session* session = nullptr;
  ASSERT_EQ(wick_session_create(program, nullptr, &session), WICK_OK) << wick_last_error();
  EXPECT_GT(alive, 2);
  EXPECT_EQ(wick_session_run(session, nullptr, 0, nullptr, 0, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "0 inputs and 0 outputs given, the program has 1 and 2");
  wick_tensor bad = {};
  bad.rank = 99;
  wick_tensor outs[2] = {};
  EXPECT_EQ(wick_session_run(session, &bad, 1, outs, 2, nullptr), WICK_INVALID_ARGUMENT);
  wick_port port;
  ASSERT_EQ(wick_session_input(session, 0, &port), WICK_OK);
  EXPECT_EQ(port.dims[0], -1);
  EXPECT_STREQ(port.symbols[0], "batch");
  EXPECT_EQ(wick_session_find_output(session, "r"), 1);
  wick_session_free(session);
  wick_program_free(program);
  EXPECT_EQ(alive, 0);

  wick_load_options old = WICK_INIT(wick_load_options);
  old.size = offsetof(wick_load_options, max_file);  // a caller that knows only the allocator
  old.max_file = 1;                                  // beyond its struct: must not be read
  ASSERT_EQ(wick_program_load(path.c_str(), &old, &program), WICK_OK) << wick_last_error();
  wick_program_free(program);
  EXPECT_EQ(wick_program_load("/nowhere/m.wick", nullptr, &program), WICK_NOT_FOUND);
  EXPECT_EQ(wick_program_load(nullptr, nullptr, &program), WICK_INVALID_ARGUMENT);
  wick_program_free(nullptr);
  wick_session_free(nullptr);
}

int load_with(const std::string& path, const wick_load_options& options) {
  wick_program* program = nullptr;
  const int code = wick_program_load(path.c_str(), &options, &program);
  wick_program_free(program);
  return code;
}

TEST(CAbi, OpsThatAreAllowed) {
  const std::string path = write_model();
  wick_load_options options = WICK_INIT(wick_load_options);
  const char* const ops[] = {"Relu", "MatMul", "Reshape", "Add"};
  options.allowed_ops = ops;
  options.allowed_op_count = 4;
  EXPECT_EQ(load_with(path, options), WICK_OK) << wick_last_error();
  options.allowed_op_count = 2;
  EXPECT_EQ(load_with(path, options), WICK_UNSUPPORTED);
  EXPECT_STREQ(wick_last_error(),
               (path + ": 2 ops of the file are not among those allowed: Add, Reshape").c_str());
  options.size = offsetof(wick_load_options, allowed_ops);  // a caller that does not know of them
  EXPECT_EQ(load_with(path, options), WICK_OK) << wick_last_error();
}

TEST(CAbi, WeightsGuardAndDigest) {
  const std::string path = write_model();
  for (int weights : {WICK_WEIGHTS_AUTO, WICK_WEIGHTS_COPY, WICK_WEIGHTS_MAP}) {
    wick_load_options options = WICK_INIT(wick_load_options);
    options.weights = weights;
    options.guard = 1;
    EXPECT_EQ(load_with(path, options), WICK_OK) << wick_last_error();
  }
  const auto plain = test::mlp(), file = test::with_digest(plain);
  for (const auto* form : {&plain, &file}) {
    const auto bytes = test::aligned_copy(*form);
    wick_program* program = nullptr;
    ASSERT_EQ(wick_program_load_memory(bytes.get(), form->size(), nullptr, &program), WICK_OK);
    const uint8_t* digest = wick_program_digest(program);
    ASSERT_EQ(digest != nullptr, form == &file);
    if (digest != nullptr) {
      EXPECT_EQ(memcmp(digest, file.data() + kDigestAt, 32), 0);
    }
    wick_program_free(program);
  }
}

// Found by tests/fuzz: half of a pointer was taken for one.
TEST(CAbi, SizesThatEndWithinAField) {
  const std::string path = write_model();
  wick_program* program = nullptr;
  ASSERT_EQ(wick_program_load(path.c_str(), nullptr, &program), WICK_OK);
  wick_session_options options = WICK_INIT(wick_session_options);
  options.entry = "main";
  wick_session* session = nullptr;
  for (size_t cut = 1; cut < sizeof(void*); ++cut) {
    options.size = offsetof(wick_session_options, entry) + cut;
    const bool whole = options.size % alignof(wick_session_options) == 0;
    const int code = wick_session_create(program, &options, &session);
    EXPECT_EQ(code, whole ? WICK_OK : WICK_INVALID_ARGUMENT) << cut;
    if (code == WICK_OK) wick_session_free(session);
  }
  wick_program_free(program);
}

}  // namespace
}  // namespace wick
