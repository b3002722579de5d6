// Answers as gzip, for those who take it.
#pragma once

#include <string>
#include <string_view>

#include "app/publisher/server/http/server.h"

namespace campipe {

// Whether a header Accept-Encoding (RFC 9110) allows gzip.
bool takes_gzip(std::string_view accept_encoding);
// `level`: zlib's, 1 (quick) to 9 (small).
std::string gzip(std::string_view text, int level);
// Compresses a body of text, quickly, where `takes_gzip`, it saves something, and nobody has done it.
void compress(HttpAnswer& answer, bool takes_gzip);

}  // namespace campipe
