// Links by UCX: active messages, whose bodies are fetched by rendezvous out of the slot here into the slot there, by
// RDMA where the machines have it, or over TCP. Nothing is encrypted, and nobody is asked who he is: for networks on
// which there are no strangers.
//
// The library is loaded when the first wire is made, and must be in no process that does other work: it installs signal
// handlers before anything can be said about it. Not in every build, and not on every machine.
#pragma once

#include <memory>
#include <string>

#include "app/link/wire.h"

namespace campipe {

struct UcxSettings {
  std::string address;  // "192.0.2.1:7000", "[2001:db8::1]:7000"; to listen at any free port: port 0
  bool listens = false;
};

// Why there is no UCX here; empty: there is.
std::string why_no_ucx();
// Throws Error where there is none, or no such address.
std::unique_ptr<LinkWire> make_ucx_wire(const UcxSettings& settings);

}  // namespace campipe
