// SPDX-License-Identifier: MIT
// Creates the object file that `dtrace -G` writes. It contains the semaphores and
// definitions of the providers, in the same section groups as headers from `dtrace -h`.
// The linker keeps one copy of each group.
#pragma once

#include "base/result.hpp"
#include "usdt/provider_source.hpp"

#include <span>
#include <string>
#include <vector>

namespace dt::usdt {

// Returns a relocatable ELF file for x86-64.
std::string object_text(std::span<const ProviderSource> providers);

struct UsedProbe {
    std::string provider, name; // as in notes
};
// Returns the static probes in an object file or archive. A file that is not ELF has no
// probes. Fails with not_found, permission or io if the file cannot be opened.
Result<std::vector<UsedProbe>> probes_used(const std::string& path);

} // namespace dt::usdt
