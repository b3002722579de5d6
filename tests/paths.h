// Where tests find what they read and start: written by CMake (tests/paths.cpp.in).
#pragma once

namespace campipe::test {

extern const char* const source_folder;  // of the repository
extern const char* const build_folder;
extern const char* const cmake_program;

extern const char* const campipe_program;
extern const char* const campipe_faults_program;  // the same, obeying CAMPIPE_FAILPOINT
extern const char* const campipe_mpi_program;     // empty: it is not built

// What a test starts to kill it, and what it loads in place of a library.
extern const char* const ring_peer_program;
extern const char* const link_peer_program;
extern const char* const cluster_peer_program;
extern const char* const fake_nvml_library;
extern const char* const fake_driver_folder;
extern const char* const slow_library;
extern const char* const broken_codecs_library;
extern const char* const set_clock_library;
extern const char* const moving_plugin_library;

}  // namespace campipe::test
