// SPDX-License-Identifier: MIT
// Finds the D libraries (-L) and determines the order in which they are compiled. A
// library is a file NAME.d without clauses. `#pragma D depends_on library OTHER.d`
// means that OTHER.d comes first.
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace dt {

struct Library {
    std::string path, text;
    std::string name() const { return path.substr(path.rfind('/') + 1); }
};

// Returns the libraries, sorted by directory and file name, except that each library
// comes after its dependencies. Errors: Code::not_found, Code::permission or Code::io
// if a directory or file cannot be read, Code::invalid if a dependency is missing or
// circular.
Result<std::vector<Library>> libraries_in(const std::vector<std::string>& folders);

} // namespace dt
