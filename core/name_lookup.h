// Asks for a host's address on a thread of its own: the system's lookup cannot be interrupted, and takes longer than
// everything else when no server of names answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace campipe {

class NameLookup {
 public:
  struct Result {
    std::string address;  // the first one, in digits; empty: there is none
    std::string problem;  // why
  };
  // Asks. Addresses need no lookup: their result is there at once.
  explicit NameLookup(const std::string& host);

  // Nothing: no server of names has answered yet.
  [[nodiscard]] std::optional<Result> result() const;
  // Likewise; waits for it as long as that.
  [[nodiscard]] std::optional<Result> wait_for(std::chrono::nanoseconds time) const;

 private:
  struct Lookup;  // the thread has a part in it: it may outlive this
  std::shared_ptr<Lookup> lookup_;
};

// False: the name is not known, or `stop`, which is asked every 50 ms, ended the wait. Addresses need no lookup.
bool can_resolve(const std::string& host, const std::function<bool()>& stop);

}  // namespace campipe
