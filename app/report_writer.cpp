#include "app/report_writer.h"

#include "app/report.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto last_wait = std::chrono::seconds(3);

}  // namespace

ReportWriter::ReportWriter(const std::filesystem::path& file)
    : file_(file), queue_(1, [file, failed = failed_](const std::string& report, std::size_t) {
        failpoint("report.writing");
        *failed = true;
        write_report(file, report);
        *failed = false;
      }) {}

bool ReportWriter::finish() {
  if (queue_.finish(Clock::now() + last_wait)) return !*failed_;
  spdlog::error("the report '{}' is not written: its disk does not answer", file_.string());
  return false;
}

}  // namespace campipe
