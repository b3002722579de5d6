// GStreamer looks at its plugins in the process that writes recordings, whose paths may be relative.
#include <cstdlib>
#include <filesystem>

#include "tests/paths.h"
#include "tests/unit/rtsp_test_support.h"

// All plugins have more names than GLib's table of quarks holds, and it keeps what it outgrows, on threads of
// GStreamer's: nothing narrower than this helps. In this program alone.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:g_malloc";
}  // NOLINT(bugprone-reserved-identifier)

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

TEST_F(RtspServerTest, PluginsDoNotMoveTheProcess) {
  const TemporaryFolder folder;
  const fs::path mark = folder.path() / "mark";
  ::setenv("GST_PLUGIN_PATH", fs::path(moving_plugin_library).parent_path().c_str(), 1);
  ::setenv("GST_REGISTRY", (folder.path() / "registry").c_str(), 1);
  ::setenv("CAMPIPE_MOVING_PLUGIN", mark.c_str(), 1);
  const fs::path before = fs::current_path();
  ASSERT_NE(before, "/");
  serve_dock();
  EXPECT_TRUE(fs::exists(mark)) << "the plugin was not looked at";
  EXPECT_EQ(fs::current_path(), before);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
