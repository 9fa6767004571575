// SPDX-License-Identifier: MIT
// D libraries about the kernel, in the directory kernel/. Each library declares the
// types that stable providers show to D programs, and translates the kernel's types to
// these types. A library puts the function of a probe into the probe's name. For
// example, vfs:vop:vop_read:entry is called vop_read-entry.
//
// The libraries use the kernel's type data, so they work for all kernel versions. Parts
// that differ between versions are in separate files. Such a file depends on a member
// that only some versions have (#pragma D depends_on member TAG.NAME).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct KernelLibrary {
    std::string_view name, text;
};

// Returns the libraries that define one of the providers, or that declare a word which
// occurs in `text`. Each library comes after its dependencies.
std::vector<KernelLibrary> kernel_libraries(const std::set<std::string>& providers,
                                            std::string_view text);

} // namespace dt
