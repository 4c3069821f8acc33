// Flattens tensors in a pair, tuple, vector or optional, nested at will, into a list, and restores
// them; and calls functions that take the tensors of such a list.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::detail {

// Appends the tensors of a value to a list, in order.
inline void flatten(const Tensor& t, std::vector<Tensor>* all) { all->push_back(t); }
template <class T>
void flatten(const std::vector<T>& list, std::vector<Tensor>* all);
template <class T>
void flatten(const std::optional<T>& t, std::vector<Tensor>* all);
template <class A, class B>
void flatten(const std::pair<A, B>& both, std::vector<Tensor>* all);
template <class... T>
void flatten(const std::tuple<T...>& each, std::vector<Tensor>* all);

// Visits the tensors of the structs that layers return: LSTM's {output, h_n, c_n}, attention's
// {output, weights}, sort's {values, indices}, a cell's {h, c}. Undefined tensors are skipped.
template <class R, class F>
void each_part(R& r, F f) {
  if constexpr (requires { r.output.defined(), r.h_n.defined(), r.c_n.defined(); }) {
    f(r.output), f(r.h_n), f(r.c_n);
  } else if constexpr (requires { r.output.defined(), r.weights.defined(); }) {
    f(r.output), f(r.weights);
  } else if constexpr (requires { r.values.defined(), r.indices.defined(); }) {
    f(r.values), f(r.indices);
  } else {
    f(r.h), f(r.c);
  }
}
template <class R>
concept HasParts = requires(const R& r) { r.output.defined(), r.h_n.defined(), r.c_n.defined(); } ||
                   requires(const R& r) { r.output.defined(), r.weights.defined(); } ||
                   requires(const R& r) { r.values.defined(), r.indices.defined(); } ||
                   requires(const R& r) { r.h.defined(), r.c.defined(); };
template <HasParts R>
void flatten(const R& r, std::vector<Tensor>* all) {
  each_part(r, [&](const Tensor& t) {
    if (t.defined()) all->push_back(t);
  });
}
template <HasParts R>
void refill(R* r, const std::vector<Tensor>& from, size_t* at) {
  each_part(*r, [&](Tensor& t) {
    if (t.defined()) t = from[(*at)++];
  });
}

template <class T>
void flatten(const std::vector<T>& list, std::vector<Tensor>* all) {
  for (const T& t : list) flatten(t, all);
}
template <class T>
void flatten(const std::optional<T>& t, std::vector<Tensor>* all) {
  if (t) flatten(*t, all);
}
template <class A, class B>
void flatten(const std::pair<A, B>& both, std::vector<Tensor>* all) {
  flatten(both.first, all);
  flatten(both.second, all);
}
template <class... T>
void flatten(const std::tuple<T...>& each, std::vector<Tensor>* all) {
  std::apply([&](const T&... t) { (flatten(t, all), ...); }, each);
}
template <class T>
std::vector<Tensor> flat(const T& value) {
  std::vector<Tensor> all;
  flatten(value, &all);
  return all;
}

// Replaces the tensors of a value by those of the list, in the same order.
inline void refill(Tensor* t, const std::vector<Tensor>& from, size_t* at) { *t = from[(*at)++]; }
template <class T>
void refill(std::vector<T>* list, const std::vector<Tensor>& from, size_t* at);
template <class T>
void refill(std::optional<T>* t, const std::vector<Tensor>& from, size_t* at);
template <class A, class B>
void refill(std::pair<A, B>* both, const std::vector<Tensor>& from, size_t* at);
template <class... T>
void refill(std::tuple<T...>* each, const std::vector<Tensor>& from, size_t* at);

template <class T>
void refill(std::vector<T>* list, const std::vector<Tensor>& from, size_t* at) {
  for (T& t : *list) refill(&t, from, at);
}
template <class T>
void refill(std::optional<T>* t, const std::vector<Tensor>& from, size_t* at) {
  if (*t) refill(&**t, from, at);
}
template <class A, class B>
void refill(std::pair<A, B>* both, const std::vector<Tensor>& from, size_t* at) {
  refill(&both->first, from, at);
  refill(&both->second, from, at);
}
template <class... T>
void refill(std::tuple<T...>* each, const std::vector<Tensor>& from, size_t* at) {
  std::apply([&](T&... t) { (refill(&t, from, at), ...); }, *each);
}
// Returns a value of this form with the tensors of the list.
template <class T>
T refilled(T value, const std::vector<Tensor>& from) {
  size_t at = 0;
  refill(&value, from, &at);
  return value;
}

// Replaces types that stand for a tensor by Tensor: x[0] is an IndexedTensor, forward's x an Arg.
template <class T>
struct PlainType {
  using Type =
      std::conditional_t<std::is_base_of_v<Tensor, T> || std::is_same_v<T, Arg>, Tensor, T>;
};
template <class A, class B>
struct PlainType<std::pair<A, B>> {
  using Type = std::pair<typename PlainType<A>::Type, typename PlainType<B>::Type>;
};
template <class... T>
struct PlainType<std::tuple<T...>> {
  using Type = std::tuple<typename PlainType<T>::Type...>;
};
template <class T>
using Plain = typename PlainType<std::decay_t<T>>::Type;

template <class T>
Plain<T> plain(const T& value) {
  return Plain<T>(value);
}
inline Tensor plain(const Arg& value) { return value.tensor; }
template <class A, class B>
Plain<std::pair<A, B>> plain(const std::pair<A, B>& both);
template <class... T>
Plain<std::tuple<T...>> plain(const std::tuple<T...>& each);

template <class A, class B>
Plain<std::pair<A, B>> plain(const std::pair<A, B>& both) {
  return {plain(both.first), plain(both.second)};
}
template <class... T>
Plain<std::tuple<T...>> plain(const std::tuple<T...>& each) {
  return std::apply([](const T&... t) { return Plain<std::tuple<T...>>(plain(t)...); }, each);
}

constexpr size_t kMostInputs = 16;
constexpr size_t kNoArity = kMostInputs + 1;
template <class F, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, decltype((void(I), std::declval<const Tensor&>()))...>;
}
// The number of tensors that F takes, at least N; kNoArity if it does not take tensors.
template <class F, size_t N = 0>
constexpr size_t arity() {
  if constexpr (N > kMostInputs) {
    return kNoArity;
  } else if constexpr (takes<F>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return arity<F, N + 1>();
  }
}
template <class F, class I>
struct CallType;
template <class F, size_t... I>
struct CallType<F, std::index_sequence<I...>> {
  using Type = std::invoke_result_t<F&, decltype((void(I), std::declval<const Tensor&>()))...>;
};

}  // namespace wick::detail
