// For tools/times: what each test took. Where CAMPIPE_TEST_TIMES names a file, it gets a line for each test, of the
// seconds that passed and the CPU time of this process and the children that it has waited for; and one for the whole
// process, with its start.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

double cpu_seconds() {
  double seconds = 0;
  for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(whose, &used);
    seconds += static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }
  return seconds;
}

class Times : public testing::EmptyTestEventListener {
 public:
  explicit Times(const char* file) : file_(std::fopen(file, "ae")) {}
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;
  ~Times() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  void OnTestStart(const testing::TestInfo&) override { before_ = cpu_seconds(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    write(std::string(test.test_suite_name()) + '.' + test.name(),
          static_cast<double>(test.result()->elapsed_time()) / 1e3, cpu_seconds() - before_);
  }
  void OnTestProgramEnd(const testing::UnitTest& all) override {
    write("process", static_cast<double>(all.elapsed_time()) / 1e3, cpu_seconds());
  }

 private:
  // One write, so that processes do not mix their lines.
  void write(const std::string& name, double passed, double cpu) const {
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s\t%s\t%.3f\t%.3f\n", program_invocation_short_name, name.c_str(), passed, cpu);
    std::fflush(file_);
  }

  std::FILE* file_;
  double before_ = 0;
};

[[maybe_unused]] const bool listens = [] {
  const char* file = std::getenv("CAMPIPE_TEST_TIMES");
  if (file != nullptr && *file != '\0') testing::UnitTest::GetInstance()->listeners().Append(new Times(file));
  return true;
}();

}  // namespace
