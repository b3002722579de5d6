#pragma once

#include <cstdlib>
#include <string>

namespace campipe::test {

// Variables of the environment, as long as it lives.
class Environment {
 public:
  explicit Environment(const std::string& name, const std::string& value) : name_(name) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_.c_str()); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
};

}  // namespace campipe::test
