#include "core/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/libav_log.h"
#include "core/printable.h"

namespace campipe {
namespace {

// Set by the supervisor for the processes that it starts: their lines reach the journal through its pipe.
constexpr const char* through_a_pipe = "CAMPIPE_LOGS_TO_JOURNAL";
// Likewise: how their lines are written. "json", or text.
constexpr const char* format_variable = "CAMPIPE_LOG_FORMAT";

// systemd names the file that the journal reads (systemd.exec(5)); standard error may have been redirected since.
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

class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::string process) : process_(std::move(process)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string text = json_log_line(message.time, {level.data(), level.size()}, process_,
                                           {message.payload.data(), message.payload.size()});
    fmt::format_to(std::back_inserter(line), "{}\n", text);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(process_);
  }

 private:
  std::string process_;
};

// Writes whole lines. A pipe in non-blocking mode never makes it wait for its reader.
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FdSink(int fd, bool journal) : fd_(fd), journal_(journal) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    // Texts of cameras and users stand in it.
    const std::string text = printable({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg safe = message;
    safe.payload = text;
    spdlog::memory_buf_t line;
    if (journal_ && log_format() == LogFormat::text)
      fmt::format_to(std::back_inserter(line), "<{}>", priority_of(message.level));
    formatter_->format(safe, line);
    if (lost_ > 0) {
      std::string note = fmt::format("({} log lines were lost here: they were not read in time)", lost_);
      if (log_format() == LogFormat::json) note = json_log_line(message.time, "warning", "", note);
      note += '\n';
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

void set_log_format(LogFormat format) { ::setenv(format_variable, format == LogFormat::json ? "json" : "text", 1); }

LogFormat log_format() {
  const char* format = std::getenv(format_variable);
  return format != nullptr && std::string_view(format) == "json" ? LogFormat::json : LogFormat::text;
}

std::string json_log_line(std::chrono::system_clock::time_point time, std::string_view level, std::string_view process,
                          std::string_view message) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  // In the order in which people read them. Others' texts in the messages need not be UTF-8.
  const nlohmann::ordered_json line{{"time", fmt::format("{}.{:03}Z", std::string_view(text.data(), size), ms % 1000)},
                                    {"level", level},
                                    {"process", process},
                                    {"message", message}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void init_logging(const std::string& role, const std::string& level, int fd) {
  if (is_journal(fd)) ::setenv(through_a_pipe, "1", 1);
  const bool journal = std::getenv(through_a_pipe) != nullptr;
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<FdSink>(fd, journal));
  if (log_format() == LogFormat::json) {
    logger->set_formatter(std::make_unique<JsonFormatter>(role));
  } else {
    logger->set_pattern((journal ? "[" : "%Y-%m-%d %H:%M:%S.%e %l [") + role + "] %v");
  }
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") throw Error("unknown log level '" + level + "'");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  install_libav_log();
}

}  // namespace campipe
