// Status and Result: how the runtime and all code below it report failure. No exceptions, no
// allocation.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

// 1: code and data structures for machines with little memory (the build option WICK_SMALL).
#ifndef WICK_SMALL
#define WICK_SMALL 0
#endif
// 0: errors have codes only, and the program contains no error texts (the build option
// WICK_ERROR_TEXTS).
#ifndef WICK_ERROR_TEXTS
#define WICK_ERROR_TEXTS 1
#endif

namespace wick {

// Grouped by cause, stable: the values are part of the C ABI (append only).
enum class Code : uint8_t {
  kOk = 0,               // no failure
  kInvalidArgument = 1,  // the caller's value is wrong (name, rank, null pointer)
  kShapeMismatch = 2,    // shapes do not fit the op or the program's signature
  kTypeMismatch = 3,     // dtypes do not fit
  kNotFound = 4,         // no such input, output, entry point, file
  kUnsupported = 5,      // valid, but no kernel / feature in this build
  kInvalidProgram = 6,   // the file breaks the format's rules
  kBudgetExceeded = 7,   // max_ram, max_file
  kOutOfMemory = 8,      // the Allocator returned null
  kIo = 9,               // open, read, map
  kDevice = 10,          // accelerator lost or failing
  kDeadline = 11,        // the deadline passed
  kInternal = 12,        // a bug in Wick: please report
  kCancelled = 13,       // the caller asked for it (CancelFlag)
  kBusy = 14,            // every session of a pool is in use, and the caller would not wait
  // Passed from a shape rule to the planner only: the shape depends on a value that is known during
  // a run.
  kNeedsValue = 255,
};

// Returns the code's name: "shape mismatch".
const char* code_name(Code code);

// A code and, on failure, a text. The text is a literal or is in a per-thread buffer that the
// thread's next failing call overwrites: read or copy it before you go on.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
#if WICK_ERROR_TEXTS
  constexpr Status(Code code, const char* literal) : message_(literal), code_(code) {}
  // Return the text, "" on success; whether the call succeeded; and the code.
  constexpr const char* message() const { return message_; }
#else
  constexpr Status(Code code, const char*) : code_(code) {}
  const char* message() const { return ok() ? "" : code_name(code_); }
#endif
  constexpr bool ok() const { return code_ == Code::kOk; }
  constexpr Code code() const { return code_; }

 private:
#if WICK_ERROR_TEXTS
  const char* message_ = "";
#endif
  Code code_ = Code::kOk;
};

#if WICK_ERROR_TEXTS
// Formats like printf into this thread's message buffer (512 bytes, cut with "..." beyond).
Status error(Code code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Prefixes an error's text with the place where it happened ("node 12 (conv1, Conv): "). Ok stays
// ok.
Status annotate(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Formats a part of an error's text like snprintf; returns the bytes written, without the
// terminator.
size_t part_of_text(char* to, size_t room, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
#else
template <class... Args>
constexpr Status error(Code code, const char*, const Args&...) {
  return Status(code, nullptr);
}
template <class... Args>
constexpr Status annotate(Status status, const char*, const Args&...) {
  return status;
}
template <class... Args>
constexpr size_t part_of_text(char* to, size_t room, const char*, const Args&...) {
  if (room > 0) *to = '\0';
  return 0;
}
#endif

// A value, or the Status of the failure that there is instead. Reading the value of a failure is a
// bug.
template <class T>
class [[nodiscard]] Result {
 public:
  // Takes a failure: an ok Status has no value to give, so passing one is a bug of the function
  // that returns it.
  Result(Status status)  // NOLINT: implicit by design
      : status_(status.ok() ? Status(Code::kInternal, "a Result without a value") : status) {}
  // Takes a value.
  Result(T value) : has_(true) { new (&value_) T(std::move(value)); }  // NOLINT
  Result(Result&& other) noexcept : status_(other.status_), has_(other.has_) {
    if (has_) new (&value_) T(std::move(other.value_));
  }
  // Takes over the other's value or failure, in place of its own.
  Result& operator=(Result&& other) noexcept {
    if (this == &other) return *this;
    if (has_) value_.~T();
    status_ = other.status_;
    has_ = other.has_;
    if (has_) new (&value_) T(std::move(other.value_));
    return *this;
  }
  ~Result() {
    if (has_) value_.~T();
  }
  // Returns whether there is a value.
  bool ok() const { return has_; }
  // Returns the failure; ok() where there is a value.
  Status status() const { return status_; }
  T& value() { return value_; }
  const T& value() const { return value_; }
  T* operator->() { return &value_; }
  T& operator*() { return value_; }

 private:
  Status status_;
  union {
    T value_;
  };
  bool has_ = false;
};

}  // namespace wick

#define WICK_CONCAT_INNER(a, b) a##b
#define WICK_CONCAT(a, b) WICK_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (a Status) failed.
#define WICK_TRY(expr)                                                  \
  do {                                                                  \
    if (::wick::Status wick_s_ = (expr); !wick_s_.ok()) return wick_s_; \
  } while (false)

// WICK_ASSIGN(auto x, fallible()): declares x from a Result or returns its Status.
#define WICK_ASSIGN(decl, expr) WICK_ASSIGN_IMPL(WICK_CONCAT(wick_r_, __LINE__), decl, expr)
#define WICK_ASSIGN_IMPL(tmp, decl, expr) \
  auto tmp = (expr);                      \
  if (!tmp.ok()) return tmp.status();     \
  decl = std::move(tmp.value())
