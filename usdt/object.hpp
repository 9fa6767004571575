// SPDX-License-Identifier: MIT
// Creates the object file that `dtrace -G` writes. It contains the semaphores and the
// definitions of the providers, in the same section groups as in the headers from
// `dtrace -h`. The linker keeps only one copy of each group, so a program may use this
// file and such headers. The file contains no code, and the objects that it is linked
// with need no changes.
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
// Returns the static probes in an object file, or in the objects of an archive. A file
// that is not ELF, such as a compiler's intermediate file, has no probes. Fails with
// not_found, permission or io if the file cannot be opened.
Result<std::vector<UsedProbe>> probes_used(const std::string& path);

} // namespace dt::usdt
