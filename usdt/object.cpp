// SPDX-License-Identifier: MIT
#include "usdt/object.hpp"

#include "base/fd.hpp"
#include "usdt/definition_notes.hpp"
#include "usdt/probe_notes.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <memory>

namespace dt::usdt {

namespace {

template <class T> std::string bytes_of(const T& value)
{
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A string table. The empty string is at offset 0.
class Strings {
public:
    Elf64_Word add(const std::string& text)
    {
        auto at = static_cast<Elf64_Word>(bytes_.size());
        bytes_ += text + '\0';
        return at;
    }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_ = std::string(1, '\0');
};

struct Section {
    std::string name;
    Elf64_Shdr header{};
    std::string bytes;
};

class Object {
public:
    Object() : sections_(1), symbols_(1) {}

    std::string finish();
    void add(const ProviderSource& provider)
    {
        const bool defined = !provider.definition.empty();
        const Elf64_Word group = n_sections();
        std::string members = bytes_of(Elf64_Word{GRP_COMDAT}) + bytes_of(group + 1);
        if (defined)
            members += bytes_of(group + 2);
        groups_.emplace_back(group, symbols_.size());
        symbol(group_name(provider), STB_LOCAL, STT_NOTYPE, group, 0, 0);
        Section& of_group = section(".group", SHT_GROUP, 0, 4, members);
        of_group.header.sh_entsize = sizeof(Elf64_Word);

        std::string counters(2 * provider.probes.size(), '\0');
        section(".probes", SHT_PROGBITS, SHF_WRITE | SHF_ALLOC | SHF_GROUP, 2,
                counters);
        for (std::size_t i = 0; i < provider.probes.size(); i++)
            globals_.push_back(
                make_symbol(semaphore_name(provider.name, provider.probes[i].name),
                            STB_WEAK, STT_OBJECT, group + 1, 2 * i, 2));
        if (defined)
            section(definition_section, SHT_NOTE, SHF_GROUP, 4,
                    definition_note({provider.name, provider.definition}));
    }

private:
    Elf64_Word n_sections() const { return static_cast<Elf64_Word>(sections_.size()); }
    Section& section(const char* name, Elf64_Word type, Elf64_Xword flags,
                     Elf64_Xword align, std::string bytes)
    {
        Section& made = sections_.emplace_back();
        made.name = name;
        made.header.sh_type = type;
        made.header.sh_flags = flags;
        made.header.sh_addralign = align;
        made.bytes = std::move(bytes);
        return made;
    }
    Elf64_Sym make_symbol(const std::string& name, unsigned char binding,
                          unsigned char type, Elf64_Word in, Elf64_Addr at,
                          Elf64_Xword size)
    {
        Elf64_Sym symbol{};
        symbol.st_name = names_.add(name);
        symbol.st_info = ELF64_ST_INFO(binding, type);
        symbol.st_other = binding == STB_LOCAL ? STV_DEFAULT : STV_HIDDEN;
        symbol.st_shndx = static_cast<Elf64_Section>(in);
        symbol.st_value = at;
        symbol.st_size = size;
        return symbol;
    }
    void symbol(const std::string& name, unsigned char binding, unsigned char type,
                Elf64_Word in, Elf64_Addr at, Elf64_Xword size)
    {
        symbols_.push_back(make_symbol(name, binding, type, in, at, size));
    }

    std::vector<Section> sections_;
    std::vector<Elf64_Sym> symbols_, globals_;               // local symbols come first
    std::vector<std::pair<Elf64_Word, std::size_t>> groups_; // section, signature
    Strings names_;
};

std::string Object::finish()
{
    section(".note.GNU-stack", SHT_PROGBITS, 0, 1, "");
    const Elf64_Word symtab = n_sections();
    for (auto [group, signature] : groups_) {
        sections_[group].header.sh_link = symtab;
        sections_[group].header.sh_info = static_cast<Elf64_Word>(signature);
    }
    const auto n_locals = static_cast<Elf64_Word>(symbols_.size());
    std::string symbols;
    for (const auto* part : {&symbols_, &globals_})
        for (const Elf64_Sym& symbol : *part)
            symbols += bytes_of(symbol);
    Section& table = section(".symtab", SHT_SYMTAB, 0, 8, symbols);
    table.header.sh_link = symtab + 1;
    table.header.sh_info = n_locals;
    table.header.sh_entsize = sizeof(Elf64_Sym);
    section(".strtab", SHT_STRTAB, 0, 1, names_.bytes());
    section(".shstrtab", SHT_STRTAB, 0, 1, "");
    Strings section_names;
    for (Section& one : sections_)
        one.header.sh_name = one.name.empty() ? 0 : section_names.add(one.name);
    sections_.back().bytes = section_names.bytes();

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(sections_.size() - 1);
    std::string body(sizeof header, '\0');
    auto align = [&body](std::size_t to) {
        body.append((to - body.size() % to) % to, '\0');
    };
    for (Section& one : sections_) {
        if (one.header.sh_type == SHT_NULL)
            continue;
        align(one.header.sh_addralign);
        one.header.sh_offset = body.size();
        one.header.sh_size = one.bytes.size();
        body += one.bytes;
    }
    align(8);
    header.e_shoff = body.size();
    for (const Section& one : sections_)
        body += bytes_of(one.header);
    return bytes_of(header) + body.substr(sizeof header);
}

struct End {
    void operator()(Elf* elf) const { elf_end(elf); }
};

} // namespace

std::string object_text(std::span<const ProviderSource> providers)
{
    Object object;
    for (const ProviderSource& provider : providers)
        object.add(provider);
    return object.finish();
}

static void add_probes_of(Elf* elf, std::vector<UsedProbe>& used)
{
    std::size_t names = 0;
    if (elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf, scn)) != nullptr;) {
        GElf_Shdr header{};
        const char* name = gelf_getshdr(scn, &header) != nullptr
                               ? elf_strptr(elf, names, header.sh_name)
                               : nullptr;
        if (name == nullptr || std::string_view(name) != ".note.stapsdt")
            continue;
        Elf_Data* data = elf_rawdata(scn, nullptr);
        if (data == nullptr || data->d_buf == nullptr)
            continue;
        auto notes = parse_probe_notes(
            {static_cast<const std::byte*>(data->d_buf), data->d_size});
        for (ProbeNote& note : notes.notes)
            used.push_back({std::move(note.provider), std::move(note.name)});
    }
}

Result<std::vector<UsedProbe>> probes_used(const std::string& path)
{
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return errno_error("failed to open object file " + path);
    std::vector<UsedProbe> used;
    elf_version(EV_CURRENT);
    std::unique_ptr<Elf, End> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
    if (!elf)
        return used;
    add_probes_of(elf.get(), used);
    if (elf_kind(elf.get()) != ELF_K_AR)
        return used;
    for (Elf_Cmd next = ELF_C_READ; next != ELF_C_NULL;) {
        std::unique_ptr<Elf, End> member(elf_begin(fd.get(), next, elf.get()));
        if (!member)
            break;
        add_probes_of(member.get(), used);
        next = elf_next(member.get());
    }
    return used;
}

} // namespace dt::usdt
