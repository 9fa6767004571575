// SPDX-License-Identifier: MIT
// Directories whose debug files are trusted: /usr/lib/debug, and those given with -x
// debugdir.
//
// Debug data may refer to other files by their paths (.gnu_debugaltlink,
// DW_AT_dwo_name). libdw would open any such path, even that of a FIFO. So a path is
// opened only inside the trusted directories, which do not belong to the target.
//
// All sessions in a process share one list of directories.
#pragma once

#include "base/fd.hpp"

#include <elfutils/libdw.h>
#include <span>
#include <string>

namespace dt {

std::span<const std::string> debug_folders();
void add_debug_folder(const std::string& folder);

// Returns whether an absolute path is in one of debug_folders(). ".." is resolved
// without following symbolic links.
bool in_debug_folder(const std::string& path);

// Returns the path of an open file. libdw looks for related files next to this path.
std::string path_of(const Fd& file);

// Returns whether all paths that libdw tries for the unit's split file are in
// debug_folders(). Existing paths must lead to regular files.
bool may_follow_split_unit(const std::string& path_of_file, Dwarf_Die* skeleton);

// The alternate debug file. `wanted` says whether the data contain .gnu_debugaltlink.
struct AlternateFile {
    bool wanted = false;
    std::string name;
    Fd file; // empty if the file is in none of the trusted directories
};
AlternateFile find_alternate_file(const std::string& path_of_file, Dwarf* dwarf);

} // namespace dt
