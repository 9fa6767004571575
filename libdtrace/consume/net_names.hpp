// SPDX-License-Identifier: MIT Names of hosts and services, for %I and %P. If there is
// no name, the number is printed.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

// Looks a textual IPv4 or IPv6 address up; may wait for the name service.
std::string host_name(const std::string& address);
// Returns the name of a service. The port is in host byte order.
std::string service_name(std::uint16_t port);

} // namespace dt
