#include "tests/deadline/case.h"

#include <cmath>
#include <cstring>
#include <set>

#include "runtime/ops/op_cost.h"
#include "runtime/ops/rule.h"

namespace wick::test {
namespace {

struct Outputs {
  std::vector<ValueInfo<int64_t>> infos;
  double work = 0, bytes = 0;
};

// Runs the op's rule on inputs of these shapes, with the values of small inputs.
Status outputs_of(OpId op, const CallCase& s, const std::vector<Value>& values,
                  const std::vector<Shape>& shapes, Outputs* to) {
  std::vector<ValueInfo<int64_t>> in;
  std::vector<std::vector<int64_t>> elements(values.size());
  std::vector<TensorView> in_views, out_views;
  double bytes = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const TensorView v = values[k].view();
    ValueInfo<int64_t> info{v.dtype, v.present() ? shapes[k] : Shape{}, nullptr, 0};
    const bool same = v.present() && shapes[k] == v.shape;
    if (same && is_container(v.dtype)) {
      info.elements = static_cast<const int64_t*>(v.data);
      info.element_count = v.numel() / 8;
    } else if (same && v.numel() <= 64 && is_int(v.dtype)) {
      for (int64_t i = 0; i < v.numel(); ++i)
        elements[k].push_back(static_cast<int64_t>(values[k].at(i)));
    } else if (same && v.numel() <= 64 && holds_reals(op, k, v.dtype, v.rank())) {
      for (int64_t i = 0; i < v.numel(); ++i)
        elements[k].push_back(real_bits_at(v.dtype, v.data, i));
    }
    if (!elements[k].empty()) {
      info.elements = elements[k].data();
      info.element_count = static_cast<int64_t>(elements[k].size());
    }
    in.push_back(info);
    in_views.emplace_back(same ? v.data : nullptr, v.dtype, info.shape);
    if (v.present()) {
      WICK_ASSIGN(size_t n, checked_bytes(info.shape, dtype_bits(v.dtype)));
      bytes += static_cast<double>(n);
    }
  }
  to->infos.assign(static_cast<size_t>(s.outputs), {});
  RuleCtx<int64_t> rule{op, s.attrs.get(), in, to->infos};
  WICK_TRY(infer_shapes(rule));
  for (const auto& o : to->infos) {
    out_views.emplace_back(nullptr, o.dtype, o.shape);
    WICK_ASSIGN(size_t n, checked_bytes(o.shape, dtype_bits(o.dtype)));
    bytes += static_cast<double>(n);
  }
  to->bytes = bytes;
  to->work = op_work(op, s.attrs.get(), in_views, out_views);
  return {};
}

bool grows(OpId op, size_t input, DType dtype) {
  const char role = input_role(op, input);
  return dtype != DType::kNone && !is_container(dtype) && role != 'a' && role != 'n' && role != 'v';
}

// Sizes that are doubled together: all of one value, those at one place from the front or from the
// back, or a single one.
std::vector<std::vector<Shape>> doubled(OpId op, const std::vector<Value>& values,
                                        const std::vector<Shape>& shapes) {
  std::vector<std::vector<Shape>> all;
  const auto add = [&](auto&& takes) {
    std::vector<Shape> next = shapes;
    bool any = false;
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (!grows(op, k, values[k].view().dtype)) continue;
      for (int d = 0; d < shapes[k].rank(); ++d) {
        if (takes(k, d, shapes[k].rank())) next[k][d] *= 2, any = true;
      }
    }
    if (any) all.push_back(next);
  };
  std::set<int64_t> extents;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (!grows(op, k, values[k].view().dtype)) continue;
    for (int64_t e : shapes[k]) extents.insert(e);
  }
  for (int64_t e : extents) {
    if (e != 0) add([&](size_t k, int d, int) { return shapes[k][d] == e; });
    add([&](size_t k, int d, int) { return shapes[k][d] == e && e != 1 && k < 2; });
  }
  for (int at = 0; at < kMaxRank; ++at) {
    add([&](size_t, int d, int) { return d == at; });
    add([&](size_t, int d, int rank) { return rank - 1 - d == at; });
  }
  for (size_t one = 0; one < shapes.size(); ++one) {
    for (int at = 0; at < kMaxRank; ++at)
      add([&](size_t k, int d, int) { return k == one && d == at; });
  }
  return all;
}

}  // namespace

LongCall::LongCall(const TestRow& row, double work, double bytes) : op_(row.op) {
  const auto shapes_of = [](const std::vector<Value>& values) {
    std::vector<Shape> shapes;
    for (const Value& v : values) shapes.push_back(v.view().shape);
    return shapes;
  };
  if (auto call = hand_case(row.op, work); call.has_value()) {
    const auto shapes = shapes_of(call->in);
    Outputs o;
    if (!outputs_of(op_, *call, call->in, shapes, &o).ok()) return;
    work_ = o.work, bytes_ = o.bytes;
    take(*call, shapes);
    return;
  }
  std::optional<CallCase> best;
  std::vector<Shape> best_shapes;
  for (const Sample& s : row.samples()) {
    const CallCase call{s.attrs, make_inputs(s), s.outputs};
    std::vector<Shape> shapes = shapes_of(call.in);
    Outputs now;
    if (!outputs_of(op_, call, call.in, shapes, &now).ok() || now.bytes > bytes) continue;
    for (bool more = true; more && now.work < work;) {
      more = false;
      double gain = 1;
      std::vector<Shape> next;
      Outputs then;
      for (const auto& wanted : doubled(op_, call.in, shapes)) {
        Outputs o;
        if (!outputs_of(op_, call, call.in, wanted, &o).ok() || o.bytes > bytes) continue;
        const double g = o.work / now.work / std::sqrt(o.bytes / now.bytes);
        if (g > gain) gain = g, next = wanted, then = o;
      }
      if (!next.empty()) shapes = next, now = then, more = true;
    }
    if (best.has_value() && (now.work <= work_ || work_ >= work)) continue;
    best = call, best_shapes = shapes;
    work_ = now.work, bytes_ = now.bytes;
  }
  if (best.has_value()) take(*best, best_shapes);
}

// Larger inputs repeat the bytes of the smaller ones.
void LongCall::take(const CallCase& call, const std::vector<Shape>& shapes) {
  attrs_ = call.attrs;
  base_ = call.in;
  Outputs outs;
  if (!outputs_of(op_, call, base_, shapes, &outs).ok()) return;
  for (size_t k = 0; k < base_.size(); ++k) {
    const TensorView from = base_[k].view();
    if (!from.present() || shapes[k] == from.shape) {
      in_.push_back(base_[k]);
      continue;
    }
    Value large(from.dtype, shapes[k]);
    auto* to = static_cast<char*>(large.view().data);
    const size_t n = large.view().nbytes(), step = from.nbytes();
    for (size_t at = 0; at < n; at += step)
      memcpy(to + at, from.data, n - at < step ? n - at : step);
    in_.push_back(large);
  }
  for (const auto& o : outs.infos) out_.emplace_back(o.dtype, o.shape);
}

Status LongCall::prepare(Span<const KernelSet* const> sets, ThreadPool* pool) {
  if (in_.empty() && out_.empty()) return Status(Code::kUnsupported, "no sample could be grown");
  pool_ = pool;
  auto in = views(in_), out = views(out_);
  WICK_TRY(
      prepared_.prepare(sets, {op_, attrs_.get(), in, out, pool == nullptr ? 1 : pool->threads()}));
  scratch_.reset(
      static_cast<char*>(std::aligned_alloc(64, (prepared_.scratch_bytes() + 127) / 64 * 64)));
  return {};
}

Status LongCall::run(Stop* stop) {
  const StopScope scope(stop);
  auto in = views(in_), out = views(out_);
  strings_.clear();
  return prepared_.run({pool_, scratch_.get(), &strings_}, op_, in, out, attrs_.get());
}

std::string LongCall::shapes() const {
  std::string text;
  for (const Value& v : in_) {
    if (!v.view().present()) continue;
    text += (text.empty() ? "" : " ") + std::string(to_text(v.view().shape).text);
  }
  return text;
}

}  // namespace wick::test
