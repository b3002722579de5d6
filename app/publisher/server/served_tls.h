// The TLS that is served: reads its files, again where they cannot be used yet, and logs why. For one thread, which
// never waits for a disk.
#pragma once

#include <optional>
#include <string>

#include "app/publisher/server/server_tls.h"

namespace campipe {

class ServedTls {
 public:
  // Nothing: nothing is served by TLS, ever.
  explicit ServedTls(std::optional<TlsFiles> files) : files_(std::move(files)) {}

  // The files may be others than before. What is served stays until they are read.
  void renew(const TlsFiles& files);
  // To be called several times a second. True: newest() is another one now.
  bool tick();
  // Null: none is configured, or none could be used yet.
  [[nodiscard]] const ServerTls& newest() const { return newest_; }
  // It is configured, and there is none yet: nothing can be served.
  [[nodiscard]] bool is_missing() const { return files_ && !newest_; }

 private:
  void log_late();

  std::optional<TlsFiles> files_;
  TlsReader reader_;
  ServerTls newest_;
  std::string problem_;  // the newest, which has been logged
  Clock::time_point next_try_;
};

}  // namespace campipe
