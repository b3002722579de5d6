// What the programs that tests start as peers have in common: messages with a deadline, notes in the journal, and a
// main() that ends with the test.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "ipc/channel.h"
#include "tests/faults/ring_peer.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {

using Arguments = std::vector<std::string>;

inline constexpr auto patience = seconds(50);

inline unsigned number_of(const std::string& text) { return static_cast<unsigned>(std::stoul(text)); }

inline Message await_message(Channel& channel, const std::string& type) {
  const Deadline deadline = after(patience);
  while (Clock::now() < deadline) {
    if (auto message = channel.receive()) {
      if (message->type != type) throw Error("got '" + message->type + "' for '" + type + "'");
      return std::move(*message);
    }
    if (channel.closed()) throw Error("the test closed the channel");
    pollfd readable{channel.fd(), POLLIN, 0};
    ::poll(&readable, 1, 100);
  }
  throw Error("no '" + type + "' came");
}

class Note {
 public:
  explicit Note(Journal& journal) : journal_(&journal) {}

  // Returns the entry's place.
  std::size_t add(std::uint64_t number, bool whole) {
    const std::size_t at = journal_->count.load();
    if (at == Journal::capacity) throw Error("the journal is full");
    journal_->entry[at] = {number, now_ns(), whole ? 0U : 1U};
    journal_->count.store(at + 1);
    return at;
  }
  void torn(std::size_t at) { journal_->entry[at].torn = 1; }
  void end(bool in_order) {
    journal_->ended_at = now_ns();
    journal_->end = in_order ? JournalEnd::ended : JournalEnd::writer_gone;
    journal_->rings.fetch_add(1);
  }

 private:
  Journal* journal_;
};

// `run` gets the role, its arguments, the channel and the journal. Never outlives the process that started it.
template <typename Run>
int peer_main(int count, char** values, Run run) {
  const std::vector<std::string> all(values, values + count);
  if (all.size() < 3) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != all[1]) return 2;  // it died before we asked to be told
  try {
    Channel channel((UniqueFd(channel_fd)));
    const Mapping mapping(journal_fd, Mapping::Access::read_write);
    auto& journal = *std::launder(reinterpret_cast<Journal*>(mapping.bytes().data()));
    return run(all[2], Arguments(all.begin() + 3, all.end()), channel, journal);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer %s: %s\n", all[2].c_str(), error.what());
    return 3;
  }
}

}  // namespace campipe::test
