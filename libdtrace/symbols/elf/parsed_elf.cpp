// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/parsed_elf.hpp"

#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "libdtrace/symbols/elf/data_symbols.hpp"
#include "libdtrace/symbols/elf/elf_kind.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"
#include "libdtrace/symbols/elf/split_off.hpp"
#include "libdtrace/symbols/elf/unxz.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dt {

static bool is_symtab(const ElfSection* section)
{
    return section && section->header.sh_size > sizeof(Elf64_Sym);
}

static bool has_types(const ElfSections& elf)
{
    const ElfSection* section = elf.find(".debug_info");
    return section && section->header.sh_type != SHT_NOBITS && elf.fd() >= 0;
}

static ElfFacts facts_of(const ElfSections& file)
{
    ElfFacts facts;
    facts.machine = file.header().e_machine;
    facts.interpreter = interpreter_of(file);
    facts.kind = kind_of(file, facts.interpreter);
    facts.has_symtab = is_symtab(file.find(std::uint32_t{SHT_SYMTAB}));
    facts.entry = file.header().e_entry;
    facts.segments.assign(file.segments().begin(), file.segments().end());
    for (const ElfSection& section : file.sections())
        if (section.header.sh_addr != 0 &&
            facts.sections.size() < elf_limits::loaded_sections)
            facts.sections.emplace_back(
                section.name,
                AddressRange{section.header.sh_addr, section.header.sh_size});
    return facts;
}

Result<std::unique_ptr<ParsedElf>> ParsedElf::open(ElfSource source)
{
    auto file = source.fd ? ElfSections::open(std::move(source.fd))
                          : ElfSections::open(std::move(source.bytes));
    if (!file)
        return file.error().during(source.path);
    return std::unique_ptr<ParsedElf>(new ParsedElf(
        std::move(*file), std::move(source.path), std::move(source.root)));
}

ParsedElf::ParsedElf(std::unique_ptr<ElfSections> file, std::string path,
                     std::string root)
    : file_(std::move(file)), path_(std::move(path)), root_(std::move(root)),
      facts_(facts_of(*file_))
{
}

ParsedElf::~ParsedElf() = default;

std::vector<std::string> ParsedElf::take_cuts()
{
    std::vector<std::string> cuts;
    auto add = [&](const std::string& where, std::vector<std::string> more) {
        for (std::string& cut : more)
            cuts.push_back(where + ": " + std::move(cut));
    };
    if (collector_) // the messages about symbol tables come first
        for (std::string& cut : std::exchange(collector_->cuts(), {}))
            cuts.push_back(std::move(cut));
    add(path_, file_->take_cuts());
    if (debug_.elf)
        add(debug_.path, debug_.elf->take_cuts());
    if (debugdata_)
        add(path_ + " .gnu_debugdata", debugdata_->take_cuts());
    if (debug_types_ && *debug_types_)
        add(path_, (**debug_types_)->take_cuts());
    return cuts;
}

void ParsedElf::open_debugdata()
{
    const ElfSection* section = file_->find(".gnu_debugdata");
    if (!section)
        return;
    auto packed = file_->data(*section);
    if (!packed)
        return;
    auto bytes = unxz(*packed, elf_limits::unpacked_debugdata_bytes);
    auto elf = bytes ? ElfSections::open(std::move(*bytes))
                     : Result<std::unique_ptr<ElfSections>>(bytes.error());
    if (elf)
        debugdata_ = std::move(*elf);
}

// Loads the function symbols. If the image has a .symtab, no debug file is opened,
// because it would contain the same symbols again.
void ParsedElf::load_functions()
{
    collector_ = std::make_unique<SymbolCollector>(file_->segments());
    collector_->add(*file_, path_);
    if (!facts_.has_symtab) {
        debug_ = find_debug_file(*file_, path_, root_);
        if (debug_.elf)
            collector_->add(*debug_.elf, debug_.path);
        else
            open_debugdata();
        if (debugdata_)
            collector_->add(*debugdata_, path_ + " .gnu_debugdata");
    }
    std::vector<FunctionSymbol> symbols = collector_->take();
    if (!facts_.has_symtab && !debug_.elf && !debugdata_)
        add_frame_functions(symbols);
    functions_.emplace(std::move(symbols));
}

// Adds a function for each range of .eh_frame that no symbol covers. Skips .init, .fini
// and the procedure linkage tables. The range of such a table contains all of its stubs
// and is not a function.
void ParsedElf::add_frame_functions(std::vector<FunctionSymbol>& symbols)
{
    std::vector<Frame> found = read_frames(*file_);
    find_split_off(*file_, found);
    std::vector<AddressRange> covered;
    for (const FunctionSymbol& symbol : symbols)
        covered.push_back({symbol.addr, symbol.n_bytes});
    for (const char* stubs : {".plt", ".plt.got", ".plt.sec", ".init", ".fini"})
        if (const ElfSection* section = file_->find(std::string_view(stubs)))
            covered.push_back({section->header.sh_addr, section->header.sh_size});
    std::sort(
        covered.begin(), covered.end(),
        [](const AddressRange& a, const AddressRange& b) { return a.addr < b.addr; });
    std::size_t next = 0;
    std::uint64_t covered_to = 0;
    for (const auto& [range, table, index, split_off] : found) {
        for (; next < covered.size() && covered[next].addr <= range.addr; next++)
            covered_to =
                std::max(covered_to, covered[next].addr + covered[next].n_bytes);
        bool in_text =
            std::any_of(file_->segments().begin(), file_->segments().end(),
                        [&range = range](const ElfSegment& s) {
                            return s.executable && s.contains(range.addr) &&
                                   range.n_bytes <= s.addr + s.file_bytes - range.addr;
                        });
        if (!in_text || range.addr < covered_to || range.n_bytes == 0)
            continue;
        char name[32];
        std::snprintf(name, sizeof name, "fde.%llx",
                      static_cast<unsigned long long>(range.addr));
        FunctionSymbol symbol;
        symbol.addr = range.addr;
        symbol.n_bytes = range.n_bytes;
        symbol.name.text = frame_names_.emplace_back(name);
        symbol.name.from_frame = true;
        symbol.name.split_off = split_off;
        symbols.push_back(symbol);
    }
}

const FunctionTable& ParsedElf::functions()
{
    if (!functions_)
        load_functions();
    return *functions_;
}

// Opens the debug data, which may be in a separate file even if the file has symbols.
Result<std::unique_ptr<DebugTypes>> ParsedElf::open_debug_types()
{
    if (has_types(*file_))
        return DwarfTypes::open(file_->fd());
    DebugFile found = find_debug_file(*file_, path_, root_);
    if (found.elf && has_types(*found.elf))
        return DwarfTypes::open(found.elf->fd());
    return Error{Code::not_found, "no debug data"};
}

bool ParsedElf::has_debug_types()
{
    if (has_types(*file_))
        return true;
    const DebugFile found = find_debug_file(*file_, path_, root_);
    return found.elf && has_types(*found.elf);
}

std::vector<const Function*> ParsedElf::match(std::string_view glob)
{
    return functions().match(glob);
}

std::vector<std::string> ParsedElf::suggest(std::string_view name)
{
    return functions().suggest(name);
}

std::optional<std::uint64_t> ParsedElf::find_variable(std::string_view name)
{
    for (const ElfSections* file : files())
        if (auto addr = find_data_symbol(*file, name))
            return addr;
    return std::nullopt;
}

const DataSymbol* ParsedElf::variable_at(std::uint64_t addr)
{
    const DataSymbol* known = variables_.find(addr);
    if (known == nullptr)
        known = variables_.add(variable_or_gap_at(addr));
    return known == nullptr || known->name.empty() ? nullptr : known;
}

Result<DebugTypes*> ParsedElf::debug_types()
{
    if (!debug_types_)
        debug_types_ = open_debug_types();
    if (!*debug_types_)
        return debug_types_->error().during(path_);
    return (*debug_types_)->get();
}

std::span<const AddressRange> ParsedElf::frame_functions()
{
    if (!frames_)
        frames_ = read_frame_functions(*file_);
    return *frames_;
}

CodePlaces ParsedElf::code_places()
{
    return read_code_places(*this);
}

StaticProbes ParsedElf::static_probes()
{
    return read_static_probes(*this);
}

bool ParsedElf::read(std::uint64_t at, std::span<std::byte> into) const
{
    for (const ElfSegment& s : facts_.segments) {
        const std::uint64_t offset = at - s.addr;
        if (offset >= s.file_bytes || into.size() > s.file_bytes - offset)
            continue;
        auto n = file_->read(s.offset + offset, into);
        return n && *n == into.size();
    }
    return false;
}

std::vector<const ElfSections*> ParsedElf::files()
{
    functions();
    std::vector<const ElfSections*> files{file_.get()};
    if (debug_.elf)
        files.push_back(debug_.elf.get());
    if (debugdata_)
        files.push_back(debugdata_.get());
    return files;
}

} // namespace dt
