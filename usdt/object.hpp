// SPDX-License-Identifier: MIT
// The object file of `dtrace -G`: the providers' semaphores and their definitions, in the
// same section groups that the headers of `dtrace -h` make, so that a program may have
// both. Nothing in it runs, and no object that it is linked with needs a change.
#pragma once

#include "base/result.hpp"
#include "usdt/provider_source.hpp"

#include <span>
#include <string>
#include <vector>

namespace dt::usdt {

// A relocatable ELF file for x86-64.
std::string object_text(std::span<const ProviderSource> providers);

struct UsedProbe {
    std::string provider, name; // as in notes
};
// The static probes that an object file has, or the objects of an archive; none of a file that is no ELF file, such as
// a compiler's intermediate one. not_found, permission, io: it cannot be read.
Result<std::vector<UsedProbe>> probes_used(const std::string& path);

} // namespace dt::usdt
