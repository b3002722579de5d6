// In place of app/link/ucx_wire.cpp, in a build without UCX.
#include "app/link/ucx_wire.h"
#include "core/error.h"

namespace campipe {

std::string why_no_ucx() { return "campipe was built without UCX"; }

std::unique_ptr<LinkWire> make_ucx_wire(const UcxSettings& /*settings*/) { throw Error(why_no_ucx()); }

}  // namespace campipe
