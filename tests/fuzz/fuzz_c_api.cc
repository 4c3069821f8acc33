// Random sequences of calls of wick.h and wick/c/*.h over a few programs and sessions: right and
// wrong ones, null pointers with counts, sizes of structs, values out of range, sometimes from two
// threads at once.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "tests/fuzz/odd_op.h"
#include "tests/fuzz/op_case.h"
#include "tests/fuzz/program_seeds.h"
#include "tests/fuzz/run_program.h"
#include "wick/c/hooks.h"
#include "wick/c/session.h"
#include "wick/wick.h"

namespace wick::fuzz {
namespace {

enum { kCalls, kOk };

GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}
void* c_allocate(void* user, size_t bytes, size_t align) {
  return static_cast<GuardAllocator*>(user)->allocate(bytes, align);
}
void c_free(void* user, void* p, size_t bytes, size_t align) {
  static_cast<GuardAllocator*>(user)->deallocate(p, bytes, align);
}

// Calls holds what a case has open. A program outlives its sessions, as the header requires.
class Calls {
 public:
  explicit Calls(Case& c) : c_(c), dice_(c.dice), fed_(allocator()) {}
  ~Calls() {
    for (Open& o : open_) wick_session_free(o.session);
    for (wick_program* p : programs_) wick_program_free(p);
    for (wick_ops* o : ops_) wick_ops_free(o);
  }
  void call();
  void two_threads();

 private:
  struct Open {
    wick_session* session;
    wick_program* program;
  };
  wick_program* program() { return programs_.empty() ? nullptr : dice_.of(programs_); }
  wick_session* session() {
    return open_.empty() || dice_.one_in(40) ? nullptr : dice_.of(open_).session;
  }
  void said(int code) {
    c_.count(kCalls);
    if (code == WICK_OK) return c_.count(kOk);
    if (code < 0 || code > WICK_INTERNAL) c_.fault("no code of wick.h: " + std::to_string(code));
    if (code == WICK_INTERNAL) c_.fault(std::string("internal: ") + wick_last_error());
    if (*wick_last_error() == '\0') c_.fault("an error without a text");
  }
  size_t index() {
    return dice_.one_in(8) ? static_cast<size_t>(dice_.next()) : dice_.below(size_t{4});
  }

  void load();
  void ops();
  void create();
  void look();
  void look_inside();
  void run();
  void run_otherwise();
  void pack();
  wick_tensor tensor(const wick_port* port);
  void tensors(wick_session* s, std::vector<wick_tensor>* in, std::vector<wick_tensor>* out);

  Case& c_;
  Dice& dice_;
  Fed fed_;
  std::vector<wick_program*> programs_;
  std::vector<Open> open_;
  std::deque<OddOps> odd_;
  std::vector<wick_ops*> ops_;
};

// Opens a library of ops; there is one file, which gets another description each time.
void Calls::ops() {
  using Give = void (*)(const OpLibraryInfo*);
  static const auto give = [] {
    void* library = dlopen(WICK_FUZZ_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Give>(dlsym(library, "wick_fuzz_give"));
  }();
  if (give == nullptr) return c_.fault("there is no library of ops");
  const char* const paths[] = {"", "/dev/null", "/", "nowhere/ops.so"};
  const char* path = !dice_.one_in(20) ? WICK_FUZZ_LIBRARY
                     : dice_.one_in(5) ? nullptr
                                       : dice_.of(paths);
  give(dice_.one_in(40) ? nullptr : &odd_.emplace_back(dice_).info());
  wick_ops* made = nullptr;
  const int code = wick_ops_load(path, dice_.one_in(40) ? nullptr : &made);
  said(code);
  if ((code == WICK_OK) != (made != nullptr)) c_.fault("a library beside an error, or none");
  (void)wick_ops_count(made);
  (void)wick_ops_name(made, index());
  if (made != nullptr) ops_.push_back(made);
}

void Calls::load() {
  ProgramText p = draw_program(dice_);
  if (dice_.one_in(4)) mutate(p, dice_);
  const std::vector<uint8_t> file = p.file();
  const size_t cut = dice_.one_in(10) ? dice_.below(file.size()) : file.size();
  auto* bytes = static_cast<uint8_t*>(fed_.bytes(cut, dice_.one_in(6) ? 1 : 64));
  if (bytes == nullptr) return;
  if (cut != 0) memcpy(bytes, file.data(), cut);
  wick_load_options o = WICK_INIT(wick_load_options);
  o.max_ram = 8 << 20;
  if (!dice_.one_in(4)) o.allocator = {&allocator(), c_allocate, c_free};
  if (dice_.one_in(30)) o.allocator.deallocate = nullptr;
  if (dice_.one_in(20)) o.size = dice_.below(sizeof(o) + 20);
  if (dice_.one_in(30)) o.ops_count = 1 + dice_.below(size_t{3});
  if (!ops_.empty() && dice_.one_in(2)) {
    o.ops = ops_.data();
    o.ops_count = 1 + dice_.below(ops_.size());
  }
  o.verify_digests = dice_.one_in(6);
  if (dice_.one_in(20)) o.max_visits = static_cast<uint64_t>(hostile_int(dice_));
  wick_program* made = nullptr;
  const bool nothing = dice_.one_in(40);
  const int code =
      wick_program_load_memory(dice_.one_in(60) ? nullptr : bytes, cut,
                               dice_.one_in(8) ? nullptr : &o, nothing ? nullptr : &made);
  said(code);
  if ((code == WICK_OK) != (made != nullptr)) c_.fault("a program beside an error, or none");
  if (made != nullptr) programs_.push_back(made);
}

void Calls::create() {
  wick_program* from = dice_.one_in(40) ? nullptr : program();
  wick_session_options o = WICK_INIT(wick_session_options);
  o.threads = dice_.one_in(20) ? static_cast<int>(hostile_int(dice_)) & 3 : 1;
  o.max_ram = 4 << 20;
  if (!dice_.one_in(4)) o.allocator = {&allocator(), c_allocate, c_free};
  if (dice_.one_in(20)) o.size = dice_.below(sizeof(o) + 20);
  const char* const entries[] = {"main", "step", "", "nowhere"};
  if (dice_.one_in(6)) o.entry = dice_.of(entries);
  wick_dim_binding dims[2] = {{"batch", dice_.one_in(2) ? hostile_int(dice_) : 3}, {"n", 2}};
  if (dice_.one_in(20)) dims[0].symbol = nullptr;
  if (dice_.one_in(4)) o.max_dims = dims;
  if (dice_.one_in(4)) o.max_dim_count = dice_.below(size_t{3});
  wick_session* made = nullptr;
  const int code = wick_session_create(from, dice_.one_in(30) ? nullptr : &o,
                                       dice_.one_in(40) ? nullptr : &made);
  said(code);
  if ((code == WICK_OK) != (made != nullptr)) c_.fault("a session beside an error, or none");
  if (made != nullptr) open_.push_back({made, from});
}

void Calls::look() {
  wick_program* p = dice_.one_in(20) ? nullptr : program();
  wick_session* s = session();
  for (const char* text : {wick_program_entry_name(p, index()), wick_program_label(p, index()),
                           wick_program_metadata(p, dice_.one_in(4) ? nullptr : "k"),
                           wick_code_name(static_cast<int>(dice_.next())), wick_version(),
                           wick_dtype_name(static_cast<int>(hostile_int(dice_)))}) {
    static volatile size_t kept;
    if (text != nullptr) kept = kept + strlen(text);
  }
  (void)wick_program_entry_count(p);
  (void)wick_program_label_count(p);
  (void)wick_dtype_size(static_cast<int>(hostile_int(dice_)));
  (void)wick_session_memory(s);
  (void)wick_session_find_input(s, dice_.one_in(4) ? nullptr : "x");
  (void)wick_session_find_output(s, "y");
  (void)wick_session_input_element(s, index());
  (void)wick_session_output_element(s, index());
  wick_port port;
  said(wick_session_input(s, index(), dice_.one_in(30) ? nullptr : &port));
  said(wick_session_output(s, index(), &port));
  wick_tensor t;
  said(wick_session_output_shape(s, index(), dice_.one_in(30) ? nullptr : &t));
}

// Fills T by one of the functions, from an older caller's struct or a wrong one now and then.
template <class T, class F>
int fill(Dice& dice, const F& get) {
  T to = WICK_INIT(T);
  if (dice.one_in(10)) to.size = dice.below(sizeof(to) + 20);
  return get(dice.one_in(30) ? nullptr : &to);
}

void Calls::look_inside() {
  const wick_program* p = dice_.one_in(20) ? nullptr : program();
  const wick_session* s = session();
  const size_t i = index(), entry = index(), region = index();
  const char *key = nullptr, *value = nullptr;
  said(fill<wick_symbol>(dice_, [&](auto* to) { return wick_program_symbol(p, i, to); }));
  said(fill<wick_provenance>(dice_, [&](auto* to) { return wick_program_provenance(p, to); }));
  said(fill<wick_program_facts>(dice_, [&](auto* to) { return wick_program_get_facts(p, to); }));
  said(fill<wick_constant>(dice_, [&](auto* to) { return wick_program_constant(p, i, to); }));
  said(fill<wick_packed_form>(
      dice_, [&](auto* to) { return wick_program_packed_form(p, i, index(), to); }));
  said(fill<wick_state_buffer>(dice_, [&](auto* to) { return wick_program_state(p, i, to); }));
  said(fill<wick_custom_op>(dice_, [&](auto* to) { return wick_program_custom_op(p, i, to); }));
  said(fill<wick_value>(dice_, [&](auto* to) { return wick_program_value(p, entry, i, to); }));
  said(
      fill<wick_node>(dice_, [&](auto* to) { return wick_program_node(p, entry, region, i, to); }));
  said(wick_program_metadata_entry(p, i, &key, dice_.one_in(30) ? nullptr : &value));
  said(wick_program_intact(p));
  (void)wick_program_growing(p, entry);
  (void)wick_program_find_entry(p, dice_.one_in(4) ? nullptr : "main");
  said(fill<wick_packed_form>(dice_, [&](auto* to) { return wick_session_packed_form(s, i, to); }));
  wick_explain_hook hook = WICK_INIT(wick_explain_hook);
  hook.on_step = [](void*, const wick_placed_step* step) {
    wick_tensor t;
    for (size_t k = 0; k <= wick_views_count(step->in); ++k)
      (void)wick_views_tensor(step->in, k, &t);
  };
  if (dice_.one_in(20)) hook.size = dice_.below(sizeof(hook) + 20);
  said(wick_session_explain(s, dice_.one_in(30) ? nullptr : &hook));
  (void)wick_session_left_backend(s);
  (void)wick_session_step_count(s);
}

// Makes a tensor as the port declares it, or not.
wick_tensor Calls::tensor(const wick_port* port) {
  wick_tensor t = {};
  t.dtype = port != nullptr ? port->dtype : WICK_FLOAT32;
  t.rank = port != nullptr && port->rank >= 0 ? port->rank : dice_.below(3);
  int64_t n = 1;
  for (int d = 0; d < t.rank && d < WICK_MAX_RANK; ++d) {
    t.dims[d] =
        port != nullptr && port->rank > d && port->dims[d] >= 0 ? port->dims[d] : dice_.below(4);
    n *= t.dims[d];
  }
  if (n < 0 || n > 1 << 16) n = 0, t.rank = 1, t.dims[0] = 0;
  const size_t bytes = static_cast<size_t>(n) * (t.dtype == WICK_STRING ? sizeof(wick_string) : 16);
  if (t.dtype >= WICK_SEQUENCE) {
    const int64_t of[] = {0, 32, 64, 7};
    t.rank = 1, t.dims[0] = dice_.of(of);
    t.data = fed_.bytes(64, 64);
    memset(t.data, 0, 64);
    memcpy(t.data, "WICKSEQ1", 8);
  } else {
    t.data = fed_.bytes(bytes, 16);
    if (t.data != nullptr && bytes != 0)
      memset(t.data, t.dtype == WICK_STRING ? 0 : dice_.below(3), bytes);
  }
  if (t.dtype == WICK_STRING && t.data != nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      auto& s = static_cast<wick_string*>(t.data)[i];
      s = {"text", static_cast<uint64_t>(dice_.below(5))};
      if (dice_.one_in(60)) s.data = nullptr;
    }
  }
  // Only a wrong caller passes these.
  if (dice_.one_in(30)) t.data = nullptr;
  if (dice_.one_in(40)) t.rank = dice_.one_in(2) ? -1 : 9;
  if (dice_.one_in(40) && t.rank > 0) t.dims[0] = -1;
  if (dice_.one_in(30)) t.dtype = static_cast<int32_t>(hostile_int(dice_));
  return t;
}

void Calls::tensors(wick_session* s, std::vector<wick_tensor>* in, std::vector<wick_tensor>* out) {
  for (size_t i = 0, n = wick_session_input_count(s); i < n; ++i) {
    wick_port port;
    if (wick_session_input(s, i, &port) == WICK_OK) in->push_back(tensor(&port));
  }
  out->resize(wick_session_output_count(s));
  for (wick_tensor& t : *out) {
    t = {};
    if (dice_.one_in(4)) t = tensor(nullptr);
  }
  if (dice_.one_in(30)) in->push_back(tensor(nullptr));
}

void Calls::run() {
  wick_session* s = session();
  std::vector<wick_tensor> in, out;
  tensors(s, &in, &out);
  if (dice_.one_in(3)) said(wick_session_bind(s, in.data(), in.size()));
  wick_run_options o = WICK_INIT(wick_run_options);
  o.timeout_ns = dice_.one_in(20) ? 1 : 30'000'000;
  // A shorter struct would have no time limit, and a loop may have no end.
  if (dice_.one_in(30)) o.size = sizeof(o) + dice_.below(size_t{9});
  const bool no_in = dice_.one_in(60), no_out = dice_.one_in(60);
  const int code = wick_session_run(s, no_in ? nullptr : in.data(), in.size(),
                                    no_out ? nullptr : out.data(), out.size(), &o);
  said(code);
  if (code != WICK_OK || no_out) return;
  for (const wick_tensor& t : out) {
    TensorView v(t.data, static_cast<DType>(t.dtype), {});
    v.shape = Shape(Span<const int64_t>(t.dims, static_cast<size_t>(t.rank)));
    static volatile uint64_t kept;
    kept = kept + read_all(v);
    size_t count = 0;
    int present = 0;
    if (t.dtype < WICK_SEQUENCE) continue;
    said(wick_packed_count(&t, &count, &present));
    wick_tensor element;
    for (size_t i = 0; i < count + 1; ++i) said(wick_packed_element(&t, i, &element));
  }
}

// A run by name, or in two halves.
void Calls::run_otherwise() {
  wick_session* s = session();
  std::vector<wick_tensor> in, out;
  tensors(s, &in, &out);
  wick_run_options o = WICK_INIT(wick_run_options);
  o.timeout_ns = dice_.one_in(20) ? 1 : 30'000'000;
  if (dice_.one_in(2)) {
    said(wick_session_start(s, dice_.one_in(60) ? nullptr : in.data(), in.size(), &o));
    if (dice_.one_in(6)) said(wick_session_bind(s, in.data(), in.size()));
    said(wick_session_finish(s, dice_.one_in(60) ? nullptr : out.data(), out.size()));
    // A run that wrong outputs did not end would refuse all that follow.
    for (wick_tensor& t : out) t = {};
    said(wick_session_finish(s, out.data(), out.size()));
    return;
  }
  std::vector<wick_named_tensor> by_name, wanted;
  for (size_t i = 0; i < in.size(); ++i) {
    wick_port port = {};
    (void)wick_session_input(s, i, &port);
    by_name.push_back({dice_.one_in(40) ? "nobody" : port.name, in[i]});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    wick_port port = {};
    if (dice_.one_in(2) || wick_session_output(s, i, &port) != WICK_OK) continue;
    wanted.push_back({port.name, out[i]});
  }
  if (dice_.one_in(20)) wanted.push_back({nullptr, {}});
  said(wick_session_run_named(s, by_name.data(), by_name.size(), wanted.data(), wanted.size(), &o));
}

void Calls::pack() {
  std::vector<wick_tensor> elements;
  for (int k = dice_.below(4); k > 0; --k) elements.push_back(tensor(nullptr));
  size_t bytes = 0;
  const bool none = dice_.one_in(10);
  const wick_tensor* list = none ? nullptr : elements.data();
  const int code = wick_pack_bytes(list, elements.size(), dice_.one_in(40) ? nullptr : &bytes);
  said(code);
  if (code != WICK_OK || bytes > 1 << 20) return;
  if (dice_.one_in(20)) bytes = dice_.below(bytes + 70);
  void* data = fed_.bytes(bytes, 64);
  wick_tensor packed = {};
  const int kinds[] = {WICK_SEQUENCE, WICK_OPTIONAL, WICK_OPTIONAL_SEQUENCE, 63, 0, -1};
  const int made = wick_pack(kinds[dice_.below(dice_.one_in(8) ? 6 : 3)],
                             dice_.one_in(10) ? static_cast<int>(hostile_int(dice_)) : WICK_FLOAT32,
                             list, elements.size(), dice_.one_in(40) ? nullptr : data, bytes,
                             dice_.one_in(40) ? nullptr : &packed);
  said(made);
  if (made != WICK_OK) return;
  size_t count = 0;
  if (dice_.one_in(3) && bytes > 0) static_cast<uint8_t*>(data)[dice_.below(bytes)] ^= 0x11;
  said(wick_packed_count(&packed, &count, nullptr));
  wick_tensor element;
  for (size_t i = 0; i <= count && i < 8; ++i) said(wick_packed_element(&packed, i, &element));
}

// Two callers of one session: one of them may be told that it is in use.
void Calls::two_threads() {
  wick_session* s = session();
  if (s == nullptr) return;
  std::vector<wick_tensor> in, out;
  tensors(s, &in, &out);
  for (wick_tensor& t : out) t = {};
  std::vector<wick_tensor> other = out;
  wick_run_options o = WICK_INIT(wick_run_options);
  o.timeout_ns = 30'000'000;
  std::thread second([&] {
    (void)wick_session_run(s, in.data(), in.size(), other.data(), other.size(), &o);
    (void)wick_session_memory(s);
  });
  (void)wick_session_run(s, in.data(), in.size(), out.data(), out.size(), &o);
  second.join();
  c_.count(kCalls);
}

void Calls::call() {
  switch (dice_.below(10)) {
    case 0: return load();
    case 1:
    case 2: return programs_.empty() ? load() : create();
    case 3: return dice_.one_in(3) ? ops() : dice_.one_in(2) ? look() : look_inside();
    case 4: return pack();
    case 5:
      if (open_.empty() || !dice_.one_in(3)) return look();
      {
        const size_t at = dice_.below(open_.size());
        wick_session_free(open_[at].session);
        open_.erase(open_.begin() + static_cast<int64_t>(at));
      }
      return;
    case 6:
      if (dice_.one_in(10)) return two_threads();
      [[fallthrough]];
    default: return open_.empty() ? create() : dice_.one_in(3) ? run_otherwise() : run();
  }
}

void run(Case& c) {
  {
    Calls calls(c);
    for (int k = 3 + c.dice.below(c.dice.one_in(10) ? 100 : 25); k > 0; --k) calls.call();
  }
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  return wick::fuzz::fuzz_main(argc, argv, {"fuzz_c_api", {"calls", "ok"}, wick::fuzz::run});
}
