// What a command prints to its standard output.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "core/error.h"

namespace campipe::test {

// What a command of the shell prints, whether it succeeds or not. Throws Error where there is no shell.
inline std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  if (!pipe) throw Error("cannot run " + command);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  return text;
}

}  // namespace campipe::test
