// record.path of a configuration: the file that it means lies in the folder of its index, or it would neither be listed
// nor ever be deleted.
#include "app/config/paths.h"
#include "app/config/stream_config.h"
#include "app/publisher/recording/record_index.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

namespace fs = std::filesystem;

void check(const std::string& path) {
  // The configuration's reader refuses what has no such ending, or a NUL, before.
  if (contains(path, std::string_view("\0", 1)) || check_record_path(path)) return;
  const fs::path index = record_index_path(path, "dock", "small");
  for (const std::int64_t time : {std::int64_t{0}, std::int64_t{1'795'256'130}}) {
    const fs::path file = fs::path(expand_record_path(path, "dock", "small", time));
    require(!contains(file.string(), "{"), "every field is filled in", path);
    const fs::path name = file.lexically_proximate(index.parent_path());
    require(!name.is_absolute() && *name.begin() != "..", "a recording lies in the folder of its index", path);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size) + ".mp4");
  return 0;
}
