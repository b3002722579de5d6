// Standard error of this process. A thread waits for it.
#pragma once

#include "app/control/background_writer.h"
#include "app/supervisor/port/terminal.h"

namespace campipe {

class RealTerminal final : public Terminal {
 public:
  RealTerminal();  // throws std::system_error where there can be no thread

  [[nodiscard]] bool is_terminal() const override { return is_terminal_; }
  [[nodiscard]] std::optional<unsigned> width() const override;
  void put(std::string text) override { out_.put(std::move(text)); }

 private:
  BackgroundWriter out_;
  bool is_terminal_;
};

}  // namespace campipe
