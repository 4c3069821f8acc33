#include "tools/wick/own_op/op_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "graph/interpreter/interpreter.h"
#include "runtime/registry/registry.h"
#include "tools/lib/limits.h"
#include "tools/wick/own_op/op_run.h"
#include "trainer/autograd/autograd.h"
#include "wick/compile.h"
#include "wick/error.h"
#include "wick/runtime.h"

namespace wick::tool {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};

// The samples with a name for messages: "sample 3, [5, 7] float32".
struct Case {
  const OpSample& sample;
  DType dtype;
  std::string name;
};
std::vector<Case> cases_of(const OpTest& test) {
  std::vector<Case> all;
  for (size_t i = 0; i < test.count; ++i) {
    for (const DType dtype : kFloats) {
      const OpSample& s = test.samples[i];
      if (kernels_for(test, s, dtype).empty()) continue;
      all.push_back(
          {s, dtype, fmt::format("sample {}, {} {}", i, to_text(s.in[0]).text, dtype_name(dtype))});
    }
  }
  return all;
}

// A property that does not hold.
struct Wrong {
  std::string text;
};

std::vector<double> doubles(const Tensor& t) {
  return t.detach().to(DType::kF64).contiguous().to_vector<double>();
}

// Throws Wrong at the first element of `got` that is further from `want` than `bound` of it. A NaN
// is as good as another, and an infinity has to be the same one.
void compare(const std::vector<double>& got, const double* want, double bound,
             const std::string& where) {
  for (size_t k = 0; k < got.size(); ++k) {
    const double least = std::numeric_limits<float>::min();
    const double may = bound * std::max(std::abs(want[k]), least);
    if (std::abs(got[k] - want[k]) <= may || got[k] == want[k]) continue;
    if (std::isnan(got[k]) && std::isnan(want[k])) continue;
    throw Wrong{fmt::format("{}: element {} is {:.9g}, not {:.9g}", where, k, got[k], want[k])};
  }
}

std::string check_answers(const OpTest& test) {
  size_t count = 0;
  for (const Case& c : cases_of(test)) {
    const bool wide = c.dtype == DType::kF64;
    if (c.sample.answers.size == 0 || (!wide && c.dtype != DType::kF32)) continue;
    const std::vector<double> got =
        doubles(call_op(test, c.sample, inputs_of(c.sample, c.dtype))[0]);
    if (got.size() != c.sample.answers.size)
      throw Wrong{
          fmt::format("{}: {} numbers, {} answers", c.name, got.size(), c.sample.answers.size)};
    // An answer is written with some twelve digits.
    compare(got, c.sample.answers.data, wide ? 1e-12 : test.ulps * 0x1p-24, c.name);
    count += got.size();
  }
  if (count == 0) throw Wrong{"no sample has answers"};
  return fmt::format("{} numbers", count);
}

std::string check_kernels(const OpTest& test) {
  size_t pairs = 0, alone = 0;
  for (const Case& c : cases_of(test)) {
    const std::vector<const KernelRow*> rows = kernels_for(test, c.sample, c.dtype);
    KernelCall reference(test, c.sample, *rows.back(), c.dtype);
    reference.run();
    for (const KernelRow* row : rows) {
      for (const auto& [threads, offset] : {std::pair(1, 0), {1, 1}, {2, 0}, {3, 0}}) {
        KernelCall other(test, c.sample, *row, c.dtype, threads, offset);
        other.run();
        if (other.bytes() == reference.bytes()) continue;
        throw Wrong{fmt::format("{}: {} on {} threads, inputs {} aligned, gives other bits than {}",
                                c.name, row->name, threads, offset == 0 ? "are" : "not",
                                rows.back()->name)};
      }
      pairs += row == rows.back() ? 0 : 1;
    }
    alone += rows.size() == 1 ? 1 : 0;
  }
  return fmt::format("{} comparisons by bits, also on 2 and 3 threads and misaligned{}", pairs,
                     alone == 0 ? "" : fmt::format("; {} samples have one kernel", alone));
}

std::string check_near(const OpTest& test) {
  size_t count = 0;
  for (const Case& c : cases_of(test)) {
    if (c.dtype != DType::kF32 || kernels_for(test, c.sample, DType::kF64).empty()) continue;
    const auto narrow = call_op(test, c.sample, inputs_of(c.sample, DType::kF32));
    const auto wide = call_op(test, c.sample, inputs_of(c.sample, DType::kF64));
    for (size_t i = 0; i < narrow.size(); ++i) {
      if (!is_float(narrow[i].dtype())) continue;
      const std::vector<double> want = doubles(wide[i]), got = doubles(narrow[i]);
      if (got.size() != want.size())
        throw Wrong{fmt::format("{}: {} elements, {} in float64", c.name, got.size(), want.size())};
      compare(got, want.data(), test.ulps * 0x1p-23, c.name);
      count += want.size();
    }
  }
  return count == 0 ? "there are no kernels in both"
                    : fmt::format("{} elements within {} ulps", count, test.ulps);
}

std::string check_gradient(const OpTest& test) {
  if (test.op->gradient == nullptr) return "it has none: backward through it is an error";
  constexpr int64_t kMost = 64;  // elements of an input: differences take two calls for each
  size_t count = 0;
  for (const Case& c : cases_of(test)) {
    if (c.dtype != DType::kF64) continue;
    std::vector<Tensor> in = inputs_of(c.sample, c.dtype), varied;
    for (size_t i = 0; i < in.size(); ++i) {
      const bool taken = is_float(in[i].dtype()) && (test.op->nondiff_in >> i & 1) == 0;
      if (taken && in[i].numel() > 0 && in[i].numel() <= kMost)
        varied.push_back(in[i].requires_grad_());
    }
    if (varied.empty()) continue;
    const auto f = [&](const std::vector<Tensor>& now) {
      std::vector<Tensor> all = in;
      for (size_t i = 0, k = 0; i < all.size(); ++i) {
        if (all[i].requires_grad()) all[i] = now[k++];
      }
      return call_op(test, c.sample, all);
    };
    const GradcheckResult r = gradgradcheck(f, varied);
    if (!r.ok) throw Wrong{c.name + ": " + r.message};
    ++count;
  }
  if (count == 0) throw Wrong{"no float64 sample has an input of 1 to 64 elements"};
  return fmt::format("{} samples, two orders", count);
}

HostTensor host(const Tensor& t) {
  const Tensor dense = t.detach().contiguous();
  return {dense.dtype(), dense.raw_shape(), dense.raw().data, dense.raw().nbytes()};
}

std::vector<char> bytes_of(const std::vector<Tensor>& tensors) {
  std::vector<char> all;
  for (const Tensor& t : tensors) {
    const HostTensor h = host(t);
    const char* from = static_cast<const char*>(h.data());
    all.insert(all.end(), from, from + h.nbytes());
  }
  return all;
}

std::vector<char> run_program(const ir::Graph& graph, const std::vector<HostTensor>& in) {
  const std::vector<uint8_t> file = compile_program(graph);
  const std::vector<const CustomOp*> ops = registered_ops();
  LoadOptions options;
  options.custom_ops = ops;
  auto program = Program::load(file, options);
  check_status(program.status());
  auto session = Session::create(**program);
  check_status(session.status());
  std::vector<TensorView> given, made((*session)->output_count());
  for (const HostTensor& t : in) given.push_back(t.view());
  check_status((*session)->run(given, made, {.timeout_ns = time_left_ns()}));
  std::vector<char> all;
  for (const TensorView& v : made) {
    const char* from = static_cast<const char*>(v.data);
    all.insert(all.end(), from, from + v.nbytes());
  }
  return all;
}

std::vector<char> interpret(const ir::Graph& graph, const std::vector<HostTensor>& in) {
  std::vector<char> all;
  for (const HostTensor& t : ir::run(graph, in)) {
    const char* from = static_cast<const char*>(t.data());
    all.insert(all.end(), from, from + t.nbytes());
  }
  return all;
}

// The op as a module: all that a file of it has.
struct OneOp : nn::Module {
  Tensor forward(const Arg& x) override { return x.tensor; }
};

ir::Graph captured(const OpTest& test, const OpSample& sample, const std::vector<Tensor>& in,
                   bool free) {
  OneOp module;
  module.eval();
  std::vector<CaptureInput> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    inputs.push_back({fmt::format("x{}", i), in[i], {}, {}});
    if (free) inputs.back().dynamic = {{0, "rows"}};
  }
  return capture_call(module, inputs,
                      [&](const std::vector<Tensor>& now) { return call_op(test, sample, now); });
}

// Returns whether an attribute changes on its way: ONNX keeps floats in float32.
bool rounds_in_onnx(const ir::Graph& graph) {
  for (const ir::Node& n : graph.nodes()) {
    AnyAttrs attrs = n.attrs;
    for (const AttrField& f : op_info(n.op)->attrs->fields) {
      if (f.kind != AttrKind::kFloat) continue;
      const double v = attr_float(f, attrs.get());
      if (static_cast<double>(static_cast<float>(v)) != v) return true;
    }
  }
  return false;
}

std::string check_files(const OpTest& test) {
  size_t count = 0, free_ones = 0;
  std::string why_fixed;
  for (const Case& c : cases_of(test)) {
    const std::vector<Tensor> in = inputs_of(c.sample, c.dtype);
    if (c.dtype != DType::kF32 && c.dtype != DType::kF64) continue;
    if (std::any_of(in.begin(), in.end(), [](const Tensor& t) { return t.numel() == 0; })) continue;
    const std::vector<char> want = bytes_of(call_op(test, c.sample, in));
    // The first size is free where the op allows it: then its rule computes with a symbol.
    const bool rows = std::all_of(in.begin(), in.end(), [&](const Tensor& t) {
      return t.rank() > 1 && t.raw_shape()[0] == in[0].raw_shape()[0];
    });
    ir::Graph graph;
    bool free = rows;
    try {
      if (free) graph = captured(test, c.sample, in, true);
    } catch (const Error& e) {
      free = false;
      why_fixed = e.what();
    }
    if (!free) graph = captured(test, c.sample, in, false);
    std::vector<HostTensor> given;
    for (const Tensor& t : in) given.push_back(host(t));
    const auto same = [&](const char* path, const std::vector<char>& got) {
      if (got != want) throw Wrong{fmt::format("{}: {} gives other bits", c.name, path)};
    };
    same("the graph", interpret(graph, given));
    same("the .wick file", run_program(graph, given));
    if (c.dtype == DType::kF32 || !rounds_in_onnx(graph)) {
      const ir::Graph onnx = import_onnx_bytes(onnx_bytes(graph));
      same("the graph from ONNX", interpret(onnx, given));
    }
    free_ones += free ? 1 : 0;
    ++count;
  }
  if (count == 0) return "no sample in float32 or float64 has elements";
  return fmt::format("{} samples through a graph, .wick and ONNX by bits, {} with a free size{}",
                     count, free_ones,
                     why_fixed.empty() ? "" : "; a size stays fixed: " + why_fixed);
}

std::string check_rule(const OpTest& test) {
  size_t refused = 0, taken = 0;
  AnyAttrs attrs;
  test.op->attrs->init(attrs.get());
  for (int rank = 0; rank <= kMaxRank; ++rank) {
    for (int t = 1; t < kDTypeCount; ++t) {
      const auto dtype = static_cast<DType>(t);
      if (dtype_bits(dtype) < 8) continue;
      for (int64_t size : {0, 1, 3}) {
        ValueInfo<int64_t> one;
        one.dtype = dtype;
        for (int d = 0; d < rank; ++d) one.shape.push_back(size);
        std::vector<ValueInfo<int64_t>> in(static_cast<size_t>(test.samples[0].inputs), one);
        std::vector<ValueInfo<int64_t>> out(test.op->outputs);
        RuleCtx<int64_t> ctx{custom_op_id(*test.op), attrs.get(), in, out, test.op};
        const Status s = infer_custom(*test.op, ctx);
        if (std::string(s.message()).find("its shape rule threw") != std::string::npos)
          throw Wrong{fmt::format("rank {} {}: {}", rank, dtype_name(dtype), s.message())};
        (s.ok() ? taken : refused) += 1;
      }
    }
  }
  return fmt::format("{} shapes taken, {} refused", taken, refused);
}

}  // namespace

std::vector<OpCheck> check_op(const OpTest& test) {
  constexpr std::pair<const char*, std::string (*)(const OpTest&)> kAll[] = {
      {"answers", check_answers},   {"kernels", check_kernels}, {"float32", check_near},
      {"gradient", check_gradient}, {"files", check_files},     {"shape rule", check_rule}};
  std::vector<OpCheck> done;
  for (const auto& [what, check] : kAll) {
    OpCheck c{what, true, ""};
    try {
      c.detail = check(test);
    } catch (const Wrong& wrong) {
      c.ok = false;
      c.detail = wrong.text;
    } catch (const std::exception& e) {  // also what a kernel throws
      c.ok = false;
      c.detail = e.what();
    }
    done.push_back(c);
  }
  return done;
}

std::vector<OpTime> time_op(const OpTest& test) {
  std::vector<OpTime> times;
  std::set<std::string> seen;
  for (const DType dtype : kFloats) {
    for (const KernelRow* row : kernels_for(test, test.bench, dtype)) {
      if (!seen.insert(row->name).second) continue;
      KernelCall call(test, test.bench, *row, dtype);
      call.run();  // touches the memory
      double least = std::numeric_limits<double>::infinity(), all = 0;
      for (int i = 0; i < 200 && (i < 5 || all < 0.3); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        call.run();
        const double took =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        least = std::min(least, took);
        all += took;
      }
      times.push_back({row->name, least, static_cast<double>(call.moved()) / least});
    }
  }
  return times;
}

}  // namespace wick::tool
