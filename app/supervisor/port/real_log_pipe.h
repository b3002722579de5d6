// The log's pipe of this machine.
#pragma once

#include <array>

#include "app/supervisor/port/log_pipe.h"
#include "core/unique_handle.h"

namespace campipe {

class RealLogPipe final : public LogPipe {
 public:
  RealLogPipe();  // throws Error

  void take_own_log(const std::string& level) override;
  void leave_own_log(const std::string& level) override;
  std::string_view read() override;

  // What processes write into; they inherit it.
  [[nodiscard]] int write_fd() const { return write_.get(); }
  // Readable when something has come.
  [[nodiscard]] int read_fd() const { return read_.get(); }

 private:
  UniqueFd read_;
  UniqueFd write_;
  std::array<char, 16384> buffer_{};
};

}  // namespace campipe
