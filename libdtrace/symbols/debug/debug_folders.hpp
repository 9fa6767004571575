// SPDX-License-Identifier: MIT
// Directories whose debug files are trusted: /usr/lib/debug, and those given with -x
// debugdir.
//
// Debug data refer to other files: .gnu_debugaltlink names a file with shared entries,
// and DW_AT_dwo_name names the file that contains the rest of a split unit. libdw opens
// any of these paths, even that of a FIFO or a device. This code opens such a path only
// inside the trusted directories, which belong to the administrator or to the user of
// dtrace and not to the target.
//
// All sessions in a process share one list of directories, just as they share the
// environment.
#pragma once

#include "base/fd.hpp"

#include <elfutils/libdw.h>
#include <span>
#include <string>

namespace dt {

std::span<const std::string> debug_folders();
void add_debug_folder(const std::string& folder);

// Returns whether the path is absolute and in one of debug_folders(). ".." is resolved
// in the text of the path, without following symbolic links.
bool in_debug_folder(const std::string& path);

// Returns the path of an open file. libdw looks for related files next to this path.
std::string path_of(const Fd& file);

// Returns whether every path that libdw tries for the split file of this unit is in one
// of debug_folders() and, if it exists, leads to a regular file.
bool may_follow_split_unit(const std::string& path_of_file, Dwarf_Die* skeleton);

// The alternate debug file that .gnu_debugaltlink names. `wanted` says whether the
// debug data contain that section.
struct AlternateFile {
    bool wanted = false;
    std::string name;
    Fd file; // empty if the file is in none of the trusted directories
};
AlternateFile find_alternate_file(const std::string& path_of_file, Dwarf* dwarf);

} // namespace dt
