// Rotary embeddings: by one position per token, or by three (time, height and width of an image).
#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {
namespace {

// Returns the caches' rows for the tokens: for positions offset, offset + 1, ... (one number), or
// for position_ids [batch, sequence].
ValueId token_rows(ReadCtx& c, ValueId cache, ValueId at, ValueId tokens) {
  if (c.rank(at) < 2) at = plus(c, reshape(c, at, {1, 1}), arange(c, tokens));
  return c.emit(OpId::kGather, AxisAttrs{0}, {cache, at});
}

// `scale` is not applied: no kernel of ONNX Runtime applies it either.
void rotary_embedding(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0)), at = c.in(1);
  ValueId cosine = floats_of(c, ranked_input(c, 2, 2, "cos_cache"));
  ValueId sine = floats_of(c, ranked_input(c, 3, 2, "sin_cache"));
  const int rank = c.rank(x);
  if (rank != 3 && rank != 4) c.fail("input must have rank 3 or 4, got " + shape_text(shape(c, x)));
  if (rank_or(c, at, 0) > 2) c.fail("position_ids must have rank 0, 1 or 2");
  const SymDim &hidden = shape(c, x)[2], &half = shape(c, cosine)[1];
  ValueId tokens = dim(c, x, rank == 3 ? 1 : 2), width = dim(c, cosine, 1);
  std::vector<ValueId> in = {x, token_rows(c, cosine, at, tokens), token_rows(c, sine, at, tokens)};
  Standard rotate(c, "RotaryEmbedding", 23);
  rotate.keep({"interleaved", "rotary_embedding_dim"});
  if (rank == 4) return c.set(0, cast(c, rotate.one(in), dtype));
  // A head is twice as wide as the cache, or num_heads tells where only a part is rotated.
  const bool partial = c.attr_int("rotary_embedding_dim", 0) != 0;
  int64_t heads = partial ? needed_int(c, "num_heads", 1) : 0;
  if (!partial && hidden.known() && half.known() && half.constant() > 0) {
    heads = hidden.constant() / (2 * half.constant());
    if (heads * 2 * half.constant() != hidden.constant()) {
      c.fail("a hidden size of " + hidden.text() +
             " does not divide into heads of twice the cache's width " + half.text());
    }
  }
  if (heads > 0) return c.set(0, cast(c, rotate.set("num_heads", heads).one(in), dtype));
  ValueId size = times(c, width, c.int_constant({2}));
  ValueId count = over(c, dim(c, x, 2), size);
  in[0] =
      transpose(c, reshape_to(c, x, concat(c, {dims(c, x, 0, 2), count, size}, 0)), {0, 2, 1, 3});
  ValueId y = reshape_like(c, transpose(c, rotate.one(in), {0, 2, 1, 3}), x);
  c.set(0, cast(c, y, dtype));
}

// Returns which of the three positions of a token rotates each pair.
std::vector<int> streams(ReadCtx& c) {
  const std::vector<int64_t> section = c.attr_ints("mrope_section");
  const int64_t layout = c.attr_int("mrope_layout", 0);
  if (section.size() != 3) c.fail("mrope_section must have 3 numbers");
  int64_t half = 0;
  for (int64_t n : section) {
    if (n < 0 || n > 1 << 16) c.fail("mrope_section must have numbers of 0 or more");
    half += n;
  }
  if (layout != 0 && layout != 1) c.fail("mrope_layout must be 0 or 1");
  std::vector<int> which;
  for (int64_t i = 0; i < half; ++i) {
    int stream = i < section[0] ? 0 : i < section[0] + section[1] ? 1 : 2;
    if (layout == 1) {
      const auto turn = static_cast<int>(i % 3);
      stream = turn != 0 && i < 3 * section[static_cast<size_t>(turn)] ? turn : 0;
    }
    which.push_back(stream);
  }
  return which;
}

void rotary_by_three(ReadCtx& c) {
  const DType dtype = c.dtype(c.in(0));
  ValueId x = floats_of(c, c.in(0)), at = ranked_input(c, 1, 3, "position_ids");
  ValueId caches[] = {ranked_input(c, 2, 2, "cos_cache"), ranked_input(c, 3, 2, "sin_cache")};
  const std::vector<int> which = streams(c);
  const auto half = static_cast<int64_t>(which.size());
  for (ValueId cache : caches) {
    if (dim_equal(shape(c, cache)[1], SymDim(half)) == Tri::kNo) {
      c.fail("mrope_section must sum up to the caches' width, " + std::to_string(half) + " and " +
             shape(c, cache)[1].text());
    }
  }
  const auto chosen = [&](int stream) {
    HostTensor yes(DType::kBool, Shape{half});
    for (size_t i = 0; i < which.size(); ++i) yes.as<uint8_t>()[i] = which[i] == stream ? 1 : 0;
    return c.constant(yes);
  };
  ValueId one = c.int_constant({1}), ones = concat(c, {one, one, one}, 0);
  const std::vector<ValueId> ids = split(c, at, 0, ones, 3);
  for (ValueId& cache : caches) {
    ValueId row = kNoValue;
    for (int stream = 0; stream < 3; ++stream) {
      ValueId rows =
          c.emit(OpId::kGather, AxisAttrs{0},
                 {floats_of(c, cache), squeeze(c, ids[static_cast<size_t>(stream)], {0})});
      row = stream == 0 ? rows : c.emit(OpId::kWhere, {chosen(stream), rows, row});
    }
    cache = row;
  }
  const int rank = c.rank(x);
  if (rank != 3 && rank != 4) c.fail("input must have rank 3 or 4, got " + shape_text(shape(c, x)));
  Standard rotate(c, "RotaryEmbedding", 23);
  rotate.keep({"interleaved", "rotary_embedding_dim"});
  if (rank == 3) rotate.set("num_heads", needed_int(c, "num_heads", 1));
  c.set(0, cast(c, rotate.one({x, caches[0], caches[1]}), dtype));
}

}  // namespace

WICK_READ_MS(RotaryEmbedding, rotary_embedding);
WICK_READ_MS(MRotaryEmbedding, rotary_by_three);

}  // namespace wick::onnx
