// Tensors without elements but with other dims of 2^40 and 2^55: each row's samples with one of
// their sizes 0 and another one large, as far as the rule accepts them. Nothing may loop over
// elements that do not exist: the kernels' work is in proportion to the elements that there are.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>

#include "runtime/core/arena.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/rule.h"
#include "tests/ops/rows.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &kTest_##Name,
#define WICK_TESTED_kTrain(Name) &kTest_##Name,
#define WICK_TESTED_kControl(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr size_t kMostBytes = 1 << 20;     // of one tensor
constexpr size_t kMostScratch = 64 << 20;  // sessions refuse more by max_ram
constexpr int kSeconds = 5;                // for a call that should take no time

// The case that runs at the moment. Its processor time is watched, which a busy machine does not
// use up.
char g_case[2000];
void too_long(int) {
  const char head[] = "loops over what is not there: ";
  (void)!write(STDERR_FILENO, head, sizeof(head) - 1);
  (void)!write(STDERR_FILENO, g_case, strlen(g_case));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(1);
}
void watch(int seconds) {
  itimerval timer = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::string text_of(const Sample& s) {
  std::string text = s.name + ":";
  for (const Input& in : s.in)
    text += fmt::format(" {}{}", dtype_name(in.dtype), to_text(in.shape).text);
  return text;
}

// A place where a sample gives a size: a dim of an input, an element of an input that is a shape or
// the like, or an attribute.
struct Place {
  enum Kind { kDim, kValue, kInt, kList } kind;
  size_t of;     // the input, or the field
  size_t index;  // in it
};

const AttrType& attrs_of(OpId op) { return *find_op(op)->attrs; }

// A copy whose places may be written.
class Changed {
 public:
  Changed(OpId op, const Sample& s) : type_(attrs_of(op)), sample_(s), bytes_(type_.size / 8 + 1) {
    if (type_.size > 0) memcpy(bytes_.data(), s.attrs.get(), type_.size);
  }
  const Sample& sample() const { return sample_; }
  const void* attrs() const { return bytes_.data(); }

  std::vector<std::pair<Place, int64_t>> places() const {
    std::vector<std::pair<Place, int64_t>> all;
    for (size_t k = 0; k < sample_.in.size(); ++k) {
      const Input& in = sample_.in[k];
      for (int d = 0; d < in.shape.rank(); ++d)
        all.push_back({{Place::kDim, k, static_cast<size_t>(d)}, in.shape[d]});
      for (size_t i = 0; i < in.values.size() && is_int(in.dtype) && i < 16; ++i)
        all.push_back({{Place::kValue, k, i}, static_cast<int64_t>(in.values[i])});
    }
    for (size_t f = 0; f < type_.fields.size(); ++f) {
      const AttrField& field = type_.fields[f];
      if (field.kind == AttrKind::kInt)
        all.push_back({{Place::kInt, f, 0}, attr_int(field, const_cast<int64_t*>(bytes_.data()))});
      if (field.kind != AttrKind::kInts) continue;
      const auto list = attr_ints(field, bytes_.data());
      for (size_t i = 0; i < list.size(); ++i) all.push_back({{Place::kList, f, i}, list[i]});
    }
    return all;
  }
  void set(const Place& p, int64_t v) {
    switch (p.kind) {
      case Place::kDim: sample_.in[p.of].shape[static_cast<int>(p.index)] = v; break;
      case Place::kValue: sample_.in[p.of].values[p.index] = static_cast<double>(v); break;
      case Place::kInt: attr_int(type_.fields[p.of], bytes_.data()) = v; break;
      case Place::kList: {
        const AttrField& field = type_.fields[p.of];
        const auto list = attr_ints(field, bytes_.data());
        const_cast<int64_t*>(list.data())[p.index] = v;
      }
    }
  }

 private:
  const AttrType& type_;
  Sample sample_;
  std::vector<int64_t> bytes_;
};

struct Counts {
  int64_t asked = 0, ran = 0;
};
Counts& total() {
  static Counts counts;
  return counts;
}

// Calls as an eager one or a session makes them, under the watch.
class EmptyCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() { signal(SIGPROF, too_long); }
  static void TearDownTestSuite() {
    signal(SIGPROF, SIG_DFL);
    printf("COUNT: empty: %lld calls with a 0 beside a large dim, %lld ran\n",
           static_cast<long long>(total().asked), static_cast<long long>(total().ran));
  }

  // The rule, then the kernel of each set; what is packed.
  void call(OpId op, const Changed& c) {
    Sample s = c.sample();
    std::string attrs;
    for (const auto& [place, v] : c.places()) {
      if (place.kind != Place::kDim) attrs += fmt::format(" {}", v);
    }
    snprintf(g_case, sizeof(g_case), "%s %s attributes%s", find_op(op)->name, text_of(s).c_str(),
             attrs.c_str());
    watch(kSeconds);
    call(op, c.attrs(), std::move(s));
    watch(0);
  }

 private:
  void call(OpId op, const void* attrs, Sample s) {
    ++total().asked;
    bool empty = false;
    for (Input& in : s.in) {
      if (in.dtype == DType::kNone) continue;
      auto bytes = checked_bytes(in.shape, dtype_bits(in.dtype));
      if (!bytes.ok() || *bytes > kMostBytes) return;
      empty = empty || *bytes == 0;
      const auto n = static_cast<size_t>(numel(in.shape));
      if (!in.values.empty()) in.values.resize(n);
      if (!in.strings.empty()) in.strings.resize(n);
    }
    if (!empty) return;
    const std::vector<Value> values = make_inputs(s);
    for (Span<const KernelSet* const> sets : {reference_sets(), cpu_sets()})
      call(op, attrs, values, s.outputs, sets);
  }

  void call(OpId op, const void* attrs, const std::vector<Value>& values, int outputs,
            Span<const KernelSet* const> sets) {
    std::vector<ValueInfo<int64_t>> infos, made(static_cast<size_t>(outputs));
    std::vector<std::vector<int64_t>> elements(values.size());
    for (size_t k = 0; k < values.size(); ++k) {
      const TensorView v = values[k].view();
      ValueInfo<int64_t> info{v.dtype, v.shape, nullptr, 0};
      const bool reals = v.present() && holds_reals(op, k, v.dtype, v.rank());
      if (is_container(v.dtype)) {
        info.elements = v.as<int64_t>();
        info.element_count = v.numel() / 8;
      } else if (v.present() && (is_int(v.dtype) || reals) && v.numel() <= 64) {
        for (int64_t i = 0; i < v.numel(); ++i)
          elements[k].push_back(reals ? real_bits_at(v.dtype, v.data, i)
                                      : static_cast<int64_t>(values[k].at(i)));
        elements[k].push_back(0);
        info.elements = elements[k].data();
        info.element_count = v.numel();
      }
      infos.push_back(info);
    }
    RuleCtx<int64_t> rule{op, attrs, infos, made};
    if (!infer_shapes(rule).ok()) return;
    std::vector<Value> results;
    for (const auto& o : made) {
      auto bytes = checked_bytes(o.shape, dtype_bits(o.dtype));
      if (!bytes.ok() || *bytes > kMostBytes) return;
      results.emplace_back(o.dtype, o.shape);
    }
    std::vector<TensorView> in = views(values), out = views(results);
    const KernelQuery query{op, attrs, in, out, 1};
    PreparedKernel kernel;
    if (!kernel.prepare(sets, query).ok() || kernel.scratch_bytes() > kMostScratch) return;
    std::vector<Value> rooms = {Value(DType::kU8, {static_cast<int64_t>(kernel.scratch_bytes())})};
    Arena strings(default_allocator());
    static_cast<void>(kernel.run({nullptr, rooms[0].view().data, &strings}, op, in, out, attrs));
    ++total().ran;
    for (int slot = 0; slot < kMaxPacked; ++slot) {
      const KernelPlan::Pack* want = kernel.pack_of(slot);
      if (want == nullptr || static_cast<size_t>(want->input) >= in.size() ||
          !in[static_cast<size_t>(want->input)].present() || want->bytes > kMostScratch)
        continue;
      rooms.emplace_back(DType::kU8, Shape{static_cast<int64_t>(want->bytes)});
      static_cast<void>(kernel.pack(query, slot, rooms.back().view().data));
    }
  }
};

class EmptyRows : public EmptyCalls, public testing::WithParamInterface<const TestRow*> {};

constexpr int64_t kLarge[] = {int64_t{1} << 40, int64_t{1} << 55};

// Every place of one number changed together, as a batch or a channel count is: one number 0,
// another one large, and one of the attributes (a pad, a kernel) large beside it.
TEST_P(EmptyRows, CostNoLoop) {
  const OpId op = GetParam()->op;
  // Ops that only the trainer calls get attributes and gradients that it made: their shapes fit.
  const bool trained = find_op(op)->role == OpRole::kTrain;
  for (const Sample& s : GetParam()->samples()) {
    const Changed plain(op, s);
    const auto places = plain.places();
    std::map<int64_t, std::vector<Place>> same;
    for (const auto& [place, v] : places) {
      if (v > 0) same[v].push_back(place);
    }
    const auto run = [&](const std::vector<Place>& zero, const std::vector<Place>& large,
                         const std::vector<Place>& more, int64_t most) {
      Changed c(op, s);
      for (const Place& p : large) c.set(p, most);
      for (const Place& p : more) c.set(p, most);
      for (const Place& p : zero) c.set(p, 0);
      call(op, c);
    };
    const auto pairs = [&](const std::vector<std::vector<Place>>& groups) {
      for (const auto& zero : groups) {
        for (const auto& large : groups) {
          for (int64_t most : kLarge) {
            if (&zero != &large) run(zero, large, {}, most);
          }
          for (const auto& [place, v] : places) {
            if (&zero != &large && place.kind != Place::kDim && !trained)
              run(zero, large, {place}, kLarge[0]);
          }
        }
      }
    };
    std::vector<std::vector<Place>> groups;
    for (const auto& [v, list] : same) groups.push_back(list);
    if (!trained) pairs(groups);
    // each dim for itself, and the same dim of all inputs
    groups.clear();
    for (const auto& [place, v] : places) {
      if (place.kind == Place::kDim && !trained) groups.push_back({place});
    }
    for (size_t d = 0; d < kMaxRank; ++d) {
      std::vector<Place> list;
      for (const auto& [place, v] : places) {
        if (place.kind == Place::kDim && place.index == d) list.push_back(place);
      }
      if (!list.empty()) groups.push_back(list);
    }
    pairs(groups);
  }
}

// Cases that the samples do not reach: windows and regions of 2^52 places, none of which exists.
std::vector<std::pair<OpId, Sample>> by_hand() {
  const int64_t far = int64_t{1} << 27, most = int64_t{1} << 40;
  const Shape planes{1, 1, far, far, 0};
  PoolAttrs pool;
  pool.kernel_shape = {far / 2, far / 2, 2};
  pool.strides = {far, far, 1};
  pool.pads = {0, 0, 1, 0, 0, 1};
  MaxPoolIndicesAttrs indices;
  LpPoolAttrs lp;
  indices.pool = lp.pool = pool;
  const std::vector<double> one = {1}, zero = {0};
  const Input scale{DType::kF32, {}, 0, 0, one}, point{DType::kU8, {}, 0, 0, zero};
  return {
      {OpId::kMaxPool, sample("planes", {f32(planes)}, pool)},
      {OpId::kAveragePool, sample("planes", {f32(planes)}, pool)},
      {OpId::kMaxPoolIndices, sample("planes", {f32(planes)}, indices, 2)},
      {OpId::kLpPool, sample("planes", {f32(planes)}, lp)},
      {OpId::kQLinearAveragePool,
       sample("planes", {of(DType::kU8, planes), scale, point, scale, point}, pool)},
      {OpId::kMaxRoiPool,
       sample("rows",
              {f32({1, 1, most, 0}),
               {DType::kF32, {1, 5}, 0, 0, {0, 0, 0, 1, static_cast<double>(most)}}},
              MaxRoiPoolAttrs{{1, 1}})},
      {OpId::kUnique, sample("slices", {f32({int64_t{1} << 55, 2, 0})}, UniqueAttrs{{1}}, 4)},
      {OpId::kUnique, sample("none", {f32({int64_t{1} << 55, 0, 2})}, UniqueAttrs{{1}}, 4)},
  };
}

TEST_F(EmptyCalls, OfWindowsAndRegions) {
  if (sizeof(size_t) < 8) GTEST_SKIP() << "a 32-bit machine has no such sizes";
  for (const auto& [op, s] : by_hand()) {
    const int64_t before = total().ran;
    call(op, Changed(op, s));
    EXPECT_EQ(total().ran, before + 2) << find_op(op)->name << " " << s.name << " is not tried";
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmptyRows, testing::ValuesIn(kRows), [](const auto& info) {
  return std::string(find_op(info.param->op)->name);
});

}  // namespace
}  // namespace wick::test
