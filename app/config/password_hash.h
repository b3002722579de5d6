// Passwords of users, as they are kept: as argon2id hashes ("$argon2id$v=19$…"), from which they cannot be found.
#pragma once

#include <string>

namespace campipe {

// Takes tens of milliseconds and 64 MiB on purpose. Throws Error where there is no such memory.
std::string hash_password(const std::string& password);
// Whether it is a hash that password_fits() can check.
bool is_password_hash(const std::string& text);
// As costly as making it. False also for what is no hash.
bool password_fits(const std::string& hash, const std::string& password);

}  // namespace campipe
