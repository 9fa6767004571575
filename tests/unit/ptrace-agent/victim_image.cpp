// SPDX-License-Identifier: MIT
#include "victim_image.hpp"

#include "base/fd.hpp"
#include "fasttrap/function.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"

#include <cstring>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

namespace dt::test {

static std::uint64_t bias_of(Elf* elf, TargetAddr first)
{
    std::size_t n = 0;
    elf_getphdrnum(elf, &n);
    for (std::size_t i = 0; i < n; ++i) {
        GElf_Phdr part;
        if (gelf_getphdr(elf, static_cast<int>(i), &part) && part.p_type == PT_LOAD)
            return first.value - (part.p_vaddr & ~4095ull);
    }
    return 0;
}

static std::vector<std::byte> text_in_file(Elf* elf, int fd, const GElf_Sym& symbol)
{
    std::size_t n = 0;
    elf_getphdrnum(elf, &n);
    for (std::size_t i = 0; i < n; ++i) {
        GElf_Phdr part;
        if (!gelf_getphdr(elf, static_cast<int>(i), &part) || part.p_type != PT_LOAD ||
            symbol.st_value < part.p_vaddr ||
            symbol.st_value + symbol.st_size > part.p_vaddr + part.p_filesz)
            continue;
        std::vector<std::byte> text(symbol.st_size);
        ssize_t got =
            pread(fd, text.data(), text.size(),
                  static_cast<off_t>(symbol.st_value - part.p_vaddr + part.p_offset));
        text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return text;
    }
    return {};
}

std::map<std::string, Function> functions_of(pid_t pid, const std::string& name)
{
    std::map<std::string, Function> found;
    elf_version(EV_CURRENT);
    for (const Mapping& m : mappings_of(pid)) {
        if (m.offset != 0 || m.path.size() < name.size() ||
            m.path.compare(m.path.size() - name.size(), name.size(), name) != 0)
            continue;
        Fd file(open(m.path.c_str(), O_RDONLY | O_CLOEXEC));
        Elf* elf = elf_begin(file.get(), ELF_C_READ, nullptr);
        std::uint64_t bias = bias_of(elf, m.begin);
        Elf_Scn* section = nullptr;
        while ((section = elf_nextscn(elf, section)) != nullptr) {
            GElf_Shdr header;
            gelf_getshdr(section, &header);
            if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
                continue;
            Elf_Data* data = elf_getdata(section, nullptr);
            for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
                GElf_Sym symbol;
                gelf_getsym(data, static_cast<int>(i), &symbol);
                bool data_object = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT;
                if ((GELF_ST_TYPE(symbol.st_info) != STT_FUNC && !data_object) ||
                    symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0)
                    continue;
                found[elf_strptr(elf, header.sh_link, symbol.st_name)] =
                    Function{{bias + symbol.st_value},
                             symbol.st_size,
                             text_in_file(elf, file.get(), symbol)};
            }
        }
        elf_end(elf);
        break;
    }
    return found;
}

std::vector<std::byte> text_at(pid_t pid, TargetAddr at, std::size_t n)
{
    std::vector<std::byte> text(n);
    Fd mem(open(proc_path(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC));
    ssize_t got = pread(mem.get(), text.data(), n, static_cast<off_t>(at.value));
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
}

std::vector<Site> return_sites(const Function& function, std::uint32_t probe)
{
    std::vector<Site> sites;
    auto found = analyze_function(x86_64, function.text, function.at);
    if (!found)
        return sites;
    for (const ReturnSite& ret : found->returns) {
        Site site;
        site.at = function.at + ret.offset;
        site.probe = probe;
        site.kind = SiteKind::ret;
        site.arg0 = ret.offset;
        sites.push_back(site);
    }
    return sites;
}

std::string text_difference(pid_t pid)
{
    for (const Mapping& m : mappings_of(pid)) {
        if (!m.executable || m.writable || m.path.empty() || m.path[0] != '/')
            continue;
        std::size_t bytes = m.end - m.begin;
        std::vector<std::byte> on_disk(bytes);
        Fd file(open(m.path.c_str(), O_RDONLY | O_CLOEXEC));
        ssize_t n =
            pread(file.get(), on_disk.data(), bytes, static_cast<off_t>(m.offset));
        auto in_memory = text_at(pid, m.begin, bytes);
        if (n < 0 || in_memory.size() < static_cast<std::size_t>(n))
            return m.path + " cannot be read: " + std::to_string(in_memory.size()) +
                   " of " + std::to_string(n);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            if (on_disk[i] != in_memory[i])
                return m.path + " at offset " + std::to_string(m.offset + i);
        }
    }
    return {};
}

bool is_traced(pid_t pid)
{
    for (pid_t tid : threads_of(pid)) {
        std::string status =
            read_proc_file(pid, "task/" + std::to_string(tid) + "/status");
        char state = thread_state(pid, tid);
        if (status_number(status, "TracerPid") != 0 || state == 't' || state == 'T')
            return true;
    }
    return false;
}

bool has_private_code(pid_t pid)
{
    for (const Mapping& m : mappings_of(pid)) {
        if (m.executable && m.path.empty())
            return true;
    }
    return false;
}

} // namespace dt::test
