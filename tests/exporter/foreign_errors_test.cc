// Exceptions other than wick::Error thrown while a model is read: the user sees a wick::Error that
// names the place.
#include <gmock/gmock.h>

#include <new>
#include <stdexcept>

#include "runtime/registry/registry.h"
#include "tests/exporter/model_builder.h"
#include "wick/custom_op.h"

namespace wick::test {
namespace {

Status run(const KernelCtx&, Span<const TensorView>, Span<TensorView>, const void*) { return {}; }
constexpr KernelRow kRows[] = {kernel_row<float>("throws.f32", run)};

// The attributes of an op are set up where a node is read: an op that throws there stands for all
// that may.
int g_thrown = 0;
void set_up(void*) {
  if (g_thrown == 1) throw std::bad_alloc();
  if (g_thrown == 2) throw std::length_error("vector::_M_default_append");
}
constexpr AttrType kThrowing = {"Throwing", 0, {}, set_up};
constexpr CustomOp kOp = {
    .domain = "throws", .name = "Setup", .attrs = &kThrowing, .kernels = kRows};

TEST(ForeignErrors, NameTheNode) {
  register_op(kOp);
  auto reading = [](int thrown) {
    Build b;
    b.input("x", DType::kF32, {"2"});
    NodeProto n = node("Setup", {"x"}, {"y"});
    n.set_domain("throws"), n.set_name("it");
    auto& import = *b.model.add_opset_import();
    import.set_domain("throws"), import.set_version(1);
    b.add(n).output("y");
    g_thrown = thrown;
    std::pair<Code, std::string> what{Code::kOk, ""};
    try {
      import_onnx_bytes(b.bytes());
    } catch (const Error& e) {
      what = {e.code(), e.what()};
    }
    g_thrown = 0;
    return what;
  };
  EXPECT_EQ(reading(0), std::pair(Code::kOk, std::string()));
  EXPECT_EQ(reading(1), std::pair(Code::kOutOfMemory, std::string("Setup 'it': out of memory")));
  EXPECT_EQ(reading(2),
            std::pair(Code::kInternal, std::string("Setup 'it': vector::_M_default_append")));
}

}  // namespace
}  // namespace wick::test
