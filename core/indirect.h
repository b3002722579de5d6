// A value that is held elsewhere, so that a struct that has one as a member needs only a declaration of its type: who
// does not use the member need not be compiled anew when that type changes.
#pragma once

#include <memory>
#include <utility>

namespace campipe {

// Copies are of the value. What was moved from can only be assigned to or destroyed.
template <typename T>
class Indirect {
 public:
  Indirect() : value_(std::make_shared<T>()) {}
  Indirect(T value) : value_(std::make_shared<T>(std::move(value))) {}  // NOLINT: it is one
  Indirect(const Indirect& other) : value_(std::make_shared<T>(*other.value_)) {}
  Indirect(Indirect&&) noexcept = default;
  Indirect& operator=(const Indirect& other) {
    *this = Indirect(other);
    return *this;
  }
  Indirect& operator=(Indirect&&) noexcept = default;
  ~Indirect() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::shared_ptr<T> value_;  // never shared; unlike std::unique_ptr, it can be destroyed where T is only declared
};

}  // namespace campipe
