// Work in a process of its own, whose end harms nobody else, and what it has written.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "core/unique_handle.h"

namespace campipe::sim {

struct Forked {
  std::string text;  // that it has written
  int status = 0;    // as waitpid() gives it
};

// `work` writes to the descriptor that it is given, and ends the process. Throws where there is no pipe.
inline Forked run_forked(const std::function<void(int out)>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    in.reset();
    work(out.release());
    ::_exit(1);
  }
  out.reset();
  Forked ended;
  std::array<char, 65536> buffer{};
  for (ssize_t size = 0; (size = ::read(in.get(), buffer.data(), buffer.size())) > 0;)
    ended.text.append(buffer.data(), static_cast<std::size_t>(size));
  ::waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace campipe::sim
