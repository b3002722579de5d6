// Writes the report of a run, each minute and at the end.
#pragma once

#include <string>

namespace campipe {

class ReportWriter {
 public:
  ReportWriter() = default;
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;
  virtual ~ReportWriter() = default;

  // Never waits. One that cannot be written is logged, and the next one may be. Of several that wait only the newest is
  // written.
  virtual void put(std::string report) = 0;
  // Waits a few seconds for the last one. False: it is not written.
  virtual bool finish() = 0;
};

}  // namespace campipe
