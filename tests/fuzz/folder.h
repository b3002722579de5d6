// A folder of the target's own for parsers that read files; the target then runs in it.
#pragma once

#include <string>

#include "tests/unit/temporary_folder.h"

namespace campipe::fuzz {

class Folder {
 public:
  Folder() { std::filesystem::current_path(path()); }
  ~Folder() { std::filesystem::current_path("/"); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

  static void write(const std::string& name, const std::string& text) { test::replace_file(name, text); }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace campipe::fuzz
