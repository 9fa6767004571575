// SPDX-License-Identifier: MIT
// Finds the D libraries (-L) and determines the order in which they are compiled.
//
// A library is a file NAME.d in a directory. It contains inlines, types, translators
// and attributes, but no clauses. A library with `#pragma D depends_on library OTHER.d`
// is compiled after OTHER.d.
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace dt {

struct Library {
    std::string path, text;
    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

// Returns the libraries in the order of the directories and of their file names, except
// that a library comes after those that it depends on. Errors: not_found, permission or
// io if a directory or file cannot be read; invalid if a library depends on one that
// does not exist, or if dependencies are circular.
Result<std::vector<Library>> libraries_in(const std::vector<std::string>& folders);

} // namespace dt
