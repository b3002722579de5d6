#include "app/commands/make_token.h"

#include <iostream>
#include <string>

#include "app/config/secrets.h"
#include "app/config/token_hash.h"

namespace campipe {
int run_make_token() {
  const std::string token = random_token();
  std::cout << "for the screen's browser, behind the rig's address:  /?token=" << token << "&kiosk=1\n"
            << "for the configuration, as the `token` of a user:     " << hash_token(token) << '\n';
  return 0;
}

}  // namespace campipe
