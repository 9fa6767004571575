// SPDX-License-Identifier: MIT
// The D libraries in the directory kernel/. They describe the probes of the stable
// providers, such as io and vfs. Each library declares the types of the probes'
// arguments, and contains translators from the kernel's types to these types. A library
// that declares a probe with a function adds the function to the probe's name. For
// example, it declares vfs:vop:vop_read:entry as vop_read-entry.
//
// The libraries use the kernel's type data, so they work for all kernel versions. If
// two versions need different D code, this code is in separate files. Such a file is
// used only if a certain struct of the kernel has a certain member
// (#pragma D depends_on member TAG.NAME).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct KernelLibrary {
    std::string_view name, text;
};

// Returns the libraries of the kernel's providers that define one of the providers, or that declare a word which
// occurs in `text`. Each library comes after its dependencies.
std::vector<KernelLibrary> kernel_libraries(const std::set<std::string>& providers,
                                            std::string_view text);
// Returns the libraries in the directories target/ and recorded/ that define one of the
// providers or declare a word in `text`. They describe the probes that do not need the
// kernel module: those in targets, and those that fire in the consumer
// (RecordedProvider).
std::vector<KernelLibrary>
libraries_without_kernel(const std::set<std::string>& providers, std::string_view text);

} // namespace dt
