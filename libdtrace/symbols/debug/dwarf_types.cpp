// SPDX-License-Identifier: MIT
// Opens DWARF through libdw, and finds functions by their address (DWARF 5, 3.3).
#include "libdtrace/symbols/debug/dwarf_types.hpp"

#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/debug/debug_types_state.hpp"
#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/elf/zero_ended.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dt {

// The maximum number of units in a file. Large programs have about a tenth of this
// number.
constexpr std::size_t max_units = std::size_t{1} << 19;

// Returns whether the language may pass arguments differently from C.
static bool has_own_convention(int language)
{
    constexpr int swift = 0x1e;
    return language == DW_LANG_Go || language == swift || language == DW_LANG_OCaml ||
           language == DW_LANG_Haskell || language == DW_LANG_D;
}

// Returns the size in the header of a section in the older compressed form: "ZLIB" and
// 8 bytes, big-endian. Returns 0 for other sections.
static std::uint64_t gnu_packed_bytes(Elf_Scn* section)
{
    constexpr std::size_t header_bytes = 12;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size < header_bytes ||
        std::memcmp(data->d_buf, "ZLIB", 4) != 0)
        return 0;
    std::uint64_t size = 0;
    for (std::size_t i = 4; i < header_bytes; i++)
        size = size << 8 | static_cast<const unsigned char*>(data->d_buf)[i];
    return size;
}

// Returns the maximum size of debug data: an eighth of the machine's memory, but at
// most 4 GiB. Memory may contain up to three copies of a section at a time.
static std::uint64_t most_debug_bytes()
{
    constexpr std::uint64_t most = std::uint64_t{4} << 30;
    const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return most;
    return std::min(most, static_cast<std::uint64_t>(pages) *
                              static_cast<std::uint64_t>(page) / 8);
}

// Checks the sizes in the headers of debug sections. libdw and zlib allocate that much
// memory, even if the file is a thousand times smaller. Returns the sum of the sizes.
static Result<std::uint64_t> check_debug_bytes(Elf* elf)
{
    const std::uint64_t largest = most_debug_bytes();
    std::uint64_t n_bytes = 0;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        GElf_Chdr packed;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS ||
            (header.sh_flags & SHF_ALLOC) != 0)
            continue;
        const bool is_packed = (header.sh_flags & SHF_COMPRESSED) != 0 &&
                               gelf_getchdr(section, &packed) != nullptr;
        std::uint64_t own = is_packed ? packed.ch_size : header.sh_size;
        if (header.sh_size <= largest)
            own = std::max(own, gnu_packed_bytes(section));
        if (own > largest || (n_bytes += own) > largest)
            return Error{
                Code::limit,
                "the debug data is larger than the limit of " +
                    std::to_string(largest >> 20) +
                    " MiB (4 GiB or an eighth of the memory, whichever is smaller)"};
    }
    return n_bytes;
}

// Returns the number of units in a section, each of which starts with its length. Stops
// after max_units.
static std::size_t count_units(const Elf_Data& data)
{
    constexpr std::uint32_t is_64_bit = 0xffffffff;
    const char* bytes = static_cast<const char*>(data.d_buf);
    std::size_t n_units = 0;
    std::uint64_t left = data.d_size;
    while (left > sizeof(std::uint32_t) && n_units <= max_units) {
        std::uint32_t short_length = 0;
        std::uint64_t length = 0, header = sizeof short_length;
        std::memcpy(&short_length, bytes, sizeof short_length);
        length = short_length;
        if (short_length == is_64_bit) {
            header += sizeof length;
            if (left < header)
                break;
            std::memcpy(&length, bytes + sizeof short_length, sizeof length);
        }
        n_units++;
        if (length > left - header)
            break;
        bytes += header + length;
        left -= header + length;
    }
    return n_units;
}

// Checks the number of units, because libdw allocates a kilobyte for each of them.
static Result<Ok> check_debug_units(Elf* elf)
{
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return Ok{};
    std::size_t n_units = 0;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS)
            continue;
        const char* text = elf_strptr(elf, names, header.sh_name);
        const std::string_view name = text != nullptr ? text : "";
        if (!name.starts_with(".debug_info") && !name.starts_with(".debug_types") &&
            !name.starts_with(".zdebug_info") && !name.starts_with(".zdebug_types"))
            continue;
        Elf_Data* data = elf_rawdata(section, nullptr);
        if (data != nullptr && data->d_buf != nullptr)
            n_units += count_units(*data);
        if (n_units > max_units)
            return Error{Code::limit, "the debug data has more than " +
                                          std::to_string(max_units) + " DWARF units"};
    }
    return Ok{};
}

Result<std::unique_ptr<DebugTypes>> DwarfTypes::open(int fd)
{
    auto state = std::make_unique<State>();
    state->file = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!state->file)
        return errno_error("open debug data");
    elf_version(EV_CURRENT);
    state->elf.reset(elf_begin(state->file.get(), ELF_C_READ, nullptr));
    state->path = path_of(state->file);
    auto n_bytes = check_debug_bytes(state->elf.get());
    if (!n_bytes)
        return n_bytes.error();
    state->walks_left += *n_bytes / bytes_per_debug_walk;
    state->zero_ended = end_debug_sections_with_zero(state->elf.get());
    if (auto few = check_debug_units(state->elf.get()); !few)
        return few.error();
    state->dwarf.reset(dwarf_begin_elf(state->elf.get(), DWARF_C_READ, nullptr));
    if (!state->dwarf) {
        int number = dwarf_errno();
        const char* why = dwarf_errmsg(number);
        return Error{
            Code::corrupt,
            std::string("debug data: ") + (why != nullptr ? why : "unreadable"), 0};
    }
    // libdw would open the alternate file in any directory. So find_alternate_file()
    // finds the file, and searches only trusted directories (debug_folders.hpp).
    AlternateFile alternate = find_alternate_file(state->path, state->dwarf.get());
    if (alternate.wanted) {
        state->alternate_file = std::move(alternate.file);
        if (state->alternate_file)
            state->alternate.reset(
                dwarf_begin(state->alternate_file.get(), DWARF_C_READ));
        if (!state->alternate)
            return Error{Code::unsupported,
                         "part of the debug data is in " +
                             printable_name(alternate.name) +
                             ", which was not found in /usr/lib/debug or in a "
                             "directory given with -x debugdir",
                         0};
        dwarf_setalt(state->dwarf.get(), state->alternate.get());
        if (struct stat is{}; ::fstat(state->alternate_file.get(), &is) == 0)
            state->walks_left +=
                static_cast<std::size_t>(is.st_size) / bytes_per_debug_walk;
    }
    return std::unique_ptr<DebugTypes>(new DwarfTypes(std::move(state)));
}

std::vector<std::string> DwarfTypes::take_cuts()
{
    State& state = *state_;
    std::vector<std::string> cuts;
    auto more_than = [](std::size_t n) {
        return "more than " + std::to_string(n) + " ";
    };
    if (const std::size_t n = std::exchange(state.names_left_out, 0); n != 0)
        cuts.push_back("the debug data has " + more_than(max_debug_names) +
                       "names of types and variables: " + std::to_string(n) +
                       " of them are omitted");
    if (std::exchange(state.ranges_left_out, false))
        cuts.push_back(
            "the debug data has " + more_than(max_debug_ranges) +
            "address ranges: the argument types of functions in the remaining "
            "ranges are unknown");
    if (std::exchange(state.list_left_out, false))
        cuts.push_back("the debug data has a type or function with " +
                       more_than(max_debug_members) +
                       "members or parameters: the rest are omitted");
    if (state.walks_left == 0 && !std::exchange(state.walks_end_reported, true))
        cuts.push_back("the debug data refers to more entries than its size allows, so "
                       "it is corrupt: the remaining names are omitted");
    return cuts;
}

DwarfTypes::DwarfTypes(std::unique_ptr<State> state) : state_(std::move(state)) {}
DwarfTypes::~DwarfTypes() = default;

DebugRef DwarfTypes::State::ref(const Dwarf_Die& die)
{
    auto [at, is_new] = refs.try_emplace(die.addr, 0);
    if (is_new) {
        entries.push_back(die);
        at->second = static_cast<DebugRef>(entries.size());
    }
    return at->second;
}

DebugRef DwarfTypes::State::type_of(Dwarf_Die* die)
{
    Dwarf_Die type;
    return entry_at(die, DW_AT_type, type) ? ref(type) : 0;
}

void DwarfTypes::State::build_ranges()
{
    if (ranged)
        return;
    ranged = true;
    for_units(dwarf.get(), [this](Dwarf_Die* unit) {
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (std::ptrdiff_t at = 0;
             !ranges_left_out &&
             (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;) {
            ranges_left_out = ranges.size() == max_debug_ranges;
            if (!ranges_left_out)
                ranges.push_back({begin, end, *unit});
        }
    });
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

void DwarfTypes::State::collect_functions(
    Dwarf_Die* parent, int depth, std::unordered_map<std::uint64_t, Dwarf_Die>& into)
{
    for_children(parent, [&](Dwarf_Die* die) {
        Dwarf_Addr begin = 0;
        if (!may_walk(1))
            return false;
        switch (dwarf_tag(die)) {
        case DW_TAG_subprogram:
            if (dwarf_entrypc(die, &begin) == 0)
                into.try_emplace(begin, *die);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            if (depth < max_namespaces)
                collect_functions(die, depth + 1, into);
            break;
        default:
            break;
        }
        return true;
    });
}

std::optional<DebugFunction> DwarfTypes::function_at(std::uint64_t addr)
{
    State& state = *state_;
    state.build_ranges();
    auto after = std::upper_bound(
        state.ranges.begin(), state.ranges.end(), addr,
        [](std::uint64_t at, const State::Range& range) { return at < range.begin; });
    // Genuine ranges do not overlap, so only one is checked.
    if (after == state.ranges.begin() || addr >= std::prev(after)->end)
        return std::nullopt;
    Dwarf_Die unit = std::prev(after)->unit;
    auto [functions, is_new] = state.functions.try_emplace(unit.addr);
    if (is_new)
        state.collect_functions(&unit, 0, functions->second);
    auto found = functions->second.find(addr);
    if (found == functions->second.end())
        return std::nullopt;

    Dwarf_Die* die = &found->second;
    DebugFunction function;
    function.result = state.type_of(die);
    function.own_convention =
        number(die, DW_AT_calling_convention).value_or(DW_CC_normal) != DW_CC_normal ||
        has_own_convention(language_of(die));
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_formal_parameter)
            function.parameters.push_back(
                {std::string(name_of(child)), state.type_of(child)});
        if (dwarf_tag(child) == DW_TAG_unspecified_parameters)
            function.varargs = true;
        return state.may_add_to(function.parameters.size());
    });
    return function;
}

} // namespace dt
