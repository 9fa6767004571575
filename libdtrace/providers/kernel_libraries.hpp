// SPDX-License-Identifier: MIT
// D libraries about the kernel: kernel/ has them. Each declares the types that some stable
// providers show, translates the kernel's own to them, and says which of both each probe has.
// There a probe that has a function, vfs:vop:vop_read:entry, is vop_read-entry.
//
// They are written against the kernel's type data, so that one text serves its versions.
// What differs between those is in files of their own, which depend on a member that only
// some have (#pragma D depends_on member TAG.NAME).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct KernelLibrary {
    std::string_view name, text;
};

// Those that define one of the providers, those that declare a word of the text, and what
// they depend on, which comes before them.
std::vector<KernelLibrary> kernel_libraries(const std::set<std::string>& providers,
                                            std::string_view text);

} // namespace dt
