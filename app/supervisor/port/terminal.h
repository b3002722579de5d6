// Where a person sees how the rig does: a terminal, or what else standard error is.
#pragma once

#include <optional>
#include <string>

namespace campipe {

class Terminal {
 public:
  Terminal() = default;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  virtual ~Terminal() = default;

  // It can be drawn on. False: it takes lines only.
  [[nodiscard]] virtual bool is_terminal() const = 0;
  // In columns; nothing: it is not known.
  [[nodiscard]] virtual std::optional<unsigned> width() const = 0;
  // Whole lines, or what a terminal obeys. Where it takes nothing for long, the oldest are left out.
  virtual void put(std::string text) = 0;
};

}  // namespace campipe
