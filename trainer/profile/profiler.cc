#include "trainer/profile/profiler.h"

#include <cstring>

#include "runtime/registry/registry.h"
#include "trainer/autograd/running_node.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/profile/timer.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

// A copy of a type: texts are made after the recording.
struct Type {
  DType dtype = DType::kNone;
  Shape shape;
};

std::string text_of(const std::vector<Type>& types, size_t inputs) {
  std::string text;
  for (size_t i = 0; i < types.size(); ++i) {
    if (i == inputs)
      text += i == 0 ? "-> " : " -> ";
    else if (i > 0)
      text += " ";
    const Type& t = types[i];
    text += t.dtype == DType::kNone ? "-" : type_text(TensorView(nullptr, t.dtype, t.shape));
  }
  return text;
}

}  // namespace

struct Profiler::Recorded {
  SliceKind kind = SliceKind::kRange;
  bool backward = false;
  int64_t parent = -1;
  std::string name;
  const char* op = nullptr;  // name of a kernel's op in ops.def
  const char* kernel = nullptr;
  IntrusivePtr<const PathText> module;
  Where where;
  bool has_line = false;
  uint64_t begin = 0, end = 0;
  size_t inputs = 0;
  std::vector<Type> types;  // inputs, then outputs
  OpCost cost;
};

Profiler::Profiler(ProfilerOptions options)
    : options_(options), saved_(modes().trace_hook), begin_(now_ns()) {
  set_trace_hook(this);
}
Profiler::~Profiler() { set_trace_hook(saved_); }

void Profiler::open(Recorded&& slice) {
  for (size_t i = stack_.size(); slice.parent < 0 && i-- > 0;) slice.parent = stack_[i];
  if (recorded_.size() >= options_.max_slices) {
    ++profile_.dropped;
    stack_.push_back(-1);
    return;
  }
  stack_.push_back(static_cast<int64_t>(recorded_.size()));
  recorded_.push_back(std::move(slice));
}

// Ends all open slices from `level` on.
void Profiler::close(size_t level, uint64_t now) {
  while (stack_.size() > level) {
    if (stack_.back() >= 0) recorded_[static_cast<size_t>(stack_.back())].end = now;
    stack_.pop_back();
  }
}

void Profiler::on_op(const TraceEvent& e) {
  if (saved_ != nullptr) saved_->on_op(e);
  if (!on_) return;
  Recorded r;
  r.kind = SliceKind::kKernel;
  r.op = e.op;
  r.kernel = e.kernel;
  r.begin = e.begin_ns;
  r.end = e.end_ns;
  r.inputs = e.in.size();
  r.types.reserve(e.in.size() + e.out.size());
  for (const TensorView& v : e.in) r.types.push_back({v.dtype, v.shape});
  for (const TensorView& v : e.out) r.types.push_back({v.dtype, v.shape});
  r.cost = op_cost(OpId::kNone, nullptr, e.in, e.out);  // until its call reports the op
  if (const Node* node = RunningNode::innermost()) {
    r.backward = true;
    r.module = node->path;
    r.where = node->where;
    r.has_line = true;
  } else {
    r.module = module_path_text();
  }
  const bool kept = recorded_.size() < options_.max_slices;
  open(std::move(r));
  stack_.pop_back();  // its end is known already
  last_kernel_ = kept ? static_cast<int64_t>(recorded_.size()) - 1 : -1;
}

// The kernel that ran last belongs to this call, unless the call is a view.
void Profiler::on_call(const TracedCall& call) {
  if (!on_) return;
  const int64_t at = last_kernel_;
  last_kernel_ = -1;
  if (at < 0 || std::strcmp(recorded_[static_cast<size_t>(at)].op, op_info(call.op)->name) != 0) {
    if (recorded_.size() < options_.max_slices) ++profile_.views;
    return;
  }
  Recorded& r = recorded_[static_cast<size_t>(at)];
  r.name = display_name(call.op);
  SmallVector<TensorView, 6> in(call.in.size()), out(call.out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (call.in[i] != nullptr && call.in[i]->defined()) in[i] = call.in[i]->layout();
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = call.out[i].layout();
  r.cost = op_cost(call.op, call.attrs, in, out);
  if (r.backward) return;
  r.where = call.where;
  r.has_line = true;
}

void Profiler::on_node_begin(const Node& node, Span<const Tensor>) {
  if (!on_) return;
  Recorded r;
  r.kind = SliceKind::kNode;
  r.backward = true;
  r.name = node.name();
  r.module = node.path;
  r.where = node.where;
  r.has_line = true;
  r.begin = now_ns();
  open(std::move(r));
}

void Profiler::on_node_end(const Node&, Span<const Tensor>, Span<const Tensor>) {
  if (!on_) return;
  // Formulas end in reverse order of their begin.
  for (size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i] >= 0 && recorded_[static_cast<size_t>(stack_[i])].kind != SliceKind::kNode)
      continue;
    return close(i, now_ns());
  }
}

void Profiler::on_range_begin(const char* name, RangeKind kind) {
  if (!on_) return;
  Recorded r;
  r.kind = kind == RangeKind::kModule ? SliceKind::kModule : SliceKind::kRange;
  r.backward = RunningNode::innermost() != nullptr;  // e.g. the second forward of a checkpoint
  r.name = name;
  if (kind == RangeKind::kModule) r.module = module_path_text();
  r.begin = now_ns();
  open(std::move(r));
}

void Profiler::on_range_end(const char* name, RangeKind kind) {
  if (!on_) return;
  const SliceKind want = kind == RangeKind::kModule ? SliceKind::kModule : SliceKind::kRange;
  for (size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i] < 0) return close(i, now_ns());  // dropped: the one that was opened last
    const Recorded& r = recorded_[static_cast<size_t>(stack_[i])];
    if (r.kind == want && r.name == name) return close(i, now_ns());
  }
}

const Profile& Profiler::stop() {
  if (!on_) return profile_;
  on_ = false;
  const uint64_t now = now_ns();
  close(0, now);
  profile_.seconds = static_cast<double>(now - begin_) * 1e-9;
  profile_.threads = num_threads();
  profile_.slices.reserve(recorded_.size());
  for (const Recorded& r : recorded_) {
    ProfileSlice s;
    s.kind = r.kind;
    s.backward = r.backward;
    s.parent = r.parent;
    s.depth = r.parent < 0 ? 0 : profile_.slices[static_cast<size_t>(r.parent)].depth + 1;
    s.name = !r.name.empty() ? r.name : r.op != nullptr ? r.op : "(model)";
    if (r.module) s.module = r.module->text;
    if (r.has_line) s.where = to_text(r.where);
    if (r.kernel != nullptr) s.kernel = r.kernel;
    s.shapes = text_of(r.types, r.kind == SliceKind::kKernel ? r.inputs : size_t{1});
    s.begin_ns = r.begin - begin_;
    s.end_ns = r.end - begin_;
    s.cost = r.cost;
    profile_.slices.push_back(std::move(s));
  }
  recorded_.clear();
  recorded_.shrink_to_fit();
  return profile_;
}

}  // namespace wick
