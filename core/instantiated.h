// Templates of libraries that would be compiled anew in nearly every file: declared here as compiled elsewhere, which
// is core/instantiated.cpp. Part of the precompiled header, so that no file has to include it; one that is compiled
// without compiles them itself.
#pragma once

#include <fmt/format.h>

// The literals of nlohmann::json make each file instantiate a parser, used or not: 0.4 s. They are taken away by making
// the body of theirs that of a template, which is not used. Where the library writes them otherwise nothing happens.
#define JSON_USE_GLOBAL_UDLS 0
#define _json                          \
  _json(const char* s, std::size_t n); \
  template <typename>                  \
  nlohmann::json never_parsed
#include <nlohmann/json.hpp>
#undef _json
using nlohmann::literals::json_literals::operator"" _json_pointer;

// All of fmt's formatting, two to three seconds of the compiler's time a file. fmt 10 and later declare this
// themselves.
#if FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY)
#define CAMPIPE_INSTANTIATES_FMT
extern template void fmt::detail::vformat_to<char>(buffer<char>&, basic_string_view<char>,
                                                   basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>,
                                                   locale_ref);
#endif

extern template class nlohmann::basic_json<>;
