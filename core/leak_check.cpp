// With AddressSanitizer only. What shared libraries allocate while they are loaded is no leak of anybody's: GLib gives
// up the table of its quarks when that has to grow, on purpose, since others may be reading it. A suppression would
// have to name g_malloc, behind which every leak of ours through GLib would hide.
#include <sanitizer/lsan_interface.h>

namespace {

// The program's own .preinit_array comes before the constructors of the libraries; its constructors come behind them.
void before_libraries(int /*argc*/, char** /*argv*/, char** /*environment*/) { __lsan_disable(); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const first)(int, char**, char**) = before_libraries;

[[gnu::constructor(101)]] void behind_libraries() { __lsan_enable(); }

}  // namespace
