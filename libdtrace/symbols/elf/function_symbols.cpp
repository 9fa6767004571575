// SPDX-License-Identifier: MIT
// Reads symbol tables. add_table() decides which symbols are functions.
//
// In a file without section headers, PT_DYNAMIC gives the address of .dynsym, but not
// its length. The length follows from the number of chains of DT_HASH, or from the end
// of the last chain of DT_GNU_HASH.
#include "libdtrace/symbols/elf/function_symbols.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::uint64_t largest_hash_bytes = 64 << 20;
constexpr std::uint16_t version_hidden = 0x8000;

// Fields of PT_DYNAMIC: link-time addresses and a size. An absent field is 0.
struct Dynamic {
    std::uint64_t symtab = 0, strtab = 0, strtab_bytes = 0;
    std::uint64_t hash = 0, gnu_hash = 0, versym = 0;
};

Dynamic dynamic_of(const ElfSections& file)
{
    Dynamic dynamic;
    for (const GElf_Phdr& p : file.program_headers()) {
        if (p.p_type != PT_DYNAMIC)
            continue;
        auto bytes =
            file.read(p.p_offset, std::min<std::uint64_t>(p.p_filesz, 1 << 20));
        if (!bytes)
            continue;
        for (std::uint64_t at = 0; auto d = read_at<Elf64_Dyn>(*bytes, at);
             at += sizeof(Elf64_Dyn)) {
            switch (d->d_tag) {
            case DT_NULL:
                return dynamic;
            case DT_SYMTAB:
                dynamic.symtab = d->d_un.d_ptr;
                break;
            case DT_STRTAB:
                dynamic.strtab = d->d_un.d_ptr;
                break;
            case DT_STRSZ:
                dynamic.strtab_bytes = d->d_un.d_val;
                break;
            case DT_HASH:
                dynamic.hash = d->d_un.d_ptr;
                break;
            case DT_GNU_HASH:
                dynamic.gnu_hash = d->d_un.d_ptr;
                break;
            case DT_VERSYM:
                dynamic.versym = d->d_un.d_ptr;
                break;
            default:
                break;
            }
        }
    }
    return dynamic;
}

std::uint64_t count_by_gnu_hash(Bytes table)
{
    struct Header {
        std::uint32_t n_buckets, first_symbol, n_bloom_words, bloom_shift;
    };
    auto header = read_at<Header>(table, 0);
    if (!header)
        return 0;
    std::uint64_t buckets = sizeof(Header) + std::uint64_t{header->n_bloom_words} * 8;
    std::uint64_t chains = buckets + std::uint64_t{header->n_buckets} * 4;
    std::uint32_t last = 0;
    for (std::uint64_t i = 0; i < header->n_buckets; i++) {
        auto bucket = read_at<std::uint32_t>(table, buckets + i * 4);
        if (!bucket)
            return 0;
        last = std::max(last, *bucket);
    }
    if (last < header->first_symbol)
        return header->first_symbol;
    for (std::uint64_t i = last;; i++) {
        auto chain =
            read_at<std::uint32_t>(table, chains + (i - header->first_symbol) * 4);
        if (!chain)
            return 0;
        if (*chain & 1)
            return i + 1;
    }
}

std::uint64_t count_symbols(const ElfSections& file, const Dynamic& dynamic)
{
    if (dynamic.hash != 0) {
        auto head = file.loaded(dynamic.hash, 8);
        auto n_chains = head ? read_at<std::uint32_t>(*head, 4) : std::nullopt;
        if (n_chains)
            return *n_chains;
    }
    if (dynamic.gnu_hash != 0)
        if (auto table = file.loaded(dynamic.gnu_hash, largest_hash_bytes))
            return count_by_gnu_hash(*table);
    return 0;
}

const ElfSegment* text_of(std::span<const ElfSegment> segments, std::uint64_t addr)
{
    for (const ElfSegment& segment : segments)
        if (segment.executable && segment.contains(addr))
            return &segment;
    return nullptr;
}

} // namespace

void SymbolCollector::add(const ElfSections& file, const std::string& what)
{
    // A file has at most one table of each type (gABI).
    const ElfSection* symtab = file.find(std::uint32_t{SHT_SYMTAB});
    const ElfSection* dynsym = file.find(std::uint32_t{SHT_DYNSYM});
    if (symtab)
        add_section(file, *symtab, what);
    if (dynsym)
        add_section(file, *dynsym, what);
    if (!dynsym)
        add_dynamic(file, what);
}

void SymbolCollector::add_section(const ElfSections& file, const ElfSection& section,
                                  const std::string& what)
{
    Table table;
    auto symbols = file.data(section);
    auto strings = file.data(section.header.sh_link);
    if (!symbols || !strings)
        return;
    table.symbols = *symbols;
    table.strings = *strings;
    if (section.header.sh_type == SHT_DYNSYM)
        for (const ElfSection& other : file.sections())
            if (other.header.sh_type == SHT_GNU_versym &&
                other.header.sh_link == section.index)
                if (auto versions = file.data(other))
                    table.versions = *versions;
    add_table(table, what + " " + std::string(section.name));
}

void SymbolCollector::add_dynamic(const ElfSections& file, const std::string& what)
{
    Dynamic dynamic = dynamic_of(file);
    if (dynamic.symtab == 0 || dynamic.strtab == 0)
        return;
    std::uint64_t count = count_symbols(file, dynamic);
    if (count == 0)
        return; // no usable hash table
    Table table;
    table.symbols = keep(file.loaded(dynamic.symtab, count * sizeof(Elf64_Sym)));
    table.strings = keep(file.loaded(dynamic.strtab, dynamic.strtab_bytes));
    if (dynamic.versym != 0)
        table.versions = keep(file.loaded(dynamic.versym, count * 2));
    add_table(table, what + " PT_DYNAMIC");
}

Bytes SymbolCollector::keep(Result<std::vector<std::byte>> bytes)
{
    if (!bytes)
        return {};
    kept_.push_back(std::move(*bytes));
    return kept_.back();
}

void SymbolCollector::add_table(const Table& table, const std::string& what)
{
    std::size_t count = table.symbols.size() / sizeof(Elf64_Sym);
    std::size_t taken = 0, name_bytes = 0;
    symbols_.reserve(symbols_.size() + std::min(count, elf_limits::functions));
    for (std::size_t i = 1; i < count; i++) {
        auto symbol = read_at<Elf64_Sym>(table.symbols, i * sizeof(Elf64_Sym));
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
            symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0)
            continue;
        const ElfSegment* text = text_of(segments_, symbol->st_value);
        if (!text)
            continue;
        // Names that are not used also count, because finding their ends takes time.
        auto name = string_at(table.strings, symbol->st_name);
        name_bytes += name ? name->size()
                           : std::min(table.strings.size() -
                                          std::min<std::size_t>(symbol->st_name,
                                                                table.strings.size()),
                                      max_string_bytes);
        if (name_bytes <= elf_limits::name_bytes &&
            (!name || name->empty() || name->front() == '@'))
            continue;
        if (++taken > elf_limits::functions || name_bytes > elf_limits::name_bytes) {
            cuts_.push_back(what + ": more than " + std::to_string(taken - 1) +
                            " functions or " +
                            std::to_string(elf_limits::name_bytes >> 20) +
                            " MiB of function names: up to " +
                            std::to_string(count - i) + " functions are omitted");
            return;
        }
        FunctionName entry;
        std::size_t at = name->find('@');
        entry.text = name->substr(0, at);
        if (at != std::string_view::npos)
            entry.old_version = !name->substr(at).starts_with("@@");
        else if (auto version = read_at<std::uint16_t>(table.versions, i * 2))
            entry.old_version = (*version & version_hidden) != 0;
        entry.indirect = type == STT_GNU_IFUNC;
        unsigned bind = ELF64_ST_BIND(symbol->st_info);
        entry.binding = bind == STB_LOCAL  ? Binding::local
                        : bind == STB_WEAK ? Binding::weak
                                           : Binding::global;
        std::uint64_t room = text->addr + text->mem_bytes - symbol->st_value;
        symbols_.push_back({symbol->st_value, std::min(symbol->st_size, room), entry});
    }
}

} // namespace dt
