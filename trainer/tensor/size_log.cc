#include "trainer/tensor/size_log.h"

#include <atomic>
#include <string>

#include "wick/error.h"

namespace wick {
namespace {

thread_local SizeLog* g_log = nullptr;
std::atomic<uint32_t> g_turn{0};

using detail::SizeCompare;
using detail::SizeOp;

// Computes on numbers; sums and products may overflow, as such a number is not a size.
int64_t of_numbers(SizeOp op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case SizeOp::kAdd: return static_cast<int64_t>(x + y);
    case SizeOp::kSub: return static_cast<int64_t>(x - y);
    case SizeOp::kMul: return static_cast<int64_t>(x * y);
    case SizeOp::kDiv: return a / b;
    case SizeOp::kMod: return a % b;
    case SizeOp::kMax: return a < b ? b : a;
    case SizeOp::kMin: return b < a ? b : a;
    case SizeOp::kRead:
    case SizeOp::kNumber: break;
  }
  return 0;
}
bool of_numbers(SizeCompare how, int64_t a, int64_t b) {
  return how == SizeCompare::kEqual ? a == b : how == SizeCompare::kLess ? a < b : a <= b;
}

}  // namespace

SizeLog* active_size_log() { return g_log; }
SizeLogScope::SizeLogScope(SizeLog* log) : saved_(g_log) { g_log = log; }
SizeLogScope::~SizeLogScope() { g_log = saved_; }

namespace detail {

Dim dim_combine(SizeOp op, Dim a, Dim b) {
  if ((op == SizeOp::kDiv || op == SizeOp::kMod) && b.peek() == 0)
    throw Error("a size is divided by a size that is 0");
  if (g_log != nullptr) return g_log->combine(op, a, b);
  return Dim(of_numbers(op, a.peek(), b.peek()));
}
bool dim_compare(SizeCompare how, Dim a, Dim b) {
  return g_log != nullptr ? g_log->compare(how, a, b) : of_numbers(how, a.peek(), b.peek());
}
int64_t dim_escapes(Dim d) { return g_log != nullptr ? g_log->escape(d) : d.peek(); }

}  // namespace detail

SizeLog::SizeLog() : turn_(g_turn.fetch_add(1) & ((1U << Dim::kTurnBits) - 1)) {}

// A Dim of another run is treated as a plain number.
int32_t SizeLog::entry(Dim d) {
  if (d.followed() && d.turn() == turn_ && d.id() < entries_.size() &&
      entries_[d.id()].number == d.peek())
    return static_cast<int32_t>(d.id());
  Entry e{SizeOp::kNumber, -1, -1, d.peek(), now_, {}};
  auto [at, fresh] =
      known_.try_emplace({e.op, e.a, e.b, e.number}, static_cast<int32_t>(entries_.size()));
  if (fresh) entries_.push_back(e);
  return at->second;
}

Dim SizeLog::made(const Entry& e) {
  auto [at, fresh] =
      known_.try_emplace({e.op, e.a, e.b, e.number}, static_cast<int32_t>(entries_.size()));
  const int32_t id = at->second;
  if (fresh)
    entries_.push_back(e);
  else
    entries_[static_cast<size_t>(id)].where = e.where;
  if (id < (1 << Dim::kIdBits) && Dim::fits(e.number))
    return Dim::make_followed(e.number, static_cast<uint32_t>(id), turn_);
  escaped_.emplace(id, e.where);  // the id or the number does not fit
  return Dim(e.number);
}

Dim SizeLog::read(int32_t value, int dim, int64_t number, const std::source_location& where) {
  return made({SizeOp::kRead, value, dim, number, now_, where});
}

Dim SizeLog::combine(SizeOp op, Dim a, Dim b) {
  const int32_t x = entry(a), y = entry(b);
  return made({op, x, y, of_numbers(op, a.peek(), b.peek()), now_, where_of(x, y)});
}

bool SizeLog::compare(SizeCompare how, Dim a, Dim b) {
  const bool yes = of_numbers(how, a.peek(), b.peek());
  const int32_t x = entry(a), y = entry(b);
  if (asked_.insert({how, x, y, yes}).second)
    guards_.push_back({how, x, y, yes, now_, where_of(x, y)});
  return yes;
}

int64_t SizeLog::escape(Dim d) {
  const int32_t e = entry(d);
  escaped_.emplace(e, entries_[static_cast<size_t>(e)].where);
  return d.peek();
}

// Plain numbers have no line where they were read.
const std::source_location& SizeLog::where_of(int32_t a, int32_t b) const {
  const Entry &first = entries_[static_cast<size_t>(a)], &second = entries_[static_cast<size_t>(b)];
  return second.op == SizeOp::kNumber ? first.where : second.where;
}

}  // namespace wick
