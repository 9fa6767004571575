// SPDX-License-Identifier: MIT
// Looks up names with the system's resolver. Caches the names of hosts.
#include "libdtrace/consume/net_names.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <map>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace dt {

static std::string look_up(const sockaddr* addr, socklen_t bytes, std::string otherwise)
{
    char name[NI_MAXHOST];
    if (getnameinfo(addr, bytes, name, sizeof name, nullptr, 0, NI_NAMEREQD) != 0)
        return otherwise;
    return name;
}

std::string host_name(const std::string& address)
{
    static std::map<std::string, std::string> known;
    if (auto found = known.find(address); found != known.end())
        return found->second;
    if (known.size() >= 4096) // limited because a target chooses the addresses
        known.clear();
    std::string name = address;
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        name = look_up(reinterpret_cast<sockaddr*>(&v4), sizeof v4, address);
    } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        name = look_up(reinterpret_cast<sockaddr*>(&v6), sizeof v6, address);
    }
    return known[address] = name;
}

std::string service_name(std::uint16_t port)
{
    char buf[1024];
    servent entry{}, *found = nullptr;
    if (getservbyport_r(htons(port), nullptr, &entry, buf, sizeof buf, &found) == 0 &&
        found)
        return found->s_name;
    return std::to_string(port);
}

} // namespace dt
