// In place of app/link/ucx_wire.cpp and ucx_found.cpp, in a build without UCX.
#include "app/control/messages/links_found.h"
#include "app/link/ucx_found.h"
#include "app/link/ucx_wire.h"
#include "core/error.h"

namespace campipe {

std::string why_no_ucx() { return "campipe was built without UCX"; }

messages::LinksFound find_ucx() { return {"", why_no_ucx(), {}}; }

std::unique_ptr<LinkWire> make_ucx_wire(const UcxSettings& /*settings*/) { throw Error(why_no_ucx()); }

}  // namespace campipe
