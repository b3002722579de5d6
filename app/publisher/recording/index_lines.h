// The end of an index, where lines are appended. Lines that cannot be written (its disk may be full) are kept and
// written later; that they cannot is logged once.
//
// Used by one thread.
#pragma once

#include <filesystem>
#include <string>

namespace campipe {

class IndexLines {
 public:
  explicit IndexLines(std::filesystem::path path) : path_(std::move(path)) {}

  // The file's last line has no end: a power cut or a full disk leaves such a one.
  void set_cut_off(bool cut_off) { cut_off_ = cut_off; }
  // `line`: without its end.
  void append(const std::string& line);
  // Tries to write what could not be written.
  void write_pending();
  // Puts what has been written on the disk, so that it survives a power cut.
  void sync();

 private:
  const std::filesystem::path path_;
  std::string pending_;  // whole lines
  bool cut_off_ = false;
  bool unsynced_ = false;
  bool is_in_folder_ = false;  // its name is on the disk
  bool reported_ = false;
};

}  // namespace campipe
