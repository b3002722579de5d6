// A plugin of GStreamer as some are: it changes the working directory while it is looked at. Leaves a file that shows
// it was.
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace {

[[gnu::constructor]] void move() {
  const char* mark = std::getenv("CAMPIPE_MOVING_PLUGIN");
  if (mark != nullptr) std::ofstream(mark) << "loaded";
  if (::chdir("/") != 0) std::abort();
}

}  // namespace
