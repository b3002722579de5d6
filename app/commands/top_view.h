// What `campipe top` shows of a rig, and what keys change in it. Knows no terminal: bytes of keys come in, lines go
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/commands/rig_sample.h"
#include "app/commands/rig_table.h"
#include "app/commands/terminal.h"

namespace campipe {

class TopView {
 public:
  explicit TopView(StyledLine::Form form) : form_(form) {}

  void show(RigSample rig) { rig_ = std::move(rig); }
  // Why there is nothing newer; empty: there is.
  void set_trouble(const std::string& trouble) { trouble_ = trouble; }
  // What the terminal sent; keys may be of several bytes, and come in parts. False: the user wants to leave.
  bool type(const std::string& bytes);
  [[nodiscard]] bool paused() const { return paused_; }

  // The whole screen: at most `size.rows` lines of at most `size.columns`.
  std::vector<std::string> draw(const TerminalSize& size);

 private:
  bool press(const std::string& key);
  void sort_by(Column column);
  void move(int rows);
  [[nodiscard]] std::vector<StreamSample> sorted() const;
  std::vector<StyledLine> compose(const TerminalSize& size);
  std::vector<StyledLine> lower_part(const TerminalSize& size, const StreamSample* selected) const;

  StyledLine::Form form_;
  RigSample rig_;
  std::string trouble_;
  std::string typed_;  // the beginning of a key
  Column column_ = Column::name;
  bool reversed_ = false;
  bool paused_ = false;
  bool help_ = false;
  std::optional<std::string> selected_;  // by name, since rows move
  std::size_t first_ = 0;                // the uppermost row
  std::size_t page_ = 1;                 // rows of the screen
};

}  // namespace campipe
