#include "core/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "core/error.h"
#include "core/ffmpeg.h"

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

void log_from_libav(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return;
  std::array<char, 1024> text{};
  int print_prefix = 1;
  av_log_format_line2(object, level, format, arguments, text.data(), text.size(), &print_prefix);
  std::string line = text.data();
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  // A damaged or odd file is not campipe's error: what matters of it is reported by whoever called libav.
  if (!line.empty()) spdlog::debug("libav: {}", line);
}

}  // namespace

void init_logging(const std::string& role, const std::string& level, int fd) {
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<FdSink>(fd));
  logger->set_pattern("%H:%M:%S.%e %l [" + role + "] %v");
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") throw Error("unknown log level '" + level + "'");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  av_log_set_callback(log_from_libav);
}

}  // namespace campipe
