#include "core/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>

#include "core/error.h"
#include "core/libav_log.h"

namespace campipe {
namespace {

// Set by the supervisor for the processes that it starts: their lines reach the journal through its pipe.
constexpr const char* through_a_pipe = "CAMPIPE_LOGS_TO_JOURNAL";

// systemd says which file the journal reads (systemd.exec(5)); standard error may have been redirected since.
bool is_journal(int fd) {
  const char* journal = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  return journal != nullptr && ::fstat(fd, &file) == 0 && fmt::format("{}:{}", file.st_dev, file.st_ino) == journal;
}

int priority_of(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LOG_DEBUG;
  if (level == spdlog::level::info) return LOG_INFO;
  if (level == spdlog::level::warn) return LOG_WARNING;
  return level == spdlog::level::err ? LOG_ERR : LOG_CRIT;
}

// Writes whole lines. A pipe in non-blocking mode never makes it wait for whoever reads them.
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FdSink(int fd, bool journal) : fd_(fd), journal_(journal) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    if (journal_) fmt::format_to(std::back_inserter(line), "<{}>", priority_of(message.level));
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
  bool journal_;
  std::uint64_t lost_ = 0;
};

}  // namespace

void init_logging(const std::string& role, const std::string& level, int fd) {
  if (is_journal(fd)) ::setenv(through_a_pipe, "1", 1);
  const bool journal = std::getenv(through_a_pipe) != nullptr;
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<FdSink>(fd, journal));
  logger->set_pattern((journal ? "[" : "%H:%M:%S.%e %l [") + role + "] %v");
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") throw Error("unknown log level '" + level + "'");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  install_libav_log();
}

}  // namespace campipe
