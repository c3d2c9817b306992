// Result<T>: a value or an Error, without exceptions.
//
// Three classes of failure exist and must never be mixed:
//   kUnsupported  the compiler cannot do this; the user's code still runs in the interpreter (a graph break
//   or a skip) kPython       a Python exception is set in the current thread; the caller hands it on
//   untouched kInternal     a law of ours was broken; the driver saves an artifact and runs the function
//   eagerly
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace suture {

enum class ErrorKind { kUnsupported, kPython, kInternal };

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string step;     // room or pass that failed, e.g. "schedule"
  std::string message;  // one sentence: what, where

  static Error unsupported(std::string step, std::string message) {
    return {ErrorKind::kUnsupported, std::move(step), std::move(message)};
  }
  static Error python(std::string step) {
    return {ErrorKind::kPython, std::move(step), "Python exception set"};
  }
  static Error internal(std::string step, std::string message) {
    return {ErrorKind::kInternal, std::move(step), std::move(message)};
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

}  // namespace suture

#define SUTURE_CONCAT_INNER(a, b) a##b
#define SUTURE_CONCAT(a, b) SUTURE_CONCAT_INNER(a, b)
// Declares `name` from a Result expression, or returns its Error from the enclosing function.
#define SUTURE_TRY(name, ...)                                                                             \
  auto SUTURE_CONCAT(result_, __LINE__) = (__VA_ARGS__);                                                  \
  if (!SUTURE_CONCAT(result_, __LINE__).ok()) return std::move(SUTURE_CONCAT(result_, __LINE__)).error(); \
  auto name = std::move(SUTURE_CONCAT(result_, __LINE__)).value()
// The same for a Status: returns the Error if there is one.
#define SUTURE_TRY_VOID(...)                              \
  do {                                                    \
    auto status_ = (__VA_ARGS__);                         \
    if (!status_.ok()) return std::move(status_).error(); \
  } while (0)
