// libcurl's handles with owners, and what all of its users need. Who includes it links CURL::libcurl.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.h"

namespace campipe::curl {

struct Deleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct MultiDeleter {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Easy = std::unique_ptr<CURL, Deleter>;
using Multi = std::unique_ptr<CURLM, MultiDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;
using Url = std::unique_ptr<CURLU, UrlDeleter>;

// All of these throw Error: "libcurl cannot be used: …".
[[noreturn]] inline void fail(const std::string& why) { throw Error("libcurl cannot be used: " + why); }

// Before anything else. Any thread.
inline void init() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

inline Easy make_easy() {
  init();
  Easy made(curl_easy_init());
  if (!made) fail("out of memory");
  return made;
}

inline Multi make_multi() {
  init();
  Multi made(curl_multi_init());
  if (!made) fail("out of memory");
  return made;
}

template <typename Value>
void set(const Easy& handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle.get(), option, value);
  if (code != CURLE_OK) fail(curl_easy_strerror(code));
}

inline void add_line(List& list, const std::string& line) {
  curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) fail("out of memory");
  static_cast<void>(list.release());  // it is part of the longer one
  list.reset(longer);
}

inline constexpr std::size_t largest_body = 64U << 20U;

// As CURLOPT_WRITEFUNCTION, through c_callback<collect, 0>: appends to the std::string at `body`. Of more than
// largest_body it takes nothing, and the transfer ends with CURLE_WRITE_ERROR.
inline std::size_t collect(char* data, std::size_t size, std::size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > largest_body) return 0;
  text.append(data, size * count);
  return size * count;
}

}  // namespace campipe::curl
