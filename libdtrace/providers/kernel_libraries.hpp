// SPDX-License-Identifier: MIT
// D libraries about the kernel, in the directory kernel/. Each library declares the
// types that some stable providers show to D programs, and translates the kernel's own
// types to these types. For each argument of a probe, it declares the kernel's type and
// the type that D programs see. If a probe has a function, the library puts the
// function into the probe's name: vfs:vop:vop_read:entry is called vop_read-entry.
//
// The libraries use the kernel's type data, so the same source works for all kernel
// versions. Parts that differ between versions are in separate files, which depend on a
// member that only some versions have (#pragma D depends_on member TAG.NAME).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct KernelLibrary {
    std::string_view name, text;
};

// Returns the libraries that define one of the providers or declare a word that occurs
// in the text. Each library comes after the libraries on which it depends.
std::vector<KernelLibrary> kernel_libraries(const std::set<std::string>& providers,
                                            std::string_view text);

} // namespace dt
