// SPDX-License-Identifier: MIT
// Internal to symbols/: the state of a DwarfTypes.
#pragma once

#include "base/fd.hpp"
#include "libdtrace/symbols/debug/class_passing.hpp"
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/debug/dwarf_entry.hpp"
#include "libdtrace/symbols/debug/dwarf_types.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dt {

constexpr int max_namespaces = 64; // maximum nesting of namespaces and types
// maximum number of members, enumerators or parameters
constexpr std::size_t max_debug_members = 1 << 16;

// Limits on how many entries of one file are visited and kept. In forged data, many
// paths can lead to one entry. In genuine data, an entry takes more than four bytes and
// is visited at most twice.
constexpr std::size_t least_debug_walks = std::size_t{1} << 24;
constexpr std::size_t bytes_per_debug_walk = 2;
constexpr std::size_t max_debug_names = std::size_t{1} << 24;
constexpr std::size_t max_debug_ranges = std::size_t{1} << 22;

struct DebugIndexKey {
    // Values of `kind` in addition to those of DebugTypes::Kind.
    static constexpr int variable = 8, enumerator = 9;
    int kind = 0;
    std::string_view name;
    bool operator==(const DebugIndexKey&) const = default;
};

struct DebugIndexHash {
    std::size_t operator()(const DebugIndexKey& key) const
    {
        return std::hash<std::string_view>()(key.name) * 31 +
               static_cast<std::size_t>(key.kind);
    }
};

struct DebugIndexed {
    Dwarf_Die die{};
    int depth = 0; // nesting of namespaces
};

struct DwarfTypes::State {
    struct End {
        void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
        void operator()(Elf* elf) const { elf_end(elf); }
    };
    Fd file;
    std::list<std::vector<char>> zero_ended;
    std::unique_ptr<Elf, End> elf;
    // The file of .gnu_debugaltlink. It outlives `dwarf`.
    Fd alternate_file;
    std::unique_ptr<Dwarf, End> alternate;
    std::unique_ptr<Dwarf, End> dwarf;
    std::string path; // path of `file`

    std::vector<Dwarf_Die> entries; // indexed by DebugRef - 1
    std::unordered_map<const void*, DebugRef> refs;
    ClassPassing class_passing;

    bool indexed = false;
    std::unordered_map<DebugIndexKey, DebugIndexed, DebugIndexHash> index;

    // The address ranges of units, and the functions in the units that were searched.
    struct Range {
        std::uint64_t begin = 0, end = 0;
        Dwarf_Die unit{};
    };
    bool ranged = false;
    std::vector<Range> ranges;
    std::unordered_map<const void*, std::unordered_map<std::uint64_t, Dwarf_Die>>
        functions;

    // Data that were omitted because of the limits. take_cuts() reports them.
    std::size_t names_left_out = 0;
    bool ranges_left_out = false, list_left_out = false, walks_end_reported = false;
    // Returns whether a list of n elements may grow.
    bool may_add_to(std::size_t n)
    {
        list_left_out |= n >= max_debug_members;
        return n < max_debug_members;
    }

    // How many more entries may be visited. In the index, a long name counts as one
    // entry for every 64 bytes.
    std::size_t walks_left = least_debug_walks;
    // Counts n visits. Returns false if the limit is reached.
    bool may_walk(std::size_t n)
    {
        walks_left -= std::min(walks_left, n);
        return walks_left != 0;
    }

    DebugRef ref(const Dwarf_Die& die);
    DebugRef type_of(Dwarf_Die* die);
    // Visits all units. A split-off unit (.dwo) replaces its skeleton if the .dwo file
    // may be opened (debug_folders.hpp). Split-off type units are not found.
    template <class F> void for_units(Dwarf* from, F visit) const;
    void build_index();
    void index_entries(Dwarf_Die* parent, bool cxx, int depth);
    // Maps the name of `die` to `die`, or to `what` if it is not null.
    void add(int kind, Dwarf_Die* die, int depth, Dwarf_Die* what = nullptr);
    void build_ranges();
    void collect_functions(Dwarf_Die* parent, int depth,
                           std::unordered_map<std::uint64_t, Dwarf_Die>& into);

    void fill_base(Dwarf_Die* die, DebugType& into);
    void fill_members(Dwarf_Die* die, DebugType& into);
    static void fill_vector(Dwarf_Die* die, DebugType& into);
    void fill_enumerators(Dwarf_Die* die, DebugType& into);
    void fill_function(Dwarf_Die* die, DebugType& into);
    bool member(Dwarf_Die* die, DebugType& into);
};

template <class F> void DwarfTypes::State::for_units(Dwarf* from, F visit) const
{
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die, split;
    std::uint8_t type = 0;
    // dwarf_cu_info() opens the file of a split-off unit, so the file is checked first.
    while (dwarf_get_units(from, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
        const bool elsewhere = type == DW_UT_skeleton &&
                               may_follow_split_unit(path, &die) &&
                               dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split,
                                             nullptr, nullptr, nullptr) == 0 &&
                               dwarf_tag(&split) != DW_TAG_invalid;
        visit(elsewhere ? &split : &die);
    }
}

} // namespace dt
