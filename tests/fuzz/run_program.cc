#include "tests/fuzz/run_program.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/fuzz/odd_op.h"

namespace wick::fuzz {

void Fed::clear() {
  for (const Block& b : blocks_) allocator_.deallocate(b.p, b.bytes, b.align);
  blocks_.clear();
}

void* Fed::bytes(size_t n, size_t align) {
  void* p = allocator_.allocate(n, align);
  if (p != nullptr) blocks_.push_back({p, n, align});
  return p;
}

TensorView Fed::tensor(DType dtype, const Shape& shape, Span<const uint8_t> data) {
  const size_t size = is_container(dtype) ? 8 : dtype_size(dtype);
  const size_t align = dtype == DType::kString || size > 8 ? 8 : size == 0 ? 1 : size;
  TensorView v(bytes(data.size(), align), dtype, shape);
  if (!data.empty()) memcpy(v.data, data.data(), data.size());
  return v;
}

TensorView Fed::strings(const Shape& shape, const std::vector<std::string>& list) {
  const auto n = static_cast<size_t>(numel(shape));
  size_t total = 0;
  for (size_t i = 0; i < n && !list.empty(); ++i) total += list[i % list.size()].size();
  auto* text = static_cast<char*>(bytes(total, 1));
  TensorView v(bytes(n * sizeof(StringRef), alignof(StringRef)), DType::kString, shape);
  for (size_t i = 0; i < n; ++i) {
    const std::string s = list.empty() ? std::string() : list[i % list.size()];
    if (!s.empty()) memcpy(text, s.data(), s.size());
    v.as<StringRef>()[i] = {text, s.size()};
    text += s.size();
  }
  return v;
}

uint64_t read_all(const TensorView& v) {
  uint64_t sum = 0;
  const auto* p = static_cast<const uint8_t*>(v.data);
  for (size_t i = 0, n = v.nbytes(); i < n; ++i) sum = sum * 31 + p[i];
  if (v.dtype == DType::kString) {
    for (int64_t i = 0, n = v.numel(); i < n; ++i) {
      const StringRef& s = v.as<StringRef>()[i];
      for (uint64_t k = 0; k < s.size; ++k) sum = sum * 31 + static_cast<uint8_t>(s.data[k]);
    }
  } else if (is_container(v.dtype)) {
    auto packed = PackedSequence::open(v);
    if (packed.ok()) {
      for (int64_t i = 0; i < packed->count(); ++i) sum += read_all(packed->at(i));
    }
  }
  return sum;
}

// What the program's entry points remember, with sizes of 2 where they are free; null where it does
// not fit.
static Owned<RecurrentState> state_of(const Program& program, size_t max_ram,
                                      Allocator* allocator) {
  std::vector<DimBinding> dims;
  for (const SymbolDef& s : program.symbols())
    dims.push_back({s.name, std::min(s.max, std::max<int64_t>(2, s.min))});
  RecurrentStateOptions options;
  options.dims = {dims.data(), dims.size()};
  options.allocator = allocator;
  options.max_ram = max_ram;
  auto state = RecurrentState::create(program, {}, options);
  return state.ok() ? std::move(*state) : Owned<RecurrentState>();
}

void run_program(Case& c, GuardAllocator& allocator, Span<const uint8_t> file, const RunWith& with,
                 const Feed& feed, const std::function<void(const Program&)>& loaded,
                 const std::function<void(Span<const TensorView>, int)>& ran) {
  c.file(file);
  Fed bytes(allocator);
  auto* copy = static_cast<uint8_t*>(bytes.bytes(file.size(), kSegmentAlignment));
  if (copy == nullptr) return;
  memcpy(copy, file.data(), file.size());
  LoadOptions load;
  load.allocator = &allocator;
  load.max_ram = 16 << 20;
  static constexpr const CustomOp* kSound[] = {&kLoopOp};
  load.custom_ops = with.custom_ops.empty() ? kSound : with.custom_ops;
  auto program = Program::load(Span<const uint8_t>(copy, file.size()), load);
  if (!program.ok()) {
    if (c.verbose) printf("load: %s\n", program.status().message());
    return;
  }
  c.count(kLoaded);
  if (loaded) loaded(**program);
  SessionOptions options;
  options.entry = (*program)->entries()[with.entry % (*program)->entries().size()].name;
  options.threads = with.threads;
  options.allocator = &allocator;
  options.max_ram = with.max_ram;
  options.kernels = with.kernels;
  options.backend = with.backend;
  auto session = Session::create(**program, options);
  if (!session.ok()) {
    if (c.verbose) printf("create: %s\n", session.status().message());
    return;
  }
  c.count(kCreated);
  const Owned<RecurrentState> state = state_of(**program, with.max_ram, &allocator);
  for (int k = 0; k < with.runs; ++k) {
    Fed inputs(allocator);
    std::vector<TensorView> in((*session)->input_count()), out((*session)->output_count());
    for (size_t i = 0; i < in.size(); ++i) in[i] = feed((*session)->input(i), i, k, inputs);
    RunOptions run;
    run.timeout_ns = with.timeout_ns;
    run.state = state.get();
    std::vector<Shape> shapes;
    for (const TensorView& v : in) shapes.push_back(v.shape);
    if (with.bind_only) {
      if ((*session)->bind(shapes).ok()) c.count(kRan);
      continue;
    }
    if (with.own_outputs) {
      if (!(*session)->bind(shapes).ok()) continue;
      for (size_t i = 0; i < out.size(); ++i) {
        auto shape = (*session)->output_shape(i);
        const PortInfo port = (*session)->output(i);
        if (!shape.ok() || is_container(port.dtype)) continue;
        auto n = checked_bytes(*shape, dtype_bits(port.dtype));
        if (!n.ok() || *n > with.max_ram) continue;
        const size_t size = dtype_size(port.dtype);
        out[i] = TensorView(inputs.bytes(*n, size > 8    ? 8
                                             : size == 0 ? 1
                                                         : size),
                            port.dtype, *shape);
      }
    }
    const Status s = (*session)->run(in, out, run);
    if (c.verbose) printf("run: %s\n", s.ok() ? "ok" : s.message());
    if (s.code() == Code::kInternal || s.code() == Code::kNeedsValue)
      c.fault(std::string("a run says: ") + s.message());
    if (!s.ok()) continue;
    c.count(kRan);
    static volatile uint64_t kept;
    for (const TensorView& v : out) kept = kept + read_all(v);
    if (ran) ran(out, k);
  }
}

}  // namespace wick::fuzz
