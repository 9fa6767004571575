// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/elf_kind.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::uint64_t longest_path_bytes = 4096;

struct DynamicFlags {
    bool pie = false;
    bool soname = false;
};

DynamicFlags dynamic_flags(const ElfSections& file)
{
    DynamicFlags flags;
    for (const GElf_Phdr& p : file.program_headers()) {
        if (p.p_type != PT_DYNAMIC)
            continue;
        auto bytes =
            file.read(p.p_offset, std::min<std::uint64_t>(p.p_filesz, 1 << 20));
        if (!bytes)
            continue;
        for (std::uint64_t at = 0; auto d = read_at<Elf64_Dyn>(*bytes, at);
             at += sizeof(Elf64_Dyn)) {
            if (d->d_tag == DT_NULL)
                break;
            if (d->d_tag == DT_FLAGS_1)
                flags.pie = (d->d_un.d_val & DF_1_PIE) != 0;
            if (d->d_tag == DT_SONAME)
                flags.soname = true;
        }
    }
    return flags;
}

} // namespace

std::string interpreter_of(const ElfSections& file)
{
    for (const GElf_Phdr& p : file.program_headers()) {
        if (p.p_type != PT_INTERP)
            continue;
        auto bytes = file.read(p.p_offset, std::min(p.p_filesz, longest_path_bytes));
        if (bytes)
            return std::string(string_at(*bytes, 0).value_or(""));
    }
    return {};
}

// Returns the kind of a file. A shared library such as libc.so.6 may have an
// interpreter, but also has a DT_SONAME. A program that was linked before DF_1_PIE
// existed has an interpreter and no DT_SONAME.
ElfKind kind_of(const ElfSections& file, const std::string& interpreter)
{
    if (file.header().e_type == ET_EXEC)
        return ElfKind::executable;
    DynamicFlags flags = dynamic_flags(file);
    bool program = flags.pie || (!interpreter.empty() && !flags.soname);
    return program ? ElfKind::pie : ElfKind::shared_object;
}

} // namespace dt
