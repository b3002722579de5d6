// Who watches by HTTP. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace campipe {

struct HttpViewer {
  std::string stream;  // "dock" or "dock/small"
  std::string address;
  std::string user;
  std::string form;
  std::string since_utc;
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> bytes{0};
};

class HttpViewers {
 public:
  // Listed for as long as the result lives.
  std::shared_ptr<HttpViewer> add(const std::string& stream, const std::string& address, const std::string& user,
                                  const std::string& form);
  // As HttpServer::viewers() has it.
  [[nodiscard]] nlohmann::json list() const;

 private:
  mutable std::mutex mutex_;
  std::list<std::weak_ptr<HttpViewer>> viewers_;  // with some of those that are gone
  std::size_t sweep_at_ = 64;                     // when these are taken out: else each new one would look at all
};

}  // namespace campipe
