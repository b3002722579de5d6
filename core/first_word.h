// What a file of the kernel's says in one word.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace campipe {

// Empty where there is none.
inline std::string first_word_of(const std::filesystem::path& file) {
  std::ifstream input(file);
  std::string word;
  input >> word;
  return word;
}

}  // namespace campipe
