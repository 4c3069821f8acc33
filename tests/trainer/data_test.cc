// Files of numbers, the loader's order, optimizers against their formulas in double, safetensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>

#include "tests/support/error_of.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/idx.h"
#include "trainer/data/image/images.h"
#include "trainer/data/loader.h"
#include "trainer/data/npy.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lr/lr_scheduler.h"
#include "trainer/optim/sgd.h"

namespace wick {
namespace {

using test::error_of;

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wick_data_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder_;
};

using DataFiles = Folder;

TEST_F(DataFiles, IdxPlainAndGzip) {
  std::string bytes("\0\0\x0b\x02\0\0\0\x02\0\0\0\x01\x01\x02\xff\xfe", 16);  // i16 [2,1]: 258, -2
  std::string gz = path("b.gz");
  gzFile file = gzopen(gz.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  for (const std::string& p : {write("a", bytes), gz}) {
    data::HostArray a = data::read_idx(p);
    EXPECT_EQ(a.dtype, DType::kI16);
    EXPECT_EQ(a.shape, (Shape{2, 1}));
    EXPECT_EQ(a.as<int16_t>()[0], 258);
    EXPECT_EQ(a.as<int16_t>()[1], -2);
  }
  std::string whole = read("b.gz");
  std::string cut = write("cut.gz", whole.substr(0, whole.size() - 9));
  EXPECT_THAT(error_of([&] { data::read_idx(cut); }), HasSubstr("cut"));
  whole[whole.size() - 6] ^= 1;  // the checksum
  std::string bad = write("bad.gz", whole);
  EXPECT_THAT(error_of([&] { data::read_idx(bad); }), HasSubstr("damaged"));
}

TEST_F(DataFiles, IdxHeadersThatLie) {
  std::string head("\0\0\x08\x01\0\0\0\x04", 8);
  auto fails = [&](const std::string& bytes) {
    std::string p = write("x", bytes);
    return error_of([&] { data::read_idx(p); });
  };
  EXPECT_THAT(fails(head + "abc"), HasSubstr("data cut short: 3 of 4"));
  EXPECT_THAT(fails(head + "abcde"), HasSubstr("more bytes"));
  EXPECT_THAT(fails("\x1f"), HasSubstr("magic cut short"));
  EXPECT_THAT(fails(std::string("\0\0\x07\x01", 4)), HasSubstr("not an IDX"));
  EXPECT_THAT(fails(std::string("\0\0\x08\x09", 4)), HasSubstr("rank 9"));
  EXPECT_THAT(
      fails(std::string("\0\0\x0e\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16)),
      HasSubstr("budget"));
  // Four gigabytes announced, three bytes there: refused without holding four gigabytes.
  EXPECT_THAT(fails(std::string("\0\0\x08\x01\xff\xff\xff\xff"
                                "abc",
                                11)),
              HasSubstr("cut short: 3 of"));
  std::string four = write("four", head + "abcd");
  EXPECT_THAT(error_of([&] { data::read_idx(four, 3); }), HasSubstr("budget of 3 bytes"));
  EXPECT_EQ(data::read_idx(four, 4).bytes.size(), 4u);
  EXPECT_THAT(error_of([&] { data::read_idx(path("none")); }), HasSubstr("cannot open"));
}

TEST_F(DataFiles, NpyRoundTripAndFortran) {
  std::vector<float> v(6);
  std::iota(v.begin(), v.end(), 0.0f);
  data::write_npy(path("a.npy"), TensorView(v.data(), DType::kF32, {2, 3}));
  EXPECT_EQ(read("a.npy").size() % 64, 24u);  // data at a multiple of 64
  data::HostArray a = data::read_npy(path("a.npy"));
  EXPECT_EQ(a.shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(a.bytes.data(), static_cast<const void*>(v.data()), 24), 0);
  for (DType t : {DType::kC64, DType::kC128}) {
    const std::vector<double> parts = {1, -2, 3, 4, 5, 6};
    const Shape rows{t == DType::kC64 ? 6 : 3};
    data::write_npy(path("c.npy"), TensorView(const_cast<double*>(parts.data()), t, rows));
    const data::HostArray c = data::read_npy(path("c.npy"));
    EXPECT_EQ(c.dtype, t);
    EXPECT_EQ(c.shape, rows);
    EXPECT_EQ(std::memcmp(c.bytes.data(), parts.data(), c.bytes.size()), 0);
    std::string turned = read("c.npy");
    turned[turned.find('<')] = '>';
    EXPECT_THAT(error_of([&] { data::read_npy(write("big.npy", turned)); }),
                HasSubstr("turns it round"));
  }
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n";
  std::string file =
      std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (int32_t i : {0, 10, 1, 11, 2, 12}) file.append(reinterpret_cast<const char*>(&i), 4);
  data::HostArray f = data::read_npy(write("f.npy", file));
  EXPECT_THAT(std::vector<int32_t>(f.as<int32_t>(), f.as<int32_t>() + 6),
              ::testing::ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(error_of([&] { data::read_npy(path("f.npy"), 23); }), HasSubstr("budget of 23"));
  for (size_t n = 0; n < file.size(); ++n) {  // every truncation is an error, none a crash
    std::string p = write("t.npy", file.substr(0, n));
    EXPECT_THROW(data::read_npy(p), Error) << n;
  }
}

TEST(ImageData, MissingSaysWhatToInstall) {
  EXPECT_THAT(error_of([] { data::open_images("/nonexistent/folder"); }),
              HasSubstr("apt install dataset-fashion-mnist"));
}

TEST(Loader, PermutationOfItsOwn) {
  std::vector<int64_t> a = data::epoch_permutation(1000, 7, 3);
  EXPECT_EQ(a, data::epoch_permutation(1000, 7, 3));
  EXPECT_NE(a, data::epoch_permutation(1000, 7, 4));
  EXPECT_NE(a, data::epoch_permutation(1000, 8, 3));
  std::sort(a.begin(), a.end());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(a[static_cast<size_t>(i)], i);
  // Each of the six orders of three things comes up about as often: 6000 draws, 6 sigma of the
  // binomial is 173.
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) ++counts[data::epoch_permutation(3, 1, epoch)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, n] : counts) EXPECT_NEAR(n, 1000, 173);
}

std::vector<int64_t> read_epoch(data::DataLoader& loader) {
  std::vector<int64_t> all;
  data::Batch batch;
  while (loader.next(batch)) {
    for (int64_t v : batch[0].to_vector<int64_t>()) all.push_back(v);
    all.push_back(-1);  // end of a batch
  }
  return all;
}

TEST(Loader, WorkersChangeNothingAndPositionsResume) {
  auto dataset = std::make_shared<data::TensorDataset>(std::vector<Tensor>{arange(103)});
  data::LoaderOptions options;
  options.batch_size = 10;
  options.shuffle = true;
  options.seed = 5;
  data::DataLoader alone(dataset, options);
  std::vector<int64_t> first = read_epoch(alone), second = read_epoch(alone);
  EXPECT_EQ(first.size(), 103u + 11u);
  EXPECT_NE(first, second);
  for (int workers : {1, 3}) {
    options.workers = workers;
    data::DataLoader many(dataset, options);
    EXPECT_EQ(read_epoch(many), first);
    data::Batch batch;
    ASSERT_TRUE(many.next(batch) && many.next(batch));
    data::DataLoader later(dataset, options);
    later.seek(many.position());
    EXPECT_EQ(read_epoch(later), std::vector<int64_t>(second.begin() + 22, second.end()));
  }
  options.drop_last = true;
  data::DataLoader dropping(dataset, options);
  EXPECT_EQ(read_epoch(dropping).size(), 110u);
}

TEST(Loader, ErrorsNameTheItem) {
  struct Broken : data::Dataset {
    int64_t size() const override { return 10; }
    std::vector<Tensor> get(int64_t i) const override {
      if (i == 7) throw std::runtime_error("torn page");
      return {full({2}, static_cast<float>(i))};
    }
  };
  for (int workers : {0, 2}) {
    data::LoaderOptions options;
    options.batch_size = 4;
    options.workers = workers;
    data::DataLoader loader(std::make_shared<Broken>(), options);
    data::Batch batch;
    ASSERT_TRUE(loader.next(batch));
    EXPECT_EQ(batch[0].to_vector<float>()[6], 3.0f);
    for (int again = 0; again < 2; ++again) {
      EXPECT_THAT(error_of([&] { loader.next(batch); }), HasSubstr("batch 1: item 7: torn page"));
    }
    EXPECT_EQ(loader.position().batch, 1);
  }
}

// p and its gradients of twenty steps, in double, from a formula a reader can check.
double gradient(int step, double p) { return std::sin(3.0 * step) + 0.3 * p; }

template <class Make, class Reference>
void expect_trajectory(Make make, Reference reference) {
  Tensor p = full({70001}, 0.7, DType::kF64);  // several chunks
  p.requires_grad_();
  auto optimizer = make(p);
  double q = 0.7;
  for (int step = 1; step <= 20; ++step) {
    p.set_grad(full({70001}, gradient(step, q), DType::kF64));
    optimizer.step();
    q = reference(step, q, gradient(step, q));
    for (size_t i : {size_t{0}, size_t{40000}, size_t{70000}}) {
      ASSERT_NEAR(p.data<double>()[i], q, 1e-12) << "step " << step;
    }
  }
}

TEST(Optim, SgdFollowsPyTorchsFormula) {
  for (int flags = 0; flags < 16; ++flags) {
    optim::SgdOptions o;
    o.lr = 0.1;
    o.momentum = flags & 1 ? 0.9 : 0;
    o.weight_decay = flags & 2 ? 0.05 : 0;
    o.maximize = flags & 4;
    o.nesterov = (flags & 9) == 9;
    o.dampening = (flags & 9) == 1 ? 0.25 : 0;
    double buffer = 0;
    expect_trajectory([&](const Tensor& p) { return optim::SGD({p}, o); },
                      [&](int step, double p, double g) {
                        if (o.maximize) g = -g;
                        g += o.weight_decay * p;
                        if (o.momentum != 0) {
                          buffer = step == 1 ? g : o.momentum * buffer + (1 - o.dampening) * g;
                          g = o.nesterov ? g + o.momentum * buffer : buffer;
                        }
                        return p - o.lr * g;
                      });
  }
}

template <class Optimizer, bool kDecoupled>
void adam_trajectories() {
  for (int flags = 0; flags < 8; ++flags) {
    optim::AdamOptionsOf<kDecoupled> o;
    o.lr = 0.05;
    o.weight_decay = flags & 1 ? 0.1 : 0;
    o.amsgrad = flags & 2;
    o.maximize = flags & 4;
    o.eps = 1e-3;
    double m = 0, v = 0, top = 0;
    expect_trajectory([&](const Tensor& p) { return Optimizer({p}, o); },
                      [&](int step, double p, double g) {
                        if (o.maximize) g = -g;
                        if (kDecoupled) {
                          p *= 1 - o.lr * o.weight_decay;
                        } else {
                          g += o.weight_decay * p;
                        }
                        m = 0.9 * m + 0.1 * g;
                        v = 0.999 * v + 0.001 * g * g;
                        top = std::max(top, v);
                        double s = o.amsgrad ? top : v;
                        double hat = std::sqrt(s) / std::sqrt(1 - std::pow(0.999, step)) + o.eps;
                        return p - o.lr / (1 - std::pow(0.9, step)) * m / hat;
                      });
  }
}
TEST(Optim, AdamFollowsPyTorchsFormula) { adam_trajectories<optim::Adam, false>(); }
TEST(Optim, AdamWFollowsPyTorchsFormula) { adam_trajectories<optim::AdamW, true>(); }

TEST(Optim, StateGoesOnToTheBit) {
  auto run = [](bool restart) {
    Tensor p = full({5}, 0.3f);
    p.requires_grad_();
    optim::AdamOptions o;
    o.amsgrad = true;
    auto optimizer = std::make_unique<optim::Adam>(std::vector<Tensor>{p}, o);
    for (int step = 0; step < 10; ++step) {
      if (restart && step == 6) {
        optim::OptimizerState state = optimizer->state_dict();
        optimizer = std::make_unique<optim::Adam>(std::vector<Tensor>{p}, optim::AdamOptions{});
        optimizer->load_state_dict(state);
      }
      p.set_grad(full({5}, static_cast<float>(gradient(step, 1))));
      optimizer->step();
    }
    return p.to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Optim, CosineWithWarmup) {
  Tensor p = zeros({1});
  p.requires_grad_();
  optim::SgdOptions o;
  o.lr = 2.0;
  optim::SGD sgd({p}, o);
  optim::CosineAnnealingLR schedule(sgd, 14, 0.5, 4);
  for (int t = 0; t <= 14; ++t, schedule.step()) {
    double want =
        t < 4 ? 0.5 * (t + 1) : 0.5 + 0.75 * (1 + std::cos(std::numbers::pi * (t - 4) / 10));
    EXPECT_NEAR(sgd.lr(), want, 1e-15) << t;
  }
}

using Checkpoint = Folder;

TEST_F(Checkpoint, SafetensorsRoundTrip) {
  nn::NamedTensors state = {{"a.flag", full({3}, 1, DType::kBool)},
                            {"a.weight", arange(6, DType::kF32).reshape({2, 3})},
                            {"n", full(Shape(), 5, DType::kI64)}};
  save_safetensors(path("s"), state, {{"k", "v\"\n"}});
  Safetensors back = load_safetensors(path("s"));
  EXPECT_EQ(back.metadata.at("k"), "v\"\n");
  EXPECT_EQ(state_sha256(back.tensors), state_sha256(state));
  back.tensors[0].second.fill_(9);
  EXPECT_NE(state_sha256(back.tensors), state_sha256(state));
}

TEST_F(Checkpoint, HostileFilesAreErrors) {
  auto file = [&](const std::string& json, const std::string& bytes) {
    std::string s(8, '\0');
    for (int i = 0; i < 8; ++i)
      s[static_cast<size_t>(i)] = static_cast<char>(json.size() >> (8 * i));
    return s + json + bytes;
  };
  auto fails = [&](const std::string& bytes) {
    std::string p = write("h", bytes);
    return error_of([&] { load_safetensors(p); });
  };
  std::string one = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(fails(file(one, "12345678")), "no error");
  EXPECT_THAT(fails(file(one, "1234567")), HasSubstr("bytes of data"));
  EXPECT_THAT(fails(file(one, "123456789")), HasSubstr("bytes of data"));
  EXPECT_THAT(fails(file(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("does not fit"));
  EXPECT_THAT(fails(file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                         "123456")),
              HasSubstr("overlaps"));
  EXPECT_THAT(fails(file(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                         R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                         "")),
              HasSubstr("twice"));
  EXPECT_THAT(fails(file(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("no size"));
  EXPECT_THAT(fails(file(std::string(100000, '['), "")), HasSubstr("too deep"));
  EXPECT_THAT(fails(std::string(8, '\xff')), HasSubstr("header of"));
  std::string good = file(one, "12345678");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(fails(good.substr(0, n)), "no error") << n;
}

TEST_F(Checkpoint, FullDiskLeavesTheOldFile) {
  save_safetensors(path("s"), {{"w", zeros({4})}});
  std::string before = read("s");
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = {4096, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message = error_of([&] { save_safetensors(path("s"), {{"w", zeros({4096})}}); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write"));
  EXPECT_THAT(message, HasSubstr("older file of this name is unchanged"));
  EXPECT_EQ(read("s"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // no temporary file is left
}

}  // namespace
}  // namespace wick
