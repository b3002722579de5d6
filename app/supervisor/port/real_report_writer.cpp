#include "app/supervisor/port/real_report_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

constexpr auto first_wait = std::chrono::seconds(5);
constexpr auto last_wait = std::chrono::seconds(3);

// 0, or the errno with which it cannot be written. A pipe that is not read is not waited for.
int try_to_open(const std::filesystem::path& file) {
  failpoint("report.opening");
  const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0640));
  struct stat info {};
  if (!out || ::fstat(out.get(), &info) != 0) return errno;
  return S_ISFIFO(info.st_mode) ? ENOTSUP : 0;
}

// Replaces the file in one step: who reads it finds the old one or the new one whole. Throws Error, naming the file.
void write_report(const std::filesystem::path& file, const std::string& text) {
  const auto failed = [&](int reason) {
    return system_error("cannot write the report '" + file.string() + "'", reason);
  };
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file)) {  // such as /dev/stdout
    std::ofstream out(file);
    out << text;
    out.close();
    if (!out) throw failed(errno);
    return;
  }
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream out(part, std::ios::trunc);
  out << text;
  out.close();
  if (!out || std::rename(part.c_str(), file.c_str()) != 0) {
    const int reason = errno;
    ::unlink(part.c_str());
    throw failed(reason);
  }
}

}  // namespace

// The thread that asks is left behind where it gets no answer; the program's end ends it.
std::string why_not_written(const std::filesystem::path& file) {
  const auto found = std::make_shared<std::promise<int>>();
  std::future<int> answer = found->get_future();
  std::thread([found, file] { found->set_value(try_to_open(file)); }).detach();
  if (answer.wait_for(first_wait) != std::future_status::ready) return "its disk does not answer";
  const int error = answer.get();
  return error == 0 ? std::string() : std::strerror(error);
}

RealReportWriter::RealReportWriter(const std::filesystem::path& file)
    : file_(file), queue_({.texts = 1}, [file, failed = failed_](const std::string& report, std::size_t) {
        failpoint("report.writing");
        *failed = true;
        write_report(file, report);
        *failed = false;
      }) {}

bool RealReportWriter::finish() {
  if (queue_.finish(Clock::now() + last_wait)) return !*failed_;
  spdlog::error("the report '{}' is not written: its disk does not answer", file_.string());
  return false;
}

}  // namespace campipe
