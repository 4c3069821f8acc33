// MLPerf Tiny's models (shared data folder) beside LiteRT's answers by its reference kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/exporter/tflite_files.h"
#include "tests/runtime/programs.h"
#include "wick/compile.h"

namespace wick {
namespace {

using Arrays = std::map<std::string, HostTensor>;

// Returns sample i of an array [samples, sizes..], in the sizes of `like`.
HostTensor sample(const HostTensor& all, int64_t i, const ir::Value& like) {
  const size_t bytes = all.nbytes() / static_cast<size_t>(all.shape()[0]);
  return HostTensor(all.dtype(), to_static(like.shape),
                    static_cast<const char*>(all.data()) + static_cast<size_t>(i) * bytes, bytes);
}

class TfliteModels : public testing::Test {
 protected:
  void SetUp() override {
    const char* shared = getenv("WICK_SHARED");
    const std::string root = shared != nullptr ? shared : source_dir("/../shared");
    folder_ = root + "/models/mlperf-tiny/";
    if (!std::filesystem::exists(folder_ + "refs.npz")) {
      std::printf("skipped: no shared data folder (set WICK_SHARED)\n");
      GTEST_SKIP() << "no shared data folder (set WICK_SHARED)";
    }
    for (const auto& [key, array] : data::read_npz(folder_ + "refs.npz"))
      refs_[key] = test::host_tensor(array);
  }

  // Calls see(ours, LiteRT's) for each sample, ours from a session.
  template <class See>
  void run(const std::string& name, See see) {
    ir::LowerReport report;
    const ir::Graph g =
        import_tflite(folder_ + name + ".tflite", {.lower_qdq = true, .lowered = &report});
    EXPECT_EQ(report.text(), "") << name << ": all of it must be integers";
    const auto transposes =
        std::count_if(g.nodes().begin(), g.nodes().end(),
                      [](const ir::Node& n) { return n.op == OpId::kTranspose; });
    EXPECT_LE(transposes, 1) << name << ": an image is turned where it comes in, and nowhere else";
    const std::vector<uint8_t> file = compile_program(g);
    const test::AlignedBytes bytes = test::aligned_copy(file);
    auto program = Program::load(Span<const uint8_t>(bytes.get(), file.size()));
    ASSERT_TRUE(program.ok()) << program.status().message();
    auto session = Session::create(**program);
    ASSERT_TRUE(session.ok()) << session.status().message();
    const HostTensor &in = refs_.at(name + "/in"), &out = refs_.at(name + "/out");
    for (int64_t i = 0; i < in.shape()[0]; ++i) {
      const HostTensor x = sample(in, i, g.value(g.inputs()[0]));
      const TensorView view = x.view();
      TensorView y;
      const Status ran = (*session)->run({&view, 1}, {&y, 1});
      ASSERT_TRUE(ran.ok()) << ran.message();
      see(HostTensor(y.dtype, y.shape, y.data, y.nbytes()),
          sample(out, i, g.value(g.outputs()[0].value)));
    }
  }

  std::string folder_;
  Arrays refs_;
};

TEST_F(TfliteModels, FloatsAreLiteRTs) {
  for (const char* name : {"ad_float", "ic_float", "kws_float", "vww_float"}) {
    double worst = 0;
    run(name, [&](const HostTensor& got, const HostTensor& want) {
      ASSERT_TRUE(got.shape() == want.shape() && got.dtype() == DType::kF32) << name;
      double largest = 1, apart = 0;
      for (int64_t i = 0; i < want.numel(); ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(want.as<float>()[i])));
        apart = std::max(apart, std::fabs(static_cast<double>(got.as<float>()[i]) -
                                          static_cast<double>(want.as<float>()[i])));
      }
      worst = std::max(worst, apart / largest);
    });
    std::printf("%s: %.2e of the largest output apart\n", name, worst);
    EXPECT_LE(worst, 1e-5) << name;
  }
}

// TensorFlow Lite rounds a sum twice, once by the multiplier's 31 bits and once by its shift, so
// that one result of a convolution in some 500 is a step off Wick's, and what follows adds to it.
TEST_F(TfliteModels, BytesAreNearLiteRTs) {
  struct Want {
    const char* name;
    double equal;  // the share of equal outputs, at least
    int steps;     // apart, at most
    int same;      // of 16 samples, those whose largest output is LiteRT's
  };
  for (const Want& w :
       {Want{"ad_int8", 1, 0, 16}, Want{"ic_int8", 0.79, 22, 16}, Want{"kws_int8", 0.97, 3, 16},
        Want{"sww_int8", 0.97, 1, 16}, Want{"vww_int8", 0.68, 1, 16}}) {
    int64_t equal = 0, all = 0, most = 0, same = 0;
    run(w.name, [&](const HostTensor& got, const HostTensor& want) {
      ASSERT_TRUE(got.shape() == want.shape() && got.dtype() == DType::kI8) << w.name;
      const auto *ours = got.as<int8_t>(), *theirs = want.as<int8_t>();
      for (int64_t i = 0; i < want.numel(); ++i) {
        const int64_t d = std::abs(ours[i] - theirs[i]);
        ++all, equal += d == 0 ? 1 : 0;
        most = std::max(most, d);
      }
      same += std::max_element(ours, ours + want.numel()) - ours ==
                      std::max_element(theirs, theirs + want.numel()) - theirs
                  ? 1
                  : 0;
    });
    const double share = static_cast<double>(equal) / static_cast<double>(all);
    std::printf("%s: %.2f %% of %lld outputs equal, at most %lld steps apart, %lld of 16 maxima\n",
                w.name, 100 * share, static_cast<long long>(all), static_cast<long long>(most),
                static_cast<long long>(same));
    EXPECT_GE(share, w.equal) << w.name;
    EXPECT_LE(most, w.steps) << w.name;
    EXPECT_GE(same, w.same) << w.name;
  }
}

}  // namespace
}  // namespace wick
