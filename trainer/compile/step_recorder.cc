#include "trainer/compile/step_recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/registry/registry.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/compile/storage_tap.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick::compiled {
namespace {

constexpr size_t kMostBreaks = 32;  // of a report

int64_t bytes_between(const void* from, const void* to) {
  return static_cast<const char*>(to) - static_cast<const char*>(from);
}

}  // namespace

StepRecorder::StepRecorder(Span<const Tensor* const> arguments, const std::vector<Tensor>& leaves,
                           const Recording* beside)
    : beside_(beside) {
  r_.threads = num_threads();
  r_.grad_mode = modes().grad;
  r_.reference = modes().reference;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& t = *arguments[i];
    Argument a{t.dtype(), t.raw_shape(), t.layout().strides, -1, 0};
    for (size_t k = 0; k < i && a.same_as < 0; ++k) {
      if (&arguments[k]->storage() != &t.storage()) continue;
      a.same_as = static_cast<int>(k);
      a.distance = bytes_between(arguments[k]->layout().data, t.layout().data);
    }
    starts_.push_back(t.layout().data);
    if (a.same_as < 0) know(t, Place::kArgument, static_cast<int>(i));
    r_.arguments.push_back(a);
    seen_[t.impl()] = true;
  }
  r_.leaves = leaves;
  leaves_before_ = leaves.size();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const IntrusivePtr<TensorImpl>& g = leaves[i].impl()->grad;
    if (g) know(Tensor(g), Place::kGradient, static_cast<int>(i));
  }
  for (size_t i = 0; i < leaves.size(); ++i) r_.grads_before.push_back(grad_of(i));
  StorageTap::get().add(this);
  modes().recorder = this;
}

StepRecorder::~StepRecorder() {
  if (modes().recorder == this) modes().recorder = nullptr;
  StorageTap::get().remove(this);
}

void StepRecorder::on_create(const Storage& storage) {
  std::lock_guard lock(mutex_);
  Live l;
  l.storage = const_cast<Storage*>(&storage);
  l.bytes = storage.bytes();
  l.made = true;
  l.by_host = host_;
  live_[static_cast<const char*>(storage.data())] = l;
}

void StepRecorder::on_free(const Storage& storage) {
  std::lock_guard lock(mutex_);
  live_.erase(static_cast<const char*>(storage.data()));
}

StepRecorder::Live* StepRecorder::find(const void* address) {
  const auto* at = static_cast<const char*>(address);
  auto it = live_.upper_bound(at);
  if (it == live_.begin()) return nullptr;
  --it;
  const size_t offset = static_cast<size_t>(at - it->first);
  return offset < std::max<size_t>(it->second.bytes, 1) ? &it->second : nullptr;
}

// Makes a storage known that was there before the step.
void StepRecorder::know(const Tensor& t, Place place, int index) {
  Storage& s = t.storage();
  std::lock_guard lock(mutex_);
  Live& l = live_[static_cast<const char*>(s.data())];
  if (l.buffer >= 0 || l.made) return;
  l.storage = &s;
  l.bytes = s.bytes();
  l.buffer = static_cast<int>(r_.buffers.size());
  Buffer b;
  b.bytes = s.bytes();
  b.place = place;
  b.index = index;
  if (place == Place::kOutside) b.storage = t.impl()->storage;
  b.born = s.born();
  b.written = true;
  r_.buffers.push_back(std::move(b));
}

void StepRecorder::on_tensor(const Tensor& t) {
  if (!t.defined() || !t.is_cpu() || host_) return;
  TensorImpl* impl = t.impl();
  bool made = false;
  {
    std::lock_guard lock(mutex_);
    const Live* l = find(t.storage().data());
    made = l != nullptr && l->made;
    if (!made && l != nullptr && l->buffer >= 0 &&
        r_.buffers[static_cast<size_t>(l->buffer)].place != Place::kOutside)
      return;
  }
  if (made) {  // what the program filled it with is kept before a kernel may write into it
    const Ref r = ref_of(t.layout(), {});
    if (r.buffer >= 0) fill(r.buffer, {});
    return;
  }
  know(t, Place::kOutside, -1);
  // A handle would keep its history alive. Without one its address may be another tensor's later.
  if (impl->grad_fn || impl->view_of) return;
  bool& seen = seen_[impl];
  if (seen) return;
  seen = true;
  r_.outside.push_back({t, &t.storage(), t.layout(), requires_grad_of(t)});
  if (!impl->requires_grad) return;
  for (const Tensor& leaf : r_.leaves) {
    if (leaf.is_same(t)) return;
  }
  // A leaf that no earlier recording knew: its gradient of before is not known either.
  r_.leaves.push_back(t);
  r_.grads_before.push_back({GradState::kLeave, {}});
}

Ref StepRecorder::ref_of(const TensorView& v, const Where& where) {
  Ref r;
  r.view = v;
  r.view.data = nullptr;
  if (!v.present() || v.numel() == 0) return r;
  std::lock_guard lock(mutex_);
  Live* l = find(v.data);
  if (l == nullptr) {
    on_break({"memory", "uses memory of unknown origin", "make the tensor with a function of Wick",
              line_of(where)});
    return r;
  }
  if (l->by_host) {
    on_break({"run_eagerly", "reads a tensor that the host code of the step has made",
              "make it outside of the step, and write into it", line_of(where)});
  }
  if (l->buffer < 0) {
    l->buffer = static_cast<int>(r_.buffers.size());
    Buffer b;
    b.bytes = l->bytes;
    b.born = l->storage->born();
    r_.buffers.push_back(std::move(b));
  }
  r.buffer = l->buffer;
  const Buffer& b = r_.buffers[static_cast<size_t>(r.buffer)];
  // Arguments are often slices of one tensor, each time another one.
  const void* start =
      b.place == Place::kArgument ? starts_[static_cast<size_t>(b.index)] : l->storage->data();
  r.offset = bytes_between(start, v.data);
  return r;
}

// Keeps what a buffer holds that no entry has written: what the program filled it with.
void StepRecorder::fill(int buffer, const Where& where) {
  Buffer& b = r_.buffers[static_cast<size_t>(buffer)];
  if (b.written) return;
  b.written = true;
  b.fill = static_cast<int>(r_.entries.size());
  const char* data = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [address, l] : live_) {
      if (l.buffer == buffer) data = address;
    }
  }
  Entry e;
  e.kind = Entry::kFill;
  e.where = b.born.line() != 0 ? b.born : where;
  e.bytes.assign(data, data + b.bytes);
  Ref to;
  to.buffer = buffer;
  to.view = TensorView(nullptr, DType::kU8, Shape{static_cast<int64_t>(b.bytes)});
  e.out.push_back(to);
  r_.entries.push_back(std::move(e));
}

Ref StepRecorder::read(const TensorView& v, const Where& where) {
  const Ref r = ref_of(v, where);
  if (r.buffer < 0) return r;
  fill(r.buffer, where);
  const int filled = r_.buffers[static_cast<size_t>(r.buffer)].fill;
  if (filled >= 0) r_.entries[static_cast<size_t>(filled)].exact = true;
  return r;
}

Ref StepRecorder::written(const TensorView& v, const Where& where) {
  const Ref r = ref_of(v, where);
  if (r.buffer < 0) return r;
  Buffer& b = r_.buffers[static_cast<size_t>(r.buffer)];
  if (is_whole(r, b.bytes)) {
    b.written = true;
    b.fill = -1;
  } else {
    fill(r.buffer, where);
  }
  return r;
}

void StepRecorder::on_kernel(const KernelQuery& q, Span<const TensorView> out, const Where& where) {
  if (host_) return;
  if (is_data_dependent(q.op)) {
    on_break({op_info(q.op)->name, "makes a tensor whose size depends on values",
              "use a mask of the whole size: where()", line_of(where)});
  }
  Entry e;
  e.kind = Entry::kKernel;
  e.op = q.op;
  const size_t bytes = q.attrs != nullptr ? op_info(q.op)->attrs->size : 0;
  if (bytes > 0) memcpy(e.attrs.get(), q.attrs, bytes);
  e.where = modes().site != nullptr ? Where(modes().site->where) : where;
  for (const TensorView& v : q.in) e.in.push_back(read(v, where));
  for (const TensorView& v : out) e.out.push_back(written(v, where));
  r_.entries.push_back(std::move(e));
}

void StepRecorder::on_copy(const TensorView& from, const TensorView& to, const Where& where) {
  if (host_) return;
  Entry e;
  e.kind = Entry::kCopy;
  e.where = where;
  e.in.push_back(read(from, where));
  e.out.push_back(written(to, where));
  r_.entries.push_back(std::move(e));
}

void StepRecorder::on_zero(const TensorView& to, const Where& where) {
  if (host_) return;
  Entry e;
  e.kind = Entry::kZero;
  e.where = where;
  e.out.push_back(written(to, where));
  r_.entries.push_back(std::move(e));
}

void StepRecorder::on_stream(Generator& g, const Draw& draw) {
  if (host_) return;
  if (drawing_) {
    on_break({"random", "draws numbers in a way that cannot be repeated",
              "draw with rand(), randn(), randint(), dropout() and the like", ""});
  }
  drawing_ = true;
  for (source_ = 0; source_ < r_.sources.size(); ++source_) {
    const Source& s = r_.sources[source_];
    if (s.generator != &g) continue;
    if (s.seed != draw.seed || draw.stream < s.first) {
      on_break({"manual_seed", "seeds a generator within the step", "seed it before", ""});
    }
    return;
  }
  r_.sources.push_back({&g, draw.seed, draw.stream});
}

void StepRecorder::on_draw(const DrawFill& fill, const Draw& draw, const TensorView& to) {
  if (host_) return;
  drawing_ = false;
  Entry e;
  e.kind = Entry::kDraw;
  e.fill = fill;
  // Gradient checkpoints draw again from a stream of before, of the same generator.
  e.generator = source_;
  e.stream = draw.stream - r_.sources[source_].first;
  if (modes().site != nullptr) e.where = modes().site->where;
  e.out.push_back(written(to, e.where));
  r_.entries.push_back(std::move(e));
}

void StepRecorder::on_sizes(const TensorView& sizes, const std::string& op, const Where& where) {
  if (host_ || sizes.numel() == 0) return;
  sizes_.push_back({ref_of(sizes, where).buffer, op, line_of(where)});
}

void StepRecorder::on_check(const Tensor& t, std::function<bool(const TensorView&)> holds,
                            const char* op, const Where& where) {
  if (host_) return;
  on_tensor(t);
  if (beside_ != nullptr) {
    size_t number = 0;
    for (const Entry& e : beside_->entries) {
      if (e.kind != Entry::kCheck || number++ != checks_) continue;
      if (e.in[0].view.shape == t.raw_shape() && !e.holds(t.layout())) r_.other_path = true;
    }
    ++checks_;
  }
  Entry e;
  e.kind = Entry::kCheck;
  e.name = op;
  e.where = where;
  e.holds = std::move(holds);
  e.in.push_back(read(t.layout(), where));
  r_.entries.push_back(std::move(e));
}

GradState StepRecorder::grad_of(size_t leaf) {
  TensorImpl* impl = r_.leaves[leaf].impl();
  GradState s;
  if (sparse_slot(impl) != nullptr) {
    on_break({"embedding", "has a sparse gradient", "make the Embedding without sparse", ""});
    return s;
  }
  if (!impl->grad) return s;
  const Tensor g(impl->grad);
  bool by_host = false;
  {
    std::lock_guard lock(mutex_);
    const Live* l = find(g.storage().data());
    by_host = l != nullptr && l->by_host;
  }
  if (by_host) {
    s.kind = GradState::kLeave;
    return s;
  }
  s.kind = GradState::kBytes;
  if (g.layout().numel() == 0) {
    s.ref.view = g.layout();
    return s;
  }
  on_tensor(g);
  s.ref = read(g.layout(), {});
  return s;
}

std::vector<GradState> StepRecorder::grads() {
  std::vector<GradState> list;
  for (size_t i = 0; i < r_.leaves.size(); ++i) list.push_back(grad_of(i));
  return list;
}

void StepRecorder::call_at_first_host() {
  if (called_ || !at_first_host) return;
  called_ = true;
  at_first_host([&](int buffer) -> const void* {
    std::lock_guard lock(mutex_);
    for (const auto& [address, l] : live_) {
      if (l.buffer == buffer) return address;
    }
    return nullptr;
  });
}

void StepRecorder::on_host(const char* name, const void* owner, std::function<void()> f) {
  if (host_) return f();
  Entry e;
  e.kind = Entry::kHost;
  e.name = name;
  if (owner != nullptr) r_.owners.push_back(owner);
  if (modes().site != nullptr) e.where = modes().site->where;
  e.grads = grads();
  e.grad_mode = modes().grad;
  for (const Source& s : r_.sources) e.streams.push_back(s.generator->stream - s.first);
  call_at_first_host();
  host_ = true;
  struct Back {
    bool& host;
    ~Back() { host = false; }
  } back{host_};
  {
    UnrecordedScope scope;
    f();
  }
  e.host = std::move(f);
  r_.entries.push_back(std::move(e));
}

void StepRecorder::on_optimizer(const optim::Optimizer& optimizer) {
  if (host_) return;
  for (int g = 0; g < optimizer.groups(); ++g) {
    for (const Tensor& p : optimizer.params(g)) on_tensor(p);
  }
  for (const Phase& p : r_.phases) {
    if (p.optimizer == &optimizer) {
      on_break({optimizer.name(), "steps twice", "step once, or make two steps of it", ""});
      return;
    }
  }
  r_.phases.push_back({&optimizer, optimizer.acts_next()});
}

// A module that lives for the step only (a loss, for instance) has no flag to look at later.
void StepRecorder::on_owner_gone(const void* owner) {
  std::erase_if(r_.flags, [&](const Flag& f) { return f.at == owner; });
  if (std::find(r_.owners.begin(), r_.owners.end(), owner) == r_.owners.end()) return;
  on_break({"compile_step", "the step destroys an optimizer or a schedule that it has used",
            "make it outside of the step", ""});
}

void StepRecorder::on_flag(const bool* flag) {
  for (const Flag& f : r_.flags) {
    if (f.at == flag) return;
  }
  r_.flags.push_back({flag, *flag});
}

void StepRecorder::on_break(StepBreak why) {
  if (r_.breaks.size() == kMostBreaks) return;
  for (const StepBreak& b : r_.breaks) {
    if (b.op == why.op && b.where == why.where) return;
  }
  r_.breaks.push_back(std::move(why));
}

}  // namespace wick::compiled
