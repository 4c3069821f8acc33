// Every function of wick/c/*.h with each of its pointers null in turn: an error that names the
// argument, or the 0, -1 or null that the header promises. Those of wick/c/vulkan.h are in
// tests/vulkan/c_api_test.cc.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/runtime/c_abi/opened.h"
#include "tests/support/where.h"
#include "wick/c/hooks.h"
#include "wick/c/kernels.h"
#include "wick/c/ops.h"
#include "wick/c/program.h"
#include "wick/c/session.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

class NullParts : public ::testing::Test {
 protected:
  NullParts() : opened_(test::mlp()) {}
  static void refused(int code, const char* name, int line) {
    EXPECT_EQ(code, WICK_INVALID_ARGUMENT) << "line " << line;
    EXPECT_THAT(wick_last_error(), HasSubstr(std::string(name) + " is null")) << "line " << line;
  }
  test::CSession opened_;
  wick_program* const program_ = opened_.program;
  wick_session* const session_ = opened_.session;
  wick_program* const no_program_ = nullptr;
  wick_session* const no_session_ = nullptr;
};

#define REFUSED(call, name) refused(call, name, __LINE__)

TEST_F(NullParts, OfPrograms) {
  EXPECT_EQ(wick_program_find_entry(no_program_, "main"), -1);
  EXPECT_EQ(wick_program_find_entry(program_, nullptr), -1);
  EXPECT_EQ(wick_program_symbol_count(no_program_), 0u);
  EXPECT_EQ(wick_program_metadata_count(no_program_), 0u);
  EXPECT_EQ(wick_program_constant_count(no_program_), 0u);
  EXPECT_EQ(wick_program_state_count(no_program_), 0u);
  EXPECT_EQ(wick_program_custom_op_count(no_program_), 0u);
  EXPECT_EQ(wick_program_value_count(no_program_, 0), 0u);
  EXPECT_EQ(wick_program_region_count(no_program_, 0), 0u);
  EXPECT_EQ(wick_program_node_count(no_program_, 0, 0), 0u);
  EXPECT_EQ(wick_program_growing(no_program_, 0), 0);
  REFUSED(wick_program_intact(nullptr), "program");
  wick_symbol symbol = WICK_INIT(wick_symbol);
  REFUSED(wick_program_symbol(no_program_, 0, &symbol), "program");
  REFUSED(wick_program_symbol(program_, 0, nullptr), "symbol");
  const char* text = nullptr;
  REFUSED(wick_program_metadata_entry(no_program_, 0, &text, &text), "program");
  REFUSED(wick_program_metadata_entry(program_, 0, nullptr, &text), "key");
  REFUSED(wick_program_metadata_entry(program_, 0, &text, nullptr), "value");
  wick_provenance provenance = WICK_INIT(wick_provenance);
  REFUSED(wick_program_provenance(no_program_, &provenance), "program");
  REFUSED(wick_program_provenance(program_, nullptr), "provenance");
  wick_program_facts facts = WICK_INIT(wick_program_facts);
  REFUSED(wick_program_get_facts(no_program_, &facts), "program");
  REFUSED(wick_program_get_facts(program_, nullptr), "facts");
  wick_constant constant = WICK_INIT(wick_constant);
  REFUSED(wick_program_constant(no_program_, 0, &constant), "program");
  REFUSED(wick_program_constant(program_, 0, nullptr), "constant");
  wick_packed_form form = WICK_INIT(wick_packed_form);
  REFUSED(wick_program_packed_form(no_program_, 0, 0, &form), "program");
  REFUSED(wick_program_packed_form(program_, 0, 0, nullptr), "form");
  wick_state_buffer state = WICK_INIT(wick_state_buffer);
  REFUSED(wick_program_state(no_program_, 0, &state), "program");
  REFUSED(wick_program_state(program_, 0, nullptr), "state");
  wick_custom_op op = WICK_INIT(wick_custom_op);
  REFUSED(wick_program_custom_op(no_program_, 0, &op), "program");
  REFUSED(wick_program_custom_op(program_, 0, nullptr), "op");
  wick_value value = WICK_INIT(wick_value);
  REFUSED(wick_program_value(no_program_, 0, 0, &value), "program");
  REFUSED(wick_program_value(program_, 0, 0, nullptr), "value");
  wick_node node = WICK_INIT(wick_node);
  REFUSED(wick_program_node(no_program_, 0, 0, 0, &node), "program");
  REFUSED(wick_program_node(program_, 0, 0, 0, nullptr), "node");
}

TEST_F(NullParts, OfSessions) {
  float x[3] = {1, 2, 3};
  wick_tensor in = test::c_matrix(x, 1, 3), out[2] = {};
  wick_named_tensor named = {"x", in}, named_out = {"r", {}};
  REFUSED(wick_session_run_named(no_session_, &named, 1, &named_out, 1, nullptr), "session");
  REFUSED(wick_session_run_named(session_, nullptr, 1, &named_out, 1, nullptr), "inputs");
  REFUSED(wick_session_run_named(session_, &named, 1, nullptr, 1, nullptr), "outputs");
  named.name = nullptr;
  REFUSED(wick_session_run_named(session_, &named, 1, &named_out, 1, nullptr), "an input's name");
  named.name = "x";
  named_out.name = nullptr;
  REFUSED(wick_session_run_named(session_, &named, 1, &named_out, 1, nullptr), "an output's name");
  wick_run_options options = {};
  EXPECT_EQ(wick_session_run_named(session_, &named, 1, &named_out, 1, &options),
            WICK_INVALID_ARGUMENT);
  EXPECT_EQ(wick_session_start(session_, &in, 1, &options), WICK_INVALID_ARGUMENT);
  REFUSED(wick_session_start(no_session_, &in, 1, nullptr), "session");
  REFUSED(wick_session_start(session_, nullptr, 1, nullptr), "inputs");
  ASSERT_EQ(wick_session_start(session_, &in, 1, nullptr), WICK_OK) << wick_last_error();
  REFUSED(wick_session_finish(no_session_, out, 2), "session");
  REFUSED(wick_session_finish(session_, nullptr, 2), "outputs");
  EXPECT_EQ(wick_session_finish(session_, out, 2), WICK_OK) << "the run was not over";
  EXPECT_EQ(wick_session_left_backend(no_session_), nullptr);
  EXPECT_EQ(wick_session_refused_cache(no_session_), nullptr);
  EXPECT_EQ(wick_session_step_count(no_session_), 0u);
  EXPECT_EQ(wick_session_arena_bytes(no_session_), 0u);
  EXPECT_EQ(wick_session_packed_bytes(no_session_), 0u);
  EXPECT_EQ(wick_session_threads(no_session_), 0);
  EXPECT_EQ(wick_session_packed_form_count(no_session_), 0u);
  wick_packed_form form = WICK_INIT(wick_packed_form);
  REFUSED(wick_session_packed_form(no_session_, 0, &form), "session");
  REFUSED(wick_session_packed_form(session_, 0, nullptr), "form");
  EXPECT_EQ(wick_cancel_requested(nullptr), 0);
  EXPECT_EQ(wick_backend_name(nullptr), nullptr);
  int64_t elements = 0;
  size_t bytes = 0;
  REFUSED(wick_tensor_elements(nullptr, &elements), "tensor");
  REFUSED(wick_tensor_elements(&in, nullptr), "elements");
  REFUSED(wick_tensor_bytes(nullptr, &bytes), "tensor");
  REFUSED(wick_tensor_bytes(&in, nullptr), "bytes");
}

TEST_F(NullParts, OfHooks) {
  wick_explain_hook hook = WICK_INIT(wick_explain_hook);
  REFUSED(wick_session_explain(no_session_, &hook), "session");
  REFUSED(wick_session_explain(session_, nullptr), "hook");
  hook.size = 0;
  EXPECT_EQ(wick_session_explain(session_, &hook), WICK_INVALID_ARGUMENT);
  EXPECT_EQ(wick_views_count(nullptr), 0u);
  wick_tensor tensor = {};
  int64_t strides[WICK_MAX_RANK] = {};
  int block = 0;
  REFUSED(wick_views_tensor(nullptr, 0, &tensor), "views");
  REFUSED(wick_views_layout(nullptr, 0, strides, &block), "views");
  struct Null {
    static void look(void*, const wick_trace_event* event) {
      int64_t s[WICK_MAX_RANK] = {};
      int b = 0;
      REFUSED(wick_views_tensor(event->out, 0, nullptr), "tensor");
      REFUSED(wick_views_layout(event->out, 0, nullptr, &b), "strides");
      REFUSED(wick_views_layout(event->out, 0, s, nullptr), "block");
    }
  };
  wick_trace_hook trace = WICK_INIT(wick_trace_hook);
  trace.on_step = Null::look;
  wick_session_options options = WICK_INIT(wick_session_options);
  options.trace = &trace;
  test::CSession traced(test::mlp(), &options);
  float x[3] = {1, 2, 3};
  wick_tensor in = test::c_matrix(x, 1, 3), out[2] = {};
  EXPECT_EQ(wick_session_run(traced.session, &in, 1, out, 2, nullptr), WICK_OK);
  trace.size = 0;
  wick_session* session = nullptr;
  EXPECT_EQ(wick_session_create(program_, &options, &session), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.trace.size is 0"));
  EXPECT_EQ(session, nullptr);
}

TEST_F(NullParts, OfKernelsAndOps) {
  EXPECT_EQ(wick_kernel_set_name(nullptr), nullptr);
  EXPECT_EQ(wick_kernel_set_has(nullptr, "Add"), 0);
  EXPECT_EQ(wick_kernel_set_has(wick_kernels_cpu(), nullptr), 0);
  EXPECT_EQ(wick_kernel_set_selected(nullptr), 0);
  wick_session_options options = WICK_INIT(wick_session_options);
  wick_session* session = nullptr;
  options.kernel_count = 1;
  REFUSED(wick_session_create(program_, &options, &session), "options.kernels");
  const wick_kernel_set* sets[] = {nullptr};
  options.kernels = sets;
  REFUSED(wick_session_create(program_, &options, &session), "options.kernels[0]");
  options.kernel_count = 0;
  EXPECT_EQ(wick_session_create(program_, &options, &session), WICK_INVALID_ARGUMENT);
  EXPECT_THAT(wick_last_error(), HasSubstr("options.kernels is there and has no sets"));
  EXPECT_EQ(session, nullptr);

  const wick_op_def* defs[] = {nullptr};
  wick_ops* ops = nullptr;
  REFUSED(wick_ops_create(nullptr, 1, &ops), "defs");
  REFUSED(wick_ops_create(defs, 1, &ops), "defs[0]");
  REFUSED(wick_ops_create(defs, 1, nullptr), "ops");
  EXPECT_EQ(ops, nullptr);
  wick_op_call call = {};
  REFUSED(wick_op_parallel(
              nullptr, 1, [](void*, int64_t, int) {}, nullptr),
          "call");
  REFUSED(wick_op_parallel(&call, 1, nullptr, nullptr), "task");
}

// The functions here that take pointers are those of the headers.
TEST_F(NullParts, OfEveryFunction) {
  auto text_of = [](const std::string& path) {
    std::ifstream in(source_dir(path));
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::string here = text_of("/tests/runtime/c_abi/null_parts_test.cc"),
                    there = text_of("/tests/vulkan/c_api_test.cc");
  const std::regex function(R"(WICK_API [^;(]*?(wick_\w+)\(([^;]*)\);)");
  size_t pointers = 0;
  for (const char* name : {"hooks", "kernels", "ops", "program", "session", "vulkan"}) {
    const std::string header = text_of("/runtime/include/wick/c/" + std::string(name) + ".h");
    const std::string& tested = name == std::string("vulkan") ? there : here;
    for (std::sregex_iterator i(header.begin(), header.end(), function), end; i != end; ++i) {
      if ((*i)[2].str().find('*') == std::string::npos) continue;
      ++pointers;
      EXPECT_THAT(tested, HasSubstr((*i)[1].str() + "(")) << name;
    }
  }
  EXPECT_GE(pointers, 55u);
}

#undef REFUSED

}  // namespace
}  // namespace wick
