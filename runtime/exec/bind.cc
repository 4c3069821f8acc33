// Binds a session to input shapes, and falls back to the CPU where a backend failed: the call in
// which it failed then starts again on the CPU.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "runtime/exec/ports.h"
#include "runtime/exec/session_impl.h"

namespace wick {

// Binds to the inputs' shapes unless the session is bound to them already.
Status Session::Impl::bind_to(Span<const TensorView> inputs) {
  bool same = bound;
  for (size_t i = 0; same && i < inputs.size(); ++i)
    same = inputs[i].shape == shapes[i] || is_container(inputs[i].dtype);
  if (same && fits_state()) return {};
  Shape few[16];
  Array<Shape> many(memory.allocator);
  Span<Shape> wanted{few, 16};
  if (inputs.size() > wanted.size()) {
    WICK_TRY(many.resize(inputs.size()));
    wanted = many;
  }
  for (size_t i = 0; i < inputs.size(); ++i) wanted[i] = inputs[i].shape;
  return bind(wanted.subspan(0, inputs.size()));
}

Status Session::Impl::bind(Span<const Shape> given_shapes) {
  Status s = bind_once(given_shapes);
  return leave_backend(s) ? bind_once(given_shapes) : s;
}

// Returns true where `why` looks like a failure of the backend; from then on only the CPU is used.
bool Session::Impl::leave_backend(const Status& why) {
  if (machine.backend == nullptr ||
      (why.code() != Code::kDevice && why.code() != Code::kOutOfMemory))
    return false;
  part_of_text(left_backend, sizeof(left_backend), "%s", why.message());
  left.store(true, std::memory_order_release);
  unbind();
  runner.unbind_all();  // branches and loops may have parts on the device as well
  machine.backend = nullptr;
  return true;
}

Status Session::Impl::bind_once(Span<const Shape> given_shapes) {
  FloatModeScope mode;  // binding evaluates ops too, and the caller's mode is unknown
  auto attempt = [&]() -> Status {
    auto ports = entry().body().inputs;
    WICK_TRY(values.prepare(machine.backend != nullptr || machine.trace != nullptr));
    WICK_TRY(runner.prepare());
    WICK_TRY(held.reserve(ports.size()));
    memory.has_strings = values.has_strings;
    WICK_TRY(bind_symbols(values, given_shapes));
    unbind();
    memory.strings.clear();  // the last run's results are not read any more
    WICK_TRY(shapes.reserve(ports.size()));
    for (size_t i = 0; i < ports.size(); ++i) {     // cannot fail: reserved, and the entry's dtype
      WICK_TRY(shapes.push_back(given_shapes[i]));  // GCOVR_EXCL_BR_LINE
      const DType dtype = entry().values[ports[i]].dtype;
      WICK_TRY(values.set(ports[i], nullptr, dtype, given_shapes[i]));  // GCOVR_EXCL_BR_LINE
    }
    WICK_TRY(bind_states());
    WICK_TRY(runner.plan_body());  // also fails where the run was stopped meanwhile
    bound = true;
    sized = runner.whole();
    return {};
  };
  Status s = attempt();
  if (!s.ok()) unbind();
  return s.ok() ? s : say_multiple(s);
}

// Where shapes do not fit each other, the cause may be a size that the model was not captured for:
// the program's metadata says of which numbers it takes multiples only. Where errors have no texts
// there is nothing to say, and a small build would get all of printf() for it.
Status Session::Impl::say_multiple(Status s) const {
#if WICK_ERROR_TEXTS
  if (s.code() != Code::kShapeMismatch && s.code() != Code::kInvalidArgument) return s;
  const Span<const SymbolDef> symbols = values.program.symbols();
  for (size_t i = 0; i < values.symbols.size(); ++i) {
    char key[160];
    const int length = snprintf(key, sizeof(key), "wick.multiple_of.%s", symbols[i].name);
    if (length >= static_cast<int>(sizeof(key))) continue;
    const char* const text = values.program.find_metadata(key);
    const int64_t size = values.symbols[i], step = text == nullptr ? 0 : strtoll(text, nullptr, 10);
    if (step < 2 || size < 0 || size % step == 0) continue;
    return annotate(s, "%.40s is %" PRId64 ", the model takes multiples of %" PRId64 ": ",
                    symbols[i].name, size, step);
  }
#endif
  return s;
}

void Session::Impl::unbind() {
  runner.unbind_body();
  shapes.clear();
  bound = sized = false;
}

}  // namespace wick
