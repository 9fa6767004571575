// SPDX-License-Identifier: MIT
// ElfImage combines the classes of this directory.
//
// Text is read in windows of 1 MiB that overlap by 64 KiB, so that most functions are
// in one window. A larger range gets its own buffer.
#include "libdtrace/symbols/elf/elf_image.hpp"

#include "base/regular_file.hpp"
#include "libdtrace/symbols/debug/debug_file.hpp"
#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "libdtrace/symbols/elf/data_symbols.hpp"
#include "libdtrace/symbols/elf/elf_kind.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"
#include "libdtrace/symbols/elf/function_symbols.hpp"
#include "libdtrace/symbols/elf/split_off.hpp"
#include "libdtrace/symbols/elf/unxz.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr std::uint64_t window_bytes = 1 << 20;
constexpr std::uint64_t overlap_bytes = 64 << 10;
constexpr std::uint64_t largest_range_bytes = 64 << 20;

} // namespace

struct ElfImage::State {
    std::unique_ptr<ElfSections> file;
    std::string path, root;
    std::string interpreter;
    ElfKind kind = ElfKind::shared_object;

    // Set by functions(). Names in the member `functions` are views into these members,
    // `file` and `frame_names`.
    std::unique_ptr<ElfSections> debugdata;
    DebugFile debug;
    std::unique_ptr<SymbolCollector> collector;
    std::optional<FunctionTable> functions;

    std::optional<Result<std::unique_ptr<DebugTypes>>> debug_types;

    std::optional<std::vector<AddressRange>> frames;
    std::mutex reading; // protects the members windows and large
    // The text that was read, by link-time address. The key of a large range also
    // contains its size.
    std::map<std::uint64_t, std::vector<std::byte>> windows;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::byte>> large;

    void load_functions();
    void add_frame_functions(std::vector<FunctionSymbol>& symbols);
    std::deque<std::string> frame_names;
    void open_debugdata();
    Result<std::unique_ptr<DebugTypes>> open_debug_types();
    Result<std::vector<std::byte>> load(const ElfSegment& segment, std::uint64_t at,
                                        std::uint64_t n_bytes);
};

Result<std::shared_ptr<ElfImage>> ElfImage::open(const std::string& path)
{
    Fd fd = open_regular(path);
    if (fd)
        return open(std::move(fd), path);
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0)
        return errno_error("open " + path);
    if (!S_ISREG(is.st_mode))
        return Error{Code::invalid, "open " + path + ": not a regular file"};
    if (::access(path.c_str(), R_OK) != 0)
        return errno_error("open " + path);
    return Error{Code::limit, "open " + path + ": the file is too large"};
}

Result<std::shared_ptr<ElfImage>> ElfImage::open(Fd fd, std::string path,
                                                 std::string root)
{
    auto file = ElfSections::open(std::move(fd));
    if (!file)
        return file.error().during(path);
    auto state = std::make_unique<State>();
    state->file = std::move(*file);
    state->path = std::move(path);
    state->root = std::move(root);
    return std::shared_ptr<ElfImage>(new ElfImage(std::move(state)));
}

Result<std::shared_ptr<ElfImage>> ElfImage::from_bytes(std::vector<std::byte> bytes,
                                                       std::string name)
{
    auto file = ElfSections::open(std::move(bytes));
    if (!file)
        return file.error().during(name);
    auto state = std::make_unique<State>();
    state->file = std::move(*file);
    state->path = std::move(name);
    return std::shared_ptr<ElfImage>(new ElfImage(std::move(state)));
}

ElfImage::ElfImage(std::unique_ptr<State> state) : state_(std::move(state))
{
    state_->interpreter = interpreter_of(*state_->file);
    state_->kind = kind_of(*state_->file, state_->interpreter);
}

ElfImage::~ElfImage() = default;

const std::string& ElfImage::path() const
{
    return state_->path;
}

std::uint16_t ElfImage::machine() const
{
    return state_->file->header().e_machine;
}

ElfKind ElfImage::kind() const
{
    return state_->kind;
}

std::uint64_t ElfImage::entry() const
{
    return state_->file->header().e_entry;
}

const std::string& ElfImage::interpreter() const
{
    return state_->interpreter;
}

std::span<const ElfSegment> ElfImage::segments() const
{
    return state_->file->segments();
}

bool ElfImage::has_symtab() const
{
    const ElfSection* section = state_->file->find(std::uint32_t{SHT_SYMTAB});
    return section && section->header.sh_size > sizeof(Elf64_Sym);
}

std::vector<std::string> ElfImage::take_cuts()
{
    State& state = *state_;
    std::vector<std::string> cuts;
    auto add = [&](const std::string& where, std::vector<std::string> more) {
        for (std::string& cut : more)
            cuts.push_back(where + ": " + std::move(cut));
    };
    if (state.collector) // the messages about symbol tables come first
        for (std::string& cut : std::exchange(state.collector->cuts(), {}))
            cuts.push_back(std::move(cut));
    add(state.path, state.file->take_cuts());
    if (state.debug.elf)
        add(state.debug.path, state.debug.elf->take_cuts());
    if (state.debugdata)
        add(state.path + " .gnu_debugdata", state.debugdata->take_cuts());
    if (state.debug_types && *state.debug_types)
        add(state.path, (**state.debug_types)->take_cuts());
    return cuts;
}

std::optional<AddressRange> ElfImage::section(std::string_view name)
{
    const ElfSection* section = state_->file->find(name);
    if (!section || section->header.sh_addr == 0)
        return std::nullopt;
    return AddressRange{section->header.sh_addr, section->header.sh_size};
}

const ElfSegment* ElfImage::text_segment(std::uint64_t at) const
{
    for (const ElfSegment& segment : segments())
        if (segment.executable && segment.contains(at))
            return &segment;
    return nullptr;
}

void ElfImage::State::open_debugdata()
{
    const ElfSection* section = file->find(".gnu_debugdata");
    if (!section)
        return;
    auto packed = file->data(*section);
    if (!packed)
        return;
    auto bytes = unxz(*packed, elf_limits::unpacked_debugdata_bytes);
    auto elf = bytes ? ElfSections::open(std::move(*bytes))
                     : Result<std::unique_ptr<ElfSections>>(bytes.error());
    if (elf)
        debugdata = std::move(*elf);
}

// If the image has a .symtab, opens no debug file, because a debug file would contain
// the same symbols.
void ElfImage::State::load_functions()
{
    collector = std::make_unique<SymbolCollector>(file->segments());
    collector->add(*file, path);
    const ElfSection* symtab = file->find(std::uint32_t{SHT_SYMTAB});
    if (!symtab || symtab->header.sh_size <= sizeof(Elf64_Sym)) {
        debug = find_debug_file(*file, path, root);
        if (debug.elf)
            collector->add(*debug.elf, debug.path);
        else
            open_debugdata();
        if (debugdata)
            collector->add(*debugdata, path + " .gnu_debugdata");
    }
    std::vector<FunctionSymbol> symbols = collector->take();
    bool stripped = !(symtab && symtab->header.sh_size > sizeof(Elf64_Sym)) &&
                    !debug.elf && !debugdata;
    if (stripped)
        add_frame_functions(symbols);
    functions.emplace(std::move(symbols));
}

// Adds a function for each range of .eh_frame that no symbol covers. Skips .init, .fini
// and the procedure linkage tables.
void ElfImage::State::add_frame_functions(std::vector<FunctionSymbol>& symbols)
{
    std::vector<Frame> found = read_frames(*file);
    find_split_off(*file, found);
    std::vector<AddressRange> covered;
    for (const FunctionSymbol& symbol : symbols)
        covered.push_back({symbol.addr, symbol.n_bytes});
    for (const char* stubs : {".plt", ".plt.got", ".plt.sec", ".init", ".fini"})
        if (const ElfSection* section = file->find(std::string_view(stubs)))
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
            std::any_of(file->segments().begin(), file->segments().end(),
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
        symbol.name.text = frame_names.emplace_back(name);
        symbol.name.from_frame = true;
        symbol.name.split_off = split_off;
        symbols.push_back(symbol);
    }
}

const FunctionTable& ElfImage::functions()
{
    if (!state_->functions)
        state_->load_functions();
    return *state_->functions;
}

// Opens the debug data, which may be in a separate file.
Result<std::unique_ptr<DebugTypes>> ElfImage::State::open_debug_types()
{
    auto has_types = [](const ElfSections& elf) {
        const ElfSection* section = elf.find(".debug_info");
        return section && section->header.sh_type != SHT_NOBITS && elf.fd() >= 0;
    };
    if (has_types(*file))
        return DwarfTypes::open(file->fd());
    DebugFile found = find_debug_file(*file, path, root);
    if (found.elf && has_types(*found.elf))
        return DwarfTypes::open(found.elf->fd());
    return Error{Code::not_found, "no debug data"};
}

std::optional<std::uint64_t> ElfImage::find_variable(std::string_view name)
{
    for (const ElfSections* file : files())
        if (auto addr = find_data_symbol(*file, name))
            return addr;
    return std::nullopt;
}

Result<DebugTypes*> ElfImage::debug_types()
{
    if (!state_->debug_types)
        state_->debug_types = state_->open_debug_types();
    if (!*state_->debug_types)
        return state_->debug_types->error().during(path());
    return (*state_->debug_types)->get();
}

std::span<const AddressRange> ElfImage::frame_functions()
{
    if (!state_->frames)
        state_->frames = read_frame_functions(*state_->file);
    return *state_->frames;
}

std::vector<const ElfSections*> ElfImage::files()
{
    functions();
    std::vector<const ElfSections*> files{state_->file.get()};
    if (state_->debug.elf)
        files.push_back(state_->debug.elf.get());
    if (state_->debugdata)
        files.push_back(state_->debugdata.get());
    return files;
}

bool ElfImage::read(std::uint64_t at, std::span<std::byte> into) const
{
    for (const ElfSegment& s : segments()) {
        std::uint64_t offset = at - s.addr;
        if (offset >= s.file_bytes || into.size() > s.file_bytes - offset)
            continue;
        auto n = state_->file->read(s.offset + offset, into);
        return n && *n == into.size();
    }
    return false;
}

Result<std::vector<std::byte>> ElfImage::State::load(const ElfSegment& segment,
                                                     std::uint64_t at,
                                                     std::uint64_t n_bytes)
{
    n_bytes = std::min(n_bytes, segment.addr + segment.mem_bytes - at);
    std::uint64_t in_segment = at - segment.addr;
    std::vector<std::byte> bytes;
    if (in_segment < segment.file_bytes) {
        std::uint64_t wanted = std::min(n_bytes, segment.file_bytes - in_segment);
        auto read = file->read(segment.offset + in_segment, wanted);
        if (!read)
            return read.error().during(path);
        if (read->size() != wanted)
            return Error{Code::corrupt, path + ": the file ends inside a segment"};
        bytes = std::move(*read);
    }
    bytes.resize(n_bytes);
    return bytes;
}

Result<std::span<const std::byte>> ElfImage::bytes(std::uint64_t at,
                                                   std::uint64_t n_bytes)
{
    auto inside = [&](const ElfSegment& s) {
        return s.contains(at) && n_bytes <= s.addr + s.mem_bytes - at;
    };
    auto segment = std::find_if(segments().begin(), segments().end(), inside);
    if (segment == segments().end())
        return Error{Code::invalid, path() + ": the range is not inside one segment"};
    if (n_bytes > largest_range_bytes)
        return Error{Code::limit, path() + ": the range is too large"};

    std::lock_guard lock(state_->reading);
    std::uint64_t base =
        segment->addr + (at - segment->addr) / window_bytes * window_bytes;
    if (at - base + n_bytes <= window_bytes + overlap_bytes) {
        auto window = state_->windows.find(base);
        if (window == state_->windows.end()) {
            auto loaded = state_->load(*segment, base, window_bytes + overlap_bytes);
            if (!loaded)
                return loaded.error();
            window = state_->windows.emplace(base, std::move(*loaded)).first;
        }
        // If segments overlap, their windows may begin at the same address. The stored
        // window may therefore end too early. In this case, the range gets its own
        // buffer.
        if (window->second.size() >= at - base + n_bytes)
            return std::span<const std::byte>(window->second)
                .subspan(at - base, n_bytes);
    }
    auto range = state_->large.find({at, n_bytes});
    if (range == state_->large.end()) {
        auto loaded = state_->load(*segment, at, n_bytes);
        if (!loaded)
            return loaded.error();
        range = state_->large.emplace(std::pair(at, n_bytes), std::move(*loaded)).first;
    }
    return std::span<const std::byte>(range->second);
}

} // namespace dt
