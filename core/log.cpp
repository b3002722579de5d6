#include "core/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>

#include "core/error.h"
#include "core/libav_log.h"

namespace campipe {
namespace {

// Writes whole lines. A pipe in non-blocking mode never makes it wait for whoever reads them.
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FdSink(int fd) : fd_(fd) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (lost_ > 0) {
      const std::string note = fmt::format("({} log lines were lost here: nobody read them)\n", lost_);
      if (::write(fd_, note.data(), note.size()) < 0) {
        ++lost_;
        return;
      }
      lost_ = 0;
    }
    if (::write(fd_, line.data(), line.size()) < 0) ++lost_;
  }
  void flush_() override {}

 private:
  int fd_;
  std::uint64_t lost_ = 0;
};

}  // namespace

void init_logging(const std::string& role, const std::string& level, int fd) {
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<FdSink>(fd));
  logger->set_pattern("%H:%M:%S.%e %l [" + role + "] %v");
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") throw Error("unknown log level '" + level + "'");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  install_libav_log();
}

}  // namespace campipe
