// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/code_places.hpp"

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"
#include "libdtrace/symbols/elf/landing_pads.hpp"
#include "libdtrace/symbols/elf/parsed_elf.hpp"

#include <algorithm>
#include <map>

namespace dt {

namespace {

class PlaceReader {
public:
    explicit PlaceReader(ParsedElf& image) : image_(image), files_(image.files()) {}

    CodePlaces read()
    {
        const ElfSections& file = *files_.front();
        out_.absolute = image_.facts().kind == ElfKind::executable;
        add_ranges(file);
        for (const ElfSections* each : files_)
            add_symbols(*each);
        add_functions(file);
        add_restartable(file);
        add_relocated(file);
        out_.labels.push_back(image_.facts().entry);
        for (auto* places : {&out_.labels, &out_.symbols, &out_.relocated})
            std::sort(places->begin(), places->end());
        for (auto* places :
             {&out_.functions, &out_.labels, &out_.symbols, &out_.relocated}) {
            std::erase_if(*places, [&](std::uint64_t at) { return !is_text(at); });
            places->erase(std::unique(places->begin(), places->end()), places->end());
        }
        return std::move(out_);
    }

private:
    bool is_text(std::uint64_t at) const
    {
        auto after = std::upper_bound(
            out_.text.begin(), out_.text.end(), at,
            [](std::uint64_t value, const AddressRange& r) { return value < r.addr; });
        return after != out_.text.begin() && (after - 1)->contains(at);
    }

    // Adds the ranges of text and data. Prefers sections to segments, because a segment
    // may contain both text and constants.
    void add_ranges(const ElfSections& file)
    {
        for (const ElfSection& section : file.sections()) {
            const GElf_Shdr& header = section.header;
            // .eh_frame is read separately.
            if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_type == SHT_NOBITS ||
                header.sh_size == 0 || section.name == ".eh_frame" ||
                section.name == ".eh_frame_hdr")
                continue;
            bool code = (header.sh_flags & SHF_EXECINSTR) != 0;
            (code ? out_.text : out_.data).push_back({header.sh_addr, header.sh_size});
        }
        if (out_.text.empty()) {
            out_.data.clear();
            for (const ElfSegment& segment : file.segments()) {
                AddressRange range{segment.addr, segment.file_bytes};
                out_.data.push_back(range);
                if (segment.executable && segment.file_bytes != 0)
                    out_.text.push_back(range);
            }
        }
        keep_loaded(file, out_.text, true);
        keep_loaded(file, out_.data, false);
    }

    // Removes each range that is not entirely in the file data of one segment. If
    // `executable` is true, the segment must also be executable. Sorts the ranges. If
    // ranges overlap, keeps only the first one.
    static void keep_loaded(const ElfSections& file, std::vector<AddressRange>& ranges,
                            bool executable)
    {
        std::erase_if(ranges, [&](const AddressRange& range) {
            return std::none_of(file.segments().begin(), file.segments().end(),
                                [&](const ElfSegment& s) {
                                    return (s.executable || !executable) &&
                                           s.contains(range.addr) &&
                                           range.addr - s.addr < s.file_bytes &&
                                           range.n_bytes <=
                                               s.file_bytes - (range.addr - s.addr);
                                });
        });
        std::sort(ranges.begin(), ranges.end(),
                  [](const AddressRange& a, const AddressRange& b) {
                      return a.addr < b.addr;
                  });
        std::uint64_t end = 0;
        std::erase_if(ranges, [&](const AddressRange& range) {
            if (range.addr < end)
                return true;
            end = range.addr + range.n_bytes;
            return false;
        });
    }

    void add_symbols(const ElfSections& file)
    {
        for (std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
            const ElfSection* section = file.find(type);
            auto bytes = section ? file.data(*section) : Result<Bytes>(Bytes{});
            if (!bytes)
                continue; // data() has recorded that the table is too large
            const std::size_t n_all = bytes->size() / sizeof(Elf64_Sym);
            const std::size_t n = std::min(n_all, elf_limits::symbols);
            if (n < n_all)
                file.add_cut(
                    std::string(section->name) + " has more than " + std::to_string(n) +
                    " symbols: " + std::to_string(n_all - n) + " of them are omitted");
            for (std::size_t i = 1; i < n; i++) {
                Elf64_Sym symbol;
                std::memcpy(&symbol, bytes->data() + i * sizeof symbol, sizeof symbol);
                add_symbol(symbol);
            }
        }
    }

    void add_symbol(const Elf64_Sym& symbol)
    {
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
            type == STT_TLS || type == STT_FILE || type == STT_SECTION)
            return;
        // ElfTables::functions() already contains the functions with a size and a name.
        bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if (!function)
            out_.symbols.push_back(symbol.st_value);
        else if (symbol.st_size == 0 || symbol.st_name == 0)
            out_.labels.push_back(symbol.st_value);
    }

    // Merges the functions from .eh_frame with those from symbols. Both lists are
    // sorted by address.
    void add_functions(const ElfSections& file)
    {
        std::vector<std::uint64_t> framed;
        // LSDA tables are rarely in other sections.
        const ElfSection* section = file.find(".gcc_except_table");
        auto bytes = section ? file.data(*section) : Result<Bytes>(Bytes{});
        // The limit is needed because forged functions could all share one long table.
        std::size_t left = bytes ? 2 * bytes->size() : 0;
        for (const Frame& frame : read_frames(file)) {
            framed.push_back(frame.range.addr);
            out_.sized.push_back(frame.range);
            if (frame.table != 0 && left != 0)
                left -=
                    std::min(left, read_landing_pads(*bytes, section->header.sh_addr,
                                                     frame, out_.labels));
        }
        std::vector<std::uint64_t> named;
        for (const Function& function : image_.functions().all())
            named.push_back(function.addr);
        for (const Function& function : image_.functions().all())
            if (function.n_bytes != 0)
                out_.sized.push_back({function.addr, function.n_bytes});
        // If two ranges start at the same address, the longer one comes first.
        std::sort(out_.sized.begin(), out_.sized.end(),
                  [](const AddressRange& a, const AddressRange& b) {
                      return a.addr != b.addr ? a.addr < b.addr : a.n_bytes > b.n_bytes;
                  });
        std::merge(framed.begin(), framed.end(), named.begin(), named.end(),
                   std::back_inserter(out_.functions));
    }

    // Adds the critical sections of restartable sequences: the array of struct rseq_cs
    // (<linux/rseq.h>) in __rseq_cs. In a file without fixed addresses, the start and
    // the abort address are only in the relocations.
    void add_restartable(const ElfSections& file)
    {
        const ElfSection* section = file.find("__rseq_cs");
        auto bytes = section ? file.data(*section) : Result<Bytes>(Bytes{});
        if (!section || !bytes)
            return;
        std::map<std::uint64_t, std::uint64_t> relocated =
            relocations(file, {section->header.sh_addr, bytes->size()});
        auto word = [&](std::uint64_t offset) {
            auto known = relocated.find(section->header.sh_addr + offset);
            if (known != relocated.end())
                return known->second;
            return read_at<std::uint64_t>(*bytes, offset).value_or(0);
        };
        for (std::uint64_t at = 0; at + 32 <= bytes->size(); at += 32) {
            if (!is_text(word(at + 8)))
                continue;
            out_.restartable.push_back({word(at + 8), word(at + 16)});
            out_.labels.push_back(word(at + 8));
            out_.labels.push_back(word(at + 24));
        }
    }

    // Adds the addresses that the dynamic linker will write into the data.
    void add_relocated(const ElfSections& file)
    {
        for (const ElfSection& section : file.sections()) {
            if (section.header.sh_type != SHT_RELA ||
                (section.header.sh_flags & SHF_ALLOC) == 0)
                continue;
            auto bytes = file.data(section);
            for (std::uint64_t at = 0; bytes && at + 24 <= bytes->size(); at += 24) {
                auto rela = read_at<Elf64_Rela>(*bytes, at);
                if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE)
                    out_.relocated.push_back(
                        static_cast<std::uint64_t>(rela->r_addend));
            }
        }
    }

    static std::map<std::uint64_t, std::uint64_t> relocations(const ElfSections& file,
                                                              AddressRange in)
    {
        std::map<std::uint64_t, std::uint64_t> found;
        for (const ElfSection& section : file.sections()) {
            if (section.header.sh_type != SHT_RELA)
                continue;
            auto bytes = file.data(section);
            for (std::uint64_t at = 0; bytes && at + 24 <= bytes->size(); at += 24) {
                auto rela = read_at<Elf64_Rela>(*bytes, at);
                if (in.contains(rela->r_offset))
                    found[rela->r_offset] = static_cast<std::uint64_t>(rela->r_addend);
            }
        }
        return found;
    }

    ParsedElf& image_;
    std::vector<const ElfSections*> files_;
    CodePlaces out_;
};

} // namespace

CodePlaces read_code_places(ParsedElf& image)
{
    return PlaceReader(image).read();
}

} // namespace dt
