// SPDX-License-Identifier: GPL-2.0-or-later
//
// Errors as values. weir compiles as C++20, where std::expected does not exist yet; this is the
// part of it that weir uses. A function that returns an error leaves its outputs untouched.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace weir {

// What went wrong and what to do about it, in one line fit for an operator.
struct Error {
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The value; only when ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // The error; only when !ok().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// For operations without a value.
using Status = Result<std::monostate>;
inline Status success() { return Status(std::monostate{}); }

}  // namespace weir
