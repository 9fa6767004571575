// SPDX-License-Identifier: MIT
// D libraries (-L): which files they are, and in which order they are compiled.
//
// A library is a file NAME.d of a folder: inlines, types, translators and attributes, no
// clauses. One that says `#pragma D depends_on library OTHER.d` comes behind that.
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace dt {

struct Library {
    std::string path, text;
    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

// In the order of the folders and their files' names, but where they depend on each other.
// not_found, permission, io: a folder or file cannot be read; invalid: a library that is
// depended on is not there, or they depend on each other in a circle.
Result<std::vector<Library>> libraries_in(const std::vector<std::string>& folders);

} // namespace dt
