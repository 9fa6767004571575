// SPDX-License-Identifier: MIT
// Names of hosts and services, for %I and %P. Without a name, the address or the port
// number is printed.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

// Returns the name of the host with this IPv4 or IPv6 address. May wait for the name
// service.
std::string host_name(const std::string& address);
// Returns the name of a service. The port is in host byte order.
std::string service_name(std::uint16_t port);

} // namespace dt
