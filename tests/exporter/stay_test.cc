// Weights that stay in the model's file until a session packs them: the same bits as with copies,
// no copy, and a file that was truncated or written to meanwhile is an error and nothing worse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "exporter/program/program_writer.h"
#include "graph/rewrite/pass.h"
#include "tests/exporter/model_builder.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "wick/error.h"

namespace wick::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int64_t kWide = 192;

std::string raw_weights(int64_t n, uint32_t seed) {
  std::string bytes(static_cast<size_t>(n) * sizeof(float), '\0');
  auto* w = reinterpret_cast<float*>(bytes.data());
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    w[i] = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
  return bytes;
}

void describe(onnx::ValueInfoProto* v, const std::string& name, const std::vector<int64_t>& dims) {
  v->set_name(name);
  auto* t = v->mutable_type()->mutable_tensor_type();
  t->set_elem_type(1);
  for (int64_t d : dims) {
    auto* dim = t->mutable_shape()->add_dim();
    if (d < 0)
      dim->set_dim_param("n");
    else
      dim->set_dim_value(d);
  }
}

// x [n,192,7,7] -> Conv 3x3 -> Conv 1x1 -> mean -> Gemm -> MatMul by a batch of matrices -> Gather
// rows of a table -> sum: weights that are packed, and some that are read as they are. Over 4 MB.
std::vector<uint8_t> model_bytes() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* g = model.mutable_graph();
  g->set_name("g");
  describe(g->add_input(), "x", {-1, kWide, 7, 7});
  auto weight = [&](const char* name, const std::vector<int64_t>& dims) {
    auto* t = g->add_initializer();
    t->set_name(name);
    t->set_data_type(1);
    int64_t n = 1;
    for (int64_t d : dims) t->add_dims(d), n *= d;
    t->set_raw_data(raw_weights(n, static_cast<uint32_t>(name[0])));
  };
  weight("a", {kWide, kWide, 3, 3});
  weight("b", {kWide, kWide, 1, 1});
  weight("fc", {4 * kWide, kWide});
  weight("matrices", {3, 4 * kWide, kWide});
  weight("table", {kWide, 4 * kWide});
  *g->add_node() = with_ints(node("Conv", {"x", "a"}, {"1"}), "pads", {1, 1, 1, 1});
  *g->add_node() = node("Relu", {"1"}, {"2"});
  *g->add_node() = node("Conv", {"2", "b"}, {"3"});
  *g->add_node() = node("GlobalAveragePool", {"3"}, {"4"});
  *g->add_node() = node("Flatten", {"4"}, {"5"});
  *g->add_node() = with_int(node("Gemm", {"5", "fc"}, {"6"}), "transB", 1);
  *g->add_node() = node("MatMul", {"6", "matrices"}, {"7"});
  *g->add_node() = with_int(node("ArgMax", {"5"}, {"rows"}), "axis", 1);
  *g->add_node() = node("Gather", {"table", "rows"}, {"8"});
  *g->add_node() = node("MatMul", {"7", "table"}, {"9"});
  *g->add_node() = with_int(node("ReduceSum", {"8"}, {"10"}), "keepdims", 0);
  *g->add_node() = node("Add", {"9", "10"}, {"y"});
  auto* y = g->add_output();
  y->set_name("y");
  y->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  const std::string s = model.SerializeAsString();
  return {s.begin(), s.end()};
}

class Stay : public testing::Test {
 protected:
  Stay() : path_(wick::test::temp_folder() + "wick_stay." + std::to_string(getpid()) + ".onnx") {
    write(path_);
  }
  ~Stay() override { std::filesystem::remove(path_); }
  static void write(const std::string& path) {
    static const std::vector<uint8_t> bytes = model_bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }
  // Opens it as a program whose weights stay in the model's file.
  struct Opened {
    LentProgram lent;
    Owned<Program> program;
    int unread() const {
      int n = 0;
      for (const HostTensor& t : lent.constants) n += t.unread() != nullptr ? 1 : 0;
      return n;
    }
  };
  Opened open(bool stay) const { return open(path_, stay); }
  static Opened open(const std::string& path, bool stay) {
    ir::Graph g = import_onnx(path, {.weights_stay = stay});
    ir::optimize(g);
    Opened o{lend_program(std::move(g)), {}};
    LoadOptions options;
    options.lent = o.lent.segments;
    auto program = Program::load(Span<const uint8_t>(o.lent.bytes), options);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (program.ok()) o.program = std::move(program.value());
    return o;
  }
  static Status run(Session& session, int64_t batch, std::vector<float>* y) {
    std::vector<float> x(static_cast<size_t>(batch * kWide * 49));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 37) * 0.05f - 0.9f;
    y->assign(static_cast<size_t>(3 * batch * 4 * kWide), 0);
    TensorView in(x.data(), DType::kF32, Shape{batch, kWide, 7, 7});
    TensorView out(y->data(), DType::kF32, Shape{3, batch, 4 * kWide});
    return session.run({&in, 1}, {&out, 1});
  }
  static std::vector<float> must_run(const Program& program, int64_t batch,
                                     const SessionOptions& options = {}) {
    auto session = Session::create(program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    std::vector<float> y;
    if (!session.ok()) return y;
    Status s = run(**session, batch, &y);
    EXPECT_TRUE(s.ok()) << s.message();
    return y;
  }

  std::string path_;
};

TEST_F(Stay, OnlyWhatIsNotPackedIsCopied) {
  const Opened copied = open(false);
  EXPECT_EQ(copied.unread(), 0);
  const std::vector<float> want = must_run(*copied.program, 2);
  for (int threads : {1, 2}) {
    const Opened o = open(true);
    EXPECT_EQ(o.unread(), 5);
    SessionOptions options;
    options.threads = threads;
    EXPECT_EQ(must_run(*o.program, 2, options), want) << threads;
    // the matrices of a batch and the table, whose rows are gathered, are read as they are
    const int left = o.unread();
    auto session = Session::create(*o.program, options);
    std::vector<float> y;
    ASSERT_TRUE(session.ok() && run(**session, 2, &y).ok());
    if ((*session)->packed_form_count() == 0) GTEST_SKIP() << "not supported by this CPU";
    EXPECT_EQ(left, 3) << threads;
    EXPECT_EQ(must_run(*o.program, 2, options), want) << "a second session";
    EXPECT_EQ(must_run(*o.program, 5, options), must_run(*copied.program, 5)) << "another batch";
  }
}

TEST_F(Stay, EveryOtherReaderFindsThem) {
  const Opened copied = open(false), o = open(true);
  static const KernelSet* const kReference[] = {&kReferenceKernels};
  SessionOptions plain;
  plain.kernels = kReference;
  EXPECT_EQ(must_run(*o.program, 1, plain), must_run(*copied.program, 1, plain));
  EXPECT_EQ(o.unread(), 0);
  struct Hook final : TraceHook {
    void on_op(const TraceEvent& e) override {
      for (const TensorView& v : e.in)
        if (v.dtype == DType::kF32) sum += v.as<float>()[v.numel() - 1];
    }
    double sum = 0;
  } hook, want;
  SessionOptions traced;
  const Opened seen = open(true);
  traced.trace = &want;
  must_run(*copied.program, 1, traced);
  traced.trace = &hook;
  must_run(*seen.program, 1, traced);
  EXPECT_EQ(hook.sum, want.sum);
  // passes, the text form, the writers
  ir::Graph g = import_onnx(path_, {.weights_stay = true});
  EXPECT_EQ(ir::print(g, true), ir::print(import_onnx(path_), true));
  EXPECT_EQ(program_bytes(import_onnx(path_, {.weights_stay = true})),
            program_bytes(import_onnx(path_)));
}

// Whatever happens to the file, at every point of the way: an error or the bits that were there.
TEST_F(Stay, AFileThatChangesIsAnErrorAndNothingWorse) {
  const Opened copied = open(false);
  const std::vector<float> want = must_run(*copied.program, 1);
  {
    const Opened replaced = open(true);
    std::ofstream(path_ + ".new") << "something else";
    std::filesystem::rename(path_ + ".new", path_);
    EXPECT_EQ(must_run(*replaced.program, 1), want);
    EXPECT_THAT(error_of([&] { import_onnx(path_, {.weights_stay = true}); }),
                HasSubstr("damaged"));
  }
  const std::function<void()> changes[] = {
      [&] { std::filesystem::resize_file(path_, 0); },
      [&] { std::filesystem::resize_file(path_, 100000); },
      [&] { std::filesystem::resize_file(path_, std::filesystem::file_size(path_) + 1); },
      [&] {
        std::fstream out(path_, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(50000) << "other weights";
        out.close();
        const auto now = std::filesystem::last_write_time(path_);
        std::filesystem::last_write_time(path_, now + std::chrono::seconds(1));
      },
  };
  for (const auto& change : changes) {
    for (int threads : {1, 2}) {
      std::filesystem::remove(path_);
      write(path_);
      const Opened o = open(true);
      SessionOptions options;
      options.threads = threads;
      auto before = Session::create(*o.program, options);
      ASSERT_TRUE(before.ok());
      std::vector<float> y;
      ASSERT_TRUE(run(**before, 1, &y).ok());
      change();
      ASSERT_TRUE(run(**before, 1, &y).ok());  // it has what it needs
      EXPECT_EQ(y, want);
      EXPECT_EQ(must_run(*o.program, 1, options), want) << "it shares what was packed";
      before->reset();
      auto after = Session::create(*o.program, options);
      for (int again = 0; again < 2 && o.unread() != 0; ++again) {
        const Status s = after.ok() ? run(**after, 1, &y) : after.status();
        EXPECT_EQ(s.code(), Code::kIo);
        EXPECT_THAT(s.message(), ContainsRegex("was (cut|changed) while the model was open"));
      }
    }
  }
}

// So do weights in a file beside the model.
TEST_F(Stay, InExternalDataToo) {
  const std::string path = path_ + ".external.onnx";
  const OnnxFile written = export_onnx(import_onnx(path_), path, {.external_data = true});
  const Opened copied = open(path, false);
  EXPECT_EQ(copied.unread(), 0);
  const std::vector<float> want = must_run(*copied.program, 2);
  const Opened o = open(path, true);
  EXPECT_EQ(o.unread(), 5);
  {
    auto session = Session::create(*o.program);
    std::vector<float> y;
    ASSERT_TRUE(session.ok() && run(**session, 2, &y).ok());
    EXPECT_EQ(y, want);
    if ((*session)->packed_form_count() == 0) GTEST_SKIP() << "not supported by this CPU";
    EXPECT_EQ(o.unread(), 3) << "what is packed is not in memory as well";
    std::filesystem::resize_file(written.data_path, 4096);
    ASSERT_TRUE(run(**session, 2, &y).ok());
    EXPECT_EQ(y, want);
  }
  auto after = Session::create(*o.program);
  std::vector<float> y;
  const Status s = after.ok() ? run(**after, 2, &y) : after.status();
  EXPECT_EQ(s.code(), Code::kIo);
  EXPECT_THAT(s.message(), ContainsRegex("was (cut|changed) while the model was open"));
  EXPECT_THAT(error_of([&] { import_onnx(path, {.weights_stay = true}); }),
              HasSubstr("is too short for"));
  std::filesystem::remove(written.data_path);
  EXPECT_THAT(error_of([&] { import_onnx(path, {.weights_stay = true}); }),
              HasSubstr("no such file"));
  std::filesystem::remove(path);
}

// The model's own structure is read with care, too: cut anywhere, it is an error.
TEST_F(Stay, AFileCutAnywhereIsRefused) {
  const uint64_t size = std::filesystem::file_size(path_);
  for (uint64_t n : {size - 1, size - 1000, size / 2, size / 3, uint64_t{4300000}, uint64_t{77}}) {
    std::filesystem::resize_file(path_, n);
    EXPECT_THAT(error_of([&] { import_onnx(path_, {.weights_stay = true}); }), HasSubstr("damaged"))
        << n;
  }
}

}  // namespace
}  // namespace wick::test
