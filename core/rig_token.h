// The rig's own token. Whoever sends it to the API may do everything: it lies in a file that only the account that runs
// the rig can read, and is another one each time that the API's port is taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

class RigToken {
 public:
  // `port`: where the API listens already: else another rig's file would be replaced. Throws Error where the file
  // cannot be written, or others could replace it.
  explicit RigToken(std::uint16_t port);
  ~RigToken();  // removes the file, if it is still this one's
  RigToken(const RigToken&) = delete;
  RigToken& operator=(const RigToken&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::string text_;
};

// Where the file of a rig of this account may be, or of the service; the most likely first.
std::vector<std::filesystem::path> token_files(std::uint16_t port);
// Nothing: it cannot be read, or holds no token.
std::optional<std::string> read_token(const std::filesystem::path& file);

}  // namespace campipe
