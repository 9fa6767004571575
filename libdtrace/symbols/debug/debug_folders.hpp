// SPDX-License-Identifier: MIT
// Folders whose debug files are trusted: /usr/lib/debug, and those of -x debugdir.
//
// Debug data refer to other files: .gnu_debugaltlink names a file with shared entries,
// and DW_AT_dwo_name the file that a unit was split into. libdw opens any path in these
// attributes, including FIFOs and devices. This code opens such a path only inside the
// trusted folders, which belong to the administrator or to the user of dtrace and not
// to the target.
//
// There is one list of folders for the process, like its environment: all sessions of a
// program share it.
#pragma once

#include "base/fd.hpp"

#include <elfutils/libdw.h>
#include <span>
#include <string>

namespace dt {

std::span<const std::string> debug_folders();
void add_debug_folder(const std::string& folder);

// Returns whether the path is absolute and in one of the folders. ".." is resolved as
// text.
bool in_debug_folder(const std::string& path);

// Returns the path of the file. libdw looks for related files next to it.
std::string path_of(const Fd& file);

// Returns whether all paths that libdw tries for the split file of this unit lead into
// debug folders, and whether there are only regular files.
bool may_follow_split_unit(const std::string& path_of_file, Dwarf_Die* skeleton);

// Finds the alternate file that .gnu_debugaltlink names. `wanted`: whether it names
// one.
struct AlternateFile {
    bool wanted = false;
    std::string name;
    Fd file; // empty: no debug folder has it
};
AlternateFile find_alternate_file(const std::string& path_of_file, Dwarf* dwarf);

} // namespace dt
