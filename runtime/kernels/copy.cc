#include "runtime/kernels/copy.h"

#include <bit>
#include <cstring>

#include "runtime/core/narrow.h"
#include "runtime/core/stop.h"

namespace wick {
namespace {

struct Loop {
  int64_t extent, src, dst;  // strides in elements
};

// Merges dims that are contiguous in both views and drops dims of extent 1. Returns the number of
// loops, outermost first.
int coalesce(const TensorView& src, const TensorView& dst, Loop* loops) {
  int n = 0;
  for (int i = 0; i < src.rank(); ++i) {
    if (src.shape[i] == 1) continue;
    Loop next{src.shape[i], src.strides[i], dst.strides[i]};
    if (n > 0 && loops[n - 1].src == next.src * next.extent &&
        loops[n - 1].dst == next.dst * next.extent) {
      loops[n - 1] = {loops[n - 1].extent * next.extent, next.src, next.dst};
    } else {
      loops[n++] = next;
    }
  }
  return n;
}

#if WICK_SMALL
// One loop for elements of every width.
void copy_elements(const char* src, char* dst, const Loop* loops, int n, size_t width, Poll& poll) {
  const auto step = static_cast<int64_t>(width);
  if (n == 0 || (n == 1 && loops[0].src == 1 && loops[0].dst == 1)) {
    in_pieces(poll, n == 0 ? 1 : loops[0].extent, [&](int64_t begin, int64_t end) {
      memcpy(dst + begin * step, src + begin * step, static_cast<size_t>(end - begin) * width);
    });
    return;
  }
  for (int64_t i = 0; i < loops[0].extent; ++i) {
    if (poll()) return;
    const char* from = src + i * loops[0].src * step;
    char* to = dst + i * loops[0].dst * step;
    if (n > 1) {
      copy_elements(from, to, loops + 1, n - 1, width, poll);
    } else {
      memcpy(to, from, width);
    }
  }
}
#else
struct Bytes16 {
  uint64_t a, b;
};

template <class T>
void copy_line(const T* src, T* dst, int64_t n, int64_t src_step, int64_t dst_step, Poll& poll) {
  in_pieces(poll, n, [&](int64_t begin, int64_t end) {
    if (src_step == 1 && dst_step == 1) {
      memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin) * sizeof(T));
    } else if (src_step == 0 && dst_step == 1) {
      for (int64_t i = begin; i < end; ++i) dst[i] = src[0];
    } else {
      for (int64_t i = begin; i < end; ++i) dst[i * dst_step] = src[i * src_step];
    }
  });
}

// Transposes 8 x 8 bytes, one column per word: pairs of words swap halves, then quarters, then
// bytes.
void turn_bytes(uint64_t* w) {
  constexpr uint64_t kLow[] = {0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF};
#pragma GCC unroll 3
  for (int step = 0; step < 3; ++step) {
    const int far = 4 >> step;
#pragma GCC unroll 8  // keeps it in registers
    for (int i = 0; i < 8; ++i) {
      if ((i & far) != 0) continue;
      const uint64_t swap = (w[i] >> (8 * far) ^ w[i + far]) & kLow[step];
      w[i] ^= swap << (8 * far);
      w[i + far] ^= swap;
    }
  }
}
// Transposes whole 8 x 8 blocks of bytes that are contiguous along `outer` in src and `inner` in
// dst.
void copy_turned(const uint8_t* src, uint8_t* dst, const Loop& outer, const Loop& inner,
                 Poll& poll) {
  for (int64_t i = 0; i + 8 <= outer.extent; i += 8) {
    if (poll(8 * inner.extent)) return;
    for (int64_t j = 0; j + 8 <= inner.extent; j += 8) {
      uint64_t w[8];
#pragma GCC unroll 8
      for (int64_t c = 0; c < 8; ++c) memcpy(w + c, src + i + (j + c) * inner.src, 8);
      turn_bytes(w);
#pragma GCC unroll 8
      for (int64_t r = 0; r < 8; ++r) memcpy(dst + (i + r) * outer.dst + j, w + r, 8);
    }
  }
}

// Copies n runs of a few bytes, whose count the compiler knows.
using CopyRuns = void (*)(const char* src, char* dst, int64_t n, int64_t src_step,
                          int64_t dst_step);
template <int kBytes>
void copy_runs(const char* src, char* dst, int64_t n, int64_t src_step, int64_t dst_step) {
  for (int64_t i = 0; i < n; ++i) memcpy(dst + i * dst_step, src + i * src_step, kBytes);
}
// Returns null where runs of so many bytes have no loop of their own.
CopyRuns short_runs(int64_t bytes) {
  switch (bytes) {
    case 4: return copy_runs<4>;
    case 8: return copy_runs<8>;
    case 12: return copy_runs<12>;
    case 16: return copy_runs<16>;
    default: return nullptr;
  }
}
bool copy_short_runs(int64_t bytes, const char* src, char* dst, int64_t n, int64_t src_step,
                     int64_t dst_step, Poll& poll) {
  const CopyRuns runs = short_runs(bytes);
  if (runs == nullptr) return false;
  in_pieces(poll, n, [&](int64_t begin, int64_t end) {
    runs(src + begin * src_step, dst + begin * dst_step, end - begin, src_step, dst_step);
  });
  return true;
}

// A transpose reads or writes across cache lines: blocks of 16 keep both sides' lines in L1.
template <class T>
void copy_plane(const T* src, T* dst, const Loop& outer, const Loop& inner, Poll& poll) {
  constexpr int64_t kBlock = 16, kWidth = sizeof(T);
  if (inner.src == 1 && inner.dst == 1 &&
      copy_short_runs(inner.extent * kWidth, reinterpret_cast<const char*>(src),
                      reinterpret_cast<char*>(dst), outer.extent, outer.src * kWidth,
                      outer.dst * kWidth, poll))
    return;
  if (inner.src == 1 || inner.src == 0 || outer.src != 1) {
    for (int64_t i = 0; i < outer.extent; ++i) {
      if (poll()) return;
      copy_line(src + i * outer.src, dst + i * outer.dst, inner.extent, inner.src, inner.dst, poll);
    }
    return;
  }
  if constexpr (sizeof(T) == 1 && std::endian::native == std::endian::little) {
    if (inner.dst == 1 && outer.extent >= 8 && inner.extent >= 8) {
      copy_turned(src, dst, outer, inner, poll);
      const int64_t rows = outer.extent / 8 * 8, cols = inner.extent / 8 * 8;
      for (int64_t i = 0; i < outer.extent; ++i) {  // the rest outside of whole blocks
        const int64_t j = i < rows ? cols : 0;
        copy_line(src + i + j * inner.src, dst + i * outer.dst + j, inner.extent - j, inner.src,
                  int64_t{1}, poll);
      }
      return;
    }
  }
  for (int64_t i = 0; i < outer.extent; i += kBlock) {
    int64_t rows = outer.extent - i < kBlock ? outer.extent - i : kBlock;
    for (int64_t j = 0; j < inner.extent; j += kBlock) {
      int64_t cols = inner.extent - j < kBlock ? inner.extent - j : kBlock;
      if (poll(rows * cols)) return;
      for (int64_t r = 0; r < rows; ++r) {
        const T* from = src + (i + r) * outer.src + j * inner.src;
        T* to = dst + (i + r) * outer.dst + j * inner.dst;
        for (int64_t c = 0; c < cols; ++c) to[c * inner.dst] = from[c * inner.src];
      }
    }
  }
}

template <class T>
void copy_loops(const T* src, T* dst, const Loop* loops, int n, Poll& poll) {
  if (n == 0) {
    *dst = *src;
  } else if (n == 1) {
    copy_line(src, dst, loops[0].extent, loops[0].src, loops[0].dst, poll);
  } else if (n == 2) {
    copy_plane(src, dst, loops[0], loops[1], poll);
  } else {
    for (int64_t i = 0; i < loops[0].extent; ++i) {
      if (poll()) return;
      copy_loops(src + i * loops[0].src, dst + i * loops[0].dst, loops + 1, n - 1, poll);
    }
  }
}

template <class T>
void copy_as(const TensorView& src, const TensorView& dst) {
  Loop loops[kMaxRank];
  int n = coalesce(src, dst, loops);
  Poll poll;
  copy_loops(static_cast<const T*>(src.data), static_cast<T*>(dst.data), loops, n, poll);
}
#endif

// Copies elements of 4 or 2 bits one at a time; `to` is the index of the next element of dst.
void copy_packed(const TensorView& src, const TensorView& dst, int axis, int64_t from, int64_t* to,
                 Poll& poll) {
  const int bits = dtype_bits(src.dtype);
  if (axis == src.rank()) {
    set_packed(dst.data, bits, (*to)++, get_packed(src.data, bits, from));
    return;
  }
  for (int64_t i = 0; i < src.shape[axis] && !poll(4); ++i)
    copy_packed(src, dst, axis + 1, from + i * src.strides[axis], to, poll);
}

}  // namespace

void copy_strided(const TensorView& src, const TensorView& dst) {
  if (src.numel() == 0) return;
  if (dtype_bits(src.dtype) < 8) {
    auto* to = static_cast<uint8_t*>(dst.data);
    const size_t bytes = dst.nbytes();
    int64_t count = 0;
    if (src.contiguous()) {
      copy_bytes(to, src.data, bytes);
    } else {
      Poll poll;
      copy_packed(src, dst, 0, 0, &count, poll);
    }
    // the padding bits of the last byte are 0
    const int64_t used = src.numel() * dtype_bits(src.dtype) % 8;
    if (used != 0) to[bytes - 1] &= static_cast<uint8_t>((1 << used) - 1);
    return;
  }
#if WICK_SMALL
  Loop loops[kMaxRank];
  const int n = coalesce(src, dst, loops);
  Poll poll;
  copy_elements(static_cast<const char*>(src.data), static_cast<char*>(dst.data), loops, n,
                dtype_size(src.dtype), poll);
#else
  switch (dtype_size(src.dtype)) {
    case 1: return copy_as<uint8_t>(src, dst);
    case 2: return copy_as<uint16_t>(src, dst);
    case 4: return copy_as<uint32_t>(src, dst);
    case 8: return copy_as<uint64_t>(src, dst);
    case 16: return copy_as<Bytes16>(src, dst);
    default: return;
  }
#endif
}

TensorView slice_view(const TensorView& v, int axis, int64_t start, int64_t step, int64_t count) {
  TensorView out = v;
  if (v.data != nullptr && count > 0) {
    out.data = static_cast<char*>(v.data) +
               start * v.strides[axis] * static_cast<int64_t>(dtype_size(v.dtype));
  }
  out.shape[axis] = count;
  out.strides[axis] = v.strides[axis] * step;
  return out;
}

}  // namespace wick
