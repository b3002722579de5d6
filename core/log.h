// Logging: spdlog to standard error, one line a message: `2026-11-22 12:34:56.789 warning [worker 0] dock: text`, or,
// as JSON, {"time":"2026-11-22T12:34:56.789Z","level":"warning","process":"worker 0","message":"dock: text"}. The
// supervisor gives its children a pipe as standard error and prints their lines in between its table. Where the journal
// reads standard error (a service of systemd), lines are `<4>[worker 0] dock: text`: it keeps the time itself, and the
// number is the priority (sd-daemon(3)); the processes that the first one starts do the same. Writing never blocks:
// lines that the pipe cannot take are counted, and the next line that fits has their number.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace campipe {

// Called before the first message. `role`: e.g. "worker 0". `level`: trace|debug|info|warning|error. `fd`: where lines
// go; it must stay open. libav's own messages become messages of level debug. Throws Error for an unknown level.
void init_logging(const std::string& role, const std::string& level, int fd = 2);

// Before init_logging(): the form of this process's lines, and of those of all that it starts.
enum class LogFormat : std::uint8_t { text, json };
void set_log_format(LogFormat format);
LogFormat log_format();

// A line of the log as JSON, without its line end.
std::string json_log_line(std::chrono::system_clock::time_point time, std::string_view level, std::string_view process,
                          std::string_view message);

}  // namespace campipe
