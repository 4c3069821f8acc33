// Every function of wick.h with each of its pointers null in turn, with a count given too: an error
// that names the argument, or the no-op that the header promises; never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/runtime/programs.h"
#include "tests/support/where.h"
#include "wick/wick.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

class Nulls : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = test::mlp();
    bytes_ = test::aligned_copy(file_);
    ASSERT_EQ(wick_program_load_memory(bytes_.get(), file_.size(), nullptr, &program_), WICK_OK);
    ASSERT_EQ(wick_session_create(program_, nullptr, &session_), WICK_OK);
  }
  void TearDown() override {
    wick_session_free(session_);
    wick_program_free(program_);
    EXPECT_TRUE(session_ != nullptr && program_ != nullptr);
  }
  // The call was refused by its argument `name`.
  static void refused(int code, const char* name, int line) {
    EXPECT_EQ(code, WICK_INVALID_ARGUMENT) << "line " << line;
    EXPECT_THAT(wick_last_error(), HasSubstr(std::string(name) + " is null")) << "line " << line;
  }
  static wick_tensor matrix(void* data, int64_t rows, int64_t columns) {
    return {data, WICK_FLOAT32, 2, {rows, columns}};
  }
  std::vector<uint8_t> file_;
  test::AlignedBytes bytes_{nullptr, {0}};
  wick_program* program_ = nullptr;
  wick_session* session_ = nullptr;
  wick_program* const no_program_ = nullptr;
  wick_session* const no_session_ = nullptr;
};

#define REFUSED(call, name) refused(call, name, __LINE__)

TEST_F(Nulls, OfLibrariesAndPrograms) {
  wick_ops* ops = nullptr;
  REFUSED(wick_ops_load(nullptr, &ops), "path");
  REFUSED(wick_ops_load("/nowhere.so", nullptr), "ops");
  EXPECT_EQ(ops, nullptr);
  wick_ops_free(nullptr);
  REFUSED(wick_cancel_create(nullptr), "cancel");
  wick_cancel_free(nullptr);
  wick_cancel_request(nullptr);
  wick_cancel_clear(nullptr);
  EXPECT_EQ(wick_ops_count(nullptr), 0u);
  EXPECT_EQ(wick_ops_name(nullptr, 0), nullptr);

  wick_program* program = nullptr;
  REFUSED(wick_program_load(nullptr, nullptr, &program), "path");
  REFUSED(wick_program_load("/nowhere.wick", nullptr, nullptr), "program");
  REFUSED(wick_program_load_memory(nullptr, 64, nullptr, &program), "data");
  REFUSED(wick_program_load_memory(bytes_.get(), file_.size(), nullptr, nullptr), "program");
  EXPECT_EQ(wick_program_load_memory(nullptr, 0, nullptr, &program), WICK_INVALID_PROGRAM)
      << "no bytes are no program, but nothing is missing";
  EXPECT_EQ(program, nullptr);
  wick_program_free(nullptr);
  EXPECT_EQ(wick_program_entry_count(no_program_), 0u);
  EXPECT_EQ(wick_program_entry_name(no_program_, 0), nullptr);
  EXPECT_EQ(wick_program_label_count(no_program_), 0u);
  EXPECT_EQ(wick_program_label(no_program_, 0), nullptr);
  EXPECT_EQ(wick_program_metadata(no_program_, "author"), nullptr);
  EXPECT_EQ(wick_program_metadata(program_, nullptr), nullptr);
  EXPECT_EQ(wick_program_digest(no_program_), nullptr);
  EXPECT_EQ(wick_program_packed_bytes(no_program_), 0u);
  EXPECT_EQ(wick_install_guard(), WICK_OK);
}

TEST_F(Nulls, OfLoadOptions) {
  wick_program* program = nullptr;
  auto load = [&](const wick_load_options& o) {
    return wick_program_load_memory(bytes_.get(), file_.size(), &o, &program);
  };
  wick_load_options options = WICK_INIT(wick_load_options);
  options.ops_count = 2;
  REFUSED(load(options), "ops");
  wick_ops* const none[2] = {nullptr, nullptr};
  options.ops = none;
  REFUSED(load(options), "ops[0]");
  options.ops_count = 0;
  for (size_t count : {size_t{1}, SIZE_MAX}) {
    options.allowed_op_count = count;
    REFUSED(load(options), "allowed_ops");
  }
  const char* const names[] = {"MatMul", nullptr};
  options.allowed_ops = names;
  options.allowed_op_count = 2;
  REFUSED(load(options), "allowed_ops[1]");
  options.allowed_op_count = 0;  // a list that came out empty allows nothing: it is no absent one
  EXPECT_EQ(load(options), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("allowed_ops is there and has no names"));
  options.allowed_ops = nullptr;
  for (int weights : {-1, 3}) {
    options.weights = weights;
    EXPECT_EQ(load(options), WICK_INVALID_ARGUMENT);
    EXPECT_THAT(wick_last_error(), HasSubstr("options.weights is " + std::to_string(weights)));
  }
  options.weights = WICK_WEIGHTS_AUTO;
  EXPECT_EQ(load(options), WICK_OK) << wick_last_error();
  wick_program_free(program);
  program = nullptr;

  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  REFUSED(load(options), "allocator.deallocate");
  options.allocator = {};
  options.allocator.deallocate = [](void*, void*, size_t, size_t) {};
  REFUSED(load(options), "allocator.allocate");
  options = {};
  EXPECT_EQ(load(options), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(),
               "options.size is 0: set it to sizeof the struct, as WICK_INIT does");
  EXPECT_EQ(program, nullptr);
}

TEST_F(Nulls, OfSessionsAndTheirOptions) {
  wick_session* session = nullptr;
  REFUSED(wick_session_create(no_program_, nullptr, &session), "program");
  REFUSED(wick_session_create(program_, nullptr, nullptr), "session");
  auto create = [&](const wick_session_options& o) {
    return wick_session_create(program_, &o, &session);
  };
  wick_session_options options = WICK_INIT(wick_session_options);
  for (size_t count : {size_t{1}, size_t{7}, SIZE_MAX}) {
    options.max_dim_count = count;
    REFUSED(create(options), "max_dims");
  }
  wick_dim_binding dims[] = {{"batch", 4}, {nullptr, 4}};
  options.max_dims = dims;
  options.max_dim_count = 2;
  REFUSED(create(options), "max_dims[1].symbol");
  options.max_dim_count = 0;
  ASSERT_EQ(create(options), WICK_OK) << wick_last_error();
  wick_session_free(session);
  session = nullptr;
  options.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  REFUSED(create(options), "allocator.deallocate");
  options = {};
  EXPECT_EQ(create(options), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.size is 0"));
  EXPECT_EQ(session, nullptr);
  wick_session_free(nullptr);
}

TEST_F(Nulls, OfWhatASessionTells) {
  EXPECT_EQ(wick_session_input_count(no_session_), 0u);
  EXPECT_EQ(wick_session_output_count(no_session_), 0u);
  EXPECT_EQ(wick_session_input_element(no_session_, 0), 0);
  EXPECT_EQ(wick_session_output_element(no_session_, 0), 0);
  EXPECT_EQ(wick_session_find_input(no_session_, "x"), -1);
  EXPECT_EQ(wick_session_find_output(no_session_, "y"), -1);
  EXPECT_EQ(wick_session_find_input(session_, nullptr), -1);
  EXPECT_EQ(wick_session_find_output(session_, nullptr), -1);
  EXPECT_EQ(wick_session_memory(no_session_), 0u);
  EXPECT_EQ(wick_session_shared_memory(no_session_), 0u);
  wick_port port;
  REFUSED(wick_session_input(no_session_, 0, &port), "session");
  REFUSED(wick_session_input(session_, 0, nullptr), "port");
  REFUSED(wick_session_output(no_session_, 0, &port), "session");
  REFUSED(wick_session_output(session_, 0, nullptr), "port");
  float x[3] = {};
  wick_tensor in = matrix(x, 1, 3), shape;
  ASSERT_EQ(wick_session_bind(session_, &in, 1), WICK_OK) << wick_last_error();
  REFUSED(wick_session_output_shape(no_session_, 0, &shape), "session");
  REFUSED(wick_session_output_shape(session_, 0, nullptr), "shape");
}

TEST_F(Nulls, OfRuns) {
  float x[3] = {1, 2, 3};
  wick_tensor in = matrix(x, 1, 3), outs[2] = {};
  REFUSED(wick_session_bind(no_session_, &in, 1), "session");
  REFUSED(wick_session_bind(session_, nullptr, 1), "inputs");
  REFUSED(wick_session_run(no_session_, &in, 1, outs, 2, nullptr), "session");
  REFUSED(wick_session_run(session_, nullptr, 1, outs, 2, nullptr), "inputs");
  REFUSED(wick_session_run(session_, &in, 1, nullptr, 2, nullptr), "outputs");
  EXPECT_EQ(outs[0].data, nullptr);
  wick_run_options options = {};
  EXPECT_EQ(wick_session_run(session_, &in, 1, outs, 2, &options), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.size is 0"));
  in.data = nullptr;
  EXPECT_EQ(wick_session_run(session_, &in, 1, outs, 2, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "input x has no data");
  in.data = x;
  EXPECT_EQ(wick_session_run(session_, &in, 1, outs, 2, nullptr), WICK_OK) << wick_last_error();
}

TEST_F(Nulls, OfPools) {
  wick_pool* const no_pool = nullptr;
  wick_pool* pool = nullptr;
  REFUSED(wick_pool_create(no_program_, nullptr, &pool), "program");
  REFUSED(wick_pool_create(program_, nullptr, nullptr), "pool");
  wick_pool_options options = {};
  EXPECT_EQ(wick_pool_create(program_, &options, &pool), WICK_INVALID_ARGUMENT);
  options.size = sizeof(options);
  wick_session_options each = {};
  options.session = &each;
  EXPECT_EQ(wick_pool_create(program_, &options, &pool), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.session: options.size is 0"));
  each.size = sizeof(each);
  each.max_dim_count = 1;
  REFUSED(wick_pool_create(program_, &options, &pool), "max_dims");
  each.max_dim_count = 0;
  each.allocator.allocate = [](void*, size_t, size_t) -> void* { return nullptr; };
  REFUSED(wick_pool_create(program_, &options, &pool), "allocator.deallocate");
  each.allocator = {};
  EXPECT_EQ(pool, nullptr);
  ASSERT_EQ(wick_pool_create(program_, &options, &pool), WICK_OK) << wick_last_error();

  float x[3] = {1, 2, 3}, y[2], r[2];
  wick_tensor in = matrix(x, 1, 3), outs[2] = {{y, WICK_FLOAT32, 1, {2}}, matrix(r, 1, 2)};
  REFUSED(wick_pool_run(no_pool, &in, 1, outs, 2, nullptr), "pool");
  REFUSED(wick_pool_run(pool, nullptr, 1, outs, 2, nullptr), "inputs");
  REFUSED(wick_pool_run(pool, &in, 1, nullptr, 2, nullptr), "outputs");
  outs[0].data = nullptr;
  EXPECT_EQ(wick_pool_run(pool, &in, 1, outs, 2, nullptr), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("output y has no memory"));
  outs[0].data = y;
  EXPECT_EQ(wick_pool_run(pool, &in, 1, outs, 2, nullptr), WICK_OK) << wick_last_error();
  wick_session* session = nullptr;
  REFUSED(wick_pool_acquire(no_pool, nullptr, &session), "pool");
  REFUSED(wick_pool_acquire(pool, nullptr, nullptr), "session");
  EXPECT_EQ(wick_pool_idle(pool), wick_pool_size(pool));
  EXPECT_EQ(wick_pool_size(no_pool), 0u);
  EXPECT_EQ(wick_pool_idle(no_pool), 0u);
  EXPECT_EQ(wick_pool_memory(no_pool), 0u);
  wick_state* state = nullptr;
  REFUSED(wick_state_create(no_program_, nullptr, &state), "program");
  REFUSED(wick_state_create(program_, nullptr, nullptr), "state");
  wick_state_options linked = {};
  EXPECT_EQ(wick_state_create(program_, &linked, &state), WICK_INVALID_ARGUMENT);
  linked.size = sizeof(linked);
  linked.link_count = 1;
  REFUSED(wick_state_create(program_, &linked, &state), "links");
  const wick_state_link no_names = {nullptr, nullptr};
  linked.links = &no_names;
  EXPECT_EQ(wick_state_create(program_, &linked, &state), WICK_NOT_FOUND);
  EXPECT_STREQ(wick_last_error(), "no input is named (null); there are: x");
  linked.link_count = 0;
  linked.dim_count = 1;
  REFUSED(wick_state_create(program_, &linked, &state), "dims");
  REFUSED(wick_pool_run_state(pool, &in, 1, outs, 2, nullptr, nullptr), "state");
  ASSERT_EQ(wick_state_create(program_, nullptr, &state), WICK_OK) << wick_last_error();
  REFUSED(wick_pool_run_state(no_pool, &in, 1, outs, 2, state, nullptr), "pool");
  REFUSED(wick_state_value(nullptr, 0, &in), "state");
  REFUSED(wick_state_value(state, 0, nullptr), "value");
  EXPECT_EQ(wick_state_value(state, 0, &in), WICK_INVALID_ARGUMENT) << "it has no links";
  wick_state* copy = nullptr;
  REFUSED(wick_state_fork(nullptr, &copy), "state");
  REFUSED(wick_state_fork(state, nullptr), "copy");
  EXPECT_EQ(wick_state_count(nullptr), 0u);
  EXPECT_EQ(wick_state_name(nullptr, 0), nullptr);
  EXPECT_EQ(wick_state_name(state, 0), nullptr);
  EXPECT_EQ(wick_state_find(nullptr, "x"), -1);
  EXPECT_EQ(wick_state_find(state, nullptr), -1);
  EXPECT_EQ(wick_state_bytes(nullptr), 0u);
  wick_state_reset(nullptr);
  wick_state_free(state);
  wick_state_free(nullptr);
  wick_pool_free(pool);
  wick_pool_free(nullptr);

  wick_thread_pool* threads = nullptr;
  REFUSED(wick_thread_pool_create(nullptr, nullptr), "thread_pool");
  wick_thread_pool_options own = {};
  EXPECT_EQ(wick_thread_pool_create(&own, &threads), WICK_INVALID_ARGUMENT);
  own.size = sizeof(own);
  own.allocator.deallocate = [](void*, void*, size_t, size_t) {};
  REFUSED(wick_thread_pool_create(&own, &threads), "allocator.allocate");
  EXPECT_EQ(wick_thread_pool_threads(nullptr), 0);
  wick_thread_pool_free(nullptr);
}

TEST_F(Nulls, OfPackedValues) {
  float x[3] = {1, 2, 3};
  wick_tensor element = matrix(x, 1, 3), packed = {};
  size_t bytes = 0, count = 0;
  REFUSED(wick_pack_bytes(nullptr, 1, &bytes), "elements");
  REFUSED(wick_pack_bytes(&element, 1, nullptr), "bytes");
  ASSERT_EQ(wick_pack_bytes(nullptr, 0, &bytes), WICK_OK);
  ASSERT_EQ(wick_pack_bytes(&element, 1, &bytes), WICK_OK);
  std::vector<int64_t> room(bytes / 8);
  auto pack = [&](const wick_tensor* e, size_t n, void* data, wick_tensor* to) {
    return wick_pack(WICK_SEQUENCE, WICK_FLOAT32, e, n, data, bytes, to);
  };
  REFUSED(pack(nullptr, 1, room.data(), &packed), "elements");
  REFUSED(pack(&element, 1, nullptr, &packed), "data");
  REFUSED(pack(&element, 1, room.data(), nullptr), "packed");
  element.data = nullptr;
  EXPECT_EQ(pack(&element, 1, room.data(), &packed), WICK_INVALID_ARGUMENT);
  EXPECT_STREQ(wick_last_error(), "element 0 has no data");
  element.data = x;
  ASSERT_EQ(pack(&element, 1, room.data(), &packed), WICK_OK) << wick_last_error();

  int present = 0;
  REFUSED(wick_packed_count(nullptr, &count, &present), "packed");
  REFUSED(wick_packed_count(&packed, nullptr, &present), "count");
  EXPECT_EQ(wick_packed_count(&packed, &count, nullptr), WICK_OK);
  EXPECT_EQ(count, 1u);
  REFUSED(wick_packed_element(nullptr, 0, &element), "packed");
  REFUSED(wick_packed_element(&packed, 0, nullptr), "element");
  char* const odd = reinterpret_cast<char*>(room.data()) + 4;
  EXPECT_EQ(pack(&element, 1, odd, &packed), WICK_INVALID_ARGUMENT) << "it is not aligned";
  packed.data = odd;
  EXPECT_EQ(wick_packed_count(&packed, &count, &present), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("must be aligned to 8 bytes"));
  packed.data = nullptr;
  EXPECT_EQ(wick_packed_count(&packed, &count, &present), WICK_INVALID_ARGUMENT);
}

// The functions here that take pointers are those of the header.
TEST_F(Nulls, OfEveryFunction) {
  auto text_of = [](const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::string header = text_of(source_dir("/runtime/include/wick/wick.h")),
                    here = text_of(source_dir("/tests/runtime/c_abi/nulls_test.cc"));
  const std::regex function(R"(WICK_API [^;(]*?(wick_\w+)\(([^)]*)\))");
  std::set<std::string> pointers;
  for (std::sregex_iterator i(header.begin(), header.end(), function), end; i != end; ++i) {
    if ((*i)[2].str().find('*') != std::string::npos) pointers.insert((*i)[1].str());
  }
  EXPECT_GE(pointers.size(), 28u);
  for (const std::string& name : pointers) EXPECT_THAT(here, HasSubstr(name + "("));
}

#undef REFUSED

// The same of the C++ interface, where a name is a pointer.
TEST(NullNames, OfTheCppInterface) {
  auto l = test::load(test::mlp());
  EXPECT_EQ(Program::load(nullptr, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(l.program->find_metadata(nullptr), nullptr);
  EXPECT_EQ(l.program->find_entry(nullptr), nullptr);
  const DimBinding dims[] = {{nullptr, 3}};
  SessionOptions options;
  options.max_dims = dims;
  auto refused = Session::create(*l.program, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_STREQ(refused.status().message(), "max_dims[0].symbol is null");
  auto session = test::open(*l.program);
  EXPECT_EQ(session->find_input(nullptr), -1);
  EXPECT_EQ(session->find_output(nullptr), -1);
  float x[3] = {};
  NamedView in = {nullptr, TensorView(x, DType::kF32, {1, 3})}, out = {nullptr, {}};
  Status s = session->run(Span<const NamedView>(&in, 1), Span<NamedView>(&out, 1));
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_STREQ(s.message(), "an input's name is null; there are: x");
}

}  // namespace
}  // namespace wick
