#include "core/libav_options.h"

namespace campipe {

LibavOptions LibavOptions::copy_of(const AVDictionary* options) {
  LibavOptions copy;
  av_dict_copy(&copy.options_, options, 0);
  return copy;
}

LibavOptions LibavOptions::parse(const std::string& text) {
  LibavOptions options;
  av_dict_parse_string(&options.options_, text.c_str(), "=", ":", 0);
  return options;
}

std::vector<std::pair<std::string, std::string>> LibavOptions::entries() const {
  std::vector<std::pair<std::string, std::string>> all;
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(options_, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    all.emplace_back(entry->key, entry->value);
  }
  return all;
}

}  // namespace campipe
