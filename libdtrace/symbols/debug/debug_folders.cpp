// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/debug/debug_folders.hpp"

#include "libdtrace/symbols/debug/debug_file.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "process/regular_file.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

namespace dt {

namespace fs = std::filesystem;

static std::vector<std::string>& all_folders()
{
    static std::vector<std::string> folders{"/usr/lib/debug"};
    return folders;
}

std::span<const std::string> debug_folders()
{
    return all_folders();
}

void add_debug_folder(const std::string& folder)
{
    std::error_code failed;
    std::string whole = fs::absolute(folder, failed).lexically_normal();
    while (whole.size() > 1 && whole.back() == '/')
        whole.pop_back();
    auto& all = all_folders();
    if (!failed && std::find(all.begin(), all.end(), whole) == all.end())
        all.push_back(std::move(whole));
}

bool in_debug_folder(const std::string& path)
{
    if (path.empty() || path[0] != '/')
        return false;
    const std::string normal = fs::path(path).lexically_normal();
    return std::ranges::any_of(all_folders(), [&](const std::string& folder) {
        return normal.size() > folder.size() + 1 && normal.starts_with(folder) &&
               normal[folder.size()] == '/';
    });
}

std::string path_of(const Fd& file)
{
    std::error_code failed;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(file.get()), failed);
}

static const char* text_of(Dwarf_Die* die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_attr(die, attribute, &found) != nullptr ? dwarf_formstring(&found)
                                                         : nullptr;
}

// Checks each path that libdw tries. libdw tries a relative name in the directory of
// the file, and then in DW_AT_comp_dir.
bool may_follow_split_unit(const std::string& path_of_file, Dwarf_Die* skeleton)
{
    const char* name = text_of(skeleton, DW_AT_dwo_name);
    if (name == nullptr)
        name = text_of(skeleton, DW_AT_GNU_dwo_name);
    if (name == nullptr || *name == '\0')
        return false;
    std::vector<std::string> tried{name};
    if (name[0] != '/') {
        const char* folder = text_of(skeleton, DW_AT_comp_dir);
        if (folder == nullptr || folder[0] != '/')
            return false;
        tried = {fs::path(path_of_file).parent_path() / name, fs::path(folder) / name};
    }
    return std::ranges::all_of(tried, [](const std::string& path) {
        struct stat is {};
        return in_debug_folder(path) &&
               (::stat(path.c_str(), &is) != 0 || S_ISREG(is.st_mode));
    });
}

AlternateFile find_alternate_file(const std::string& path_of_file, Dwarf* dwarf)
{
    AlternateFile alternate;
    const char* name = nullptr;
    const void* id = nullptr;
    ssize_t id_bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
    if (id_bytes == 0)
        return alternate;
    alternate.wanted = true;
    if (id_bytes < 2 || name == nullptr)
        return alternate;
    alternate.name = name;
    const Bytes wanted(static_cast<const std::byte*>(id),
                       static_cast<std::size_t>(id_bytes));
    std::vector<std::string> places;
    for (const std::string& folder : debug_folders())
        places.push_back(build_id_path(folder, wanted));
    places.push_back(name[0] == '/' ? name
                                    : fs::path(path_of_file).parent_path() / name);
    for (const std::string& place : places) {
        if (!in_debug_folder(place))
            continue;
        Fd file = open_regular(place);
        Fd kept(file ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0) : -1);
        auto elf = ElfSections::open(std::move(file));
        if (!elf || !kept)
            continue;
        auto found = (*elf)->build_id();
        if (std::ranges::equal(found, wanted)) {
            alternate.file = std::move(kept);
            return alternate;
        }
    }
    return alternate;
}

} // namespace dt
