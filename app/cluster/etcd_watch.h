// Follows all keys below a prefix, whatever happens to etcd: first all of them, then each change, in order and without
// a gap. Where a gap cannot be excluded (compaction, a store restored from a backup) all of them come anew.
//
// It has a thread of its own, which finds out by itself when a member does not serve it any more, and goes on at the
// next one behind the revision that it has:
//
//   the link is dead                          TCP's probes end it, after 3.1 s
//   the member has lost its leader            it says so
//   the member is stopped, its link is not    it sends nothing. So where nothing has come for ten seconds, the key
//                                             PREFIXcanary is written by way of the other members, and must come. All
//                                             who follow the prefix hear it: together they write it about once in that
//                                             time
//
// fd() is readable while take() has something; both, and the rest, from any thread. The destructor returns within
// milliseconds, unless a name server keeps libcurl waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "app/cluster/etcd_client.h"
#include "core/unique_handle.h"

namespace campipe {

// What has become of the keys. To be applied in order (EtcdMirror).
struct EtcdNews {
  bool anew = false;  // forget what was: this is all there is
  std::vector<EtcdEvent> events{};
  std::int64_t revision = 0;  // of the store, that this leads to
};

class EtcdWatch {
 public:
  struct Options {
    EtcdServers servers;
    std::string prefix;                         // ends with '/'
    std::chrono::milliseconds silence{10'000};  // after which the canary is written
    std::chrono::milliseconds answer{2'000};    // by when a member has to answer, and the canary to come
  };
  // What it went through so far.
  struct Counts {
    std::uint64_t read_anew = 0;  // the first time counts
    std::uint64_t streams = 0;    // that served
    std::uint64_t canaries = 0;   // written
  };

  // Throws Error as EtcdClient does.
  explicit EtcdWatch(Options options);
  ~EtcdWatch();
  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  [[nodiscard]] int fd() const { return readable_.get(); }
  // What has come since the last call.
  std::vector<EtcdNews> take();
  // Why nothing comes at the moment, for people; empty: a member serves. What was taken before then still stands, but
  // may be old.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] Counts counts() const;

 private:
  enum class End : std::uint8_t { elsewhere, anew };

  void run(const std::stop_token& stop);
  bool read_anew();
  // Whether the store may have gone back since what is known of it.
  bool check_history();
  End follow(const std::stop_token& stop);
  bool hear(const EtcdWatchAnswer& answer);
  bool write_canary();
  void give(EtcdNews news);
  void set_problem(std::string problem);

  Options options_;
  UniqueFd readable_;
  // The thread's own.
  EtcdHeader known_;  // the newest revision given, and the highest term seen; revision 0: read anew
  std::size_t member_ = 0;
  std::unique_ptr<EtcdClient> client_;
  std::unique_ptr<EtcdHttp> stream_;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  std::vector<EtcdNews> news_;
  std::string problem_ = "no member has answered yet";
  Counts counts_;

  std::jthread thread_;  // last: it uses the others
};

}  // namespace campipe
