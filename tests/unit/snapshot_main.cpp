// main() of tests that make snapshots: these start the program again, as they do with campipe itself.
#include <gtest/gtest.h>

#include <string_view>

#include "app/publisher/server/snapshot_decoder.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == campipe::snapshot_role) return campipe::run_snapshot_child();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
