// SPDX-License-Identifier: MIT
// D libraries (-L): which files they are, and in which order they are compiled.
//
// A library is a file NAME.d of a folder: inlines, types, translators and attributes,
// no clauses. A library with `#pragma D depends_on library OTHER.d` is compiled after
// OTHER.d.
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace dt {

struct Library {
    std::string path, text;
    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

// Returns the libraries in the order of the folders and of the names of their files,
// except that a library comes after those that it depends on. not_found, permission,
// io: a folder or file cannot be read. invalid: a library depends on one that does not
// exist, or libraries depend on each other in a circle.
Result<std::vector<Library>> libraries_in(const std::vector<std::string>& folders);

} // namespace dt
