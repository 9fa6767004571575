// SPDX-License-Identifier: MIT
// Opens arbitrary bytes as an ELF file with DWARF, and calls all functions of
// DwarfTypes.
//
//   dwarf_fuzz -max_total_time=60 -rss_limit_mb=2048 -timeout=20 CORPUS
//
// dwarf_seeds writes a corpus of small shared objects that contain DWARF. Their
// functions start at multiples of 64, from 0x1000 on.
#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <deque>
#include <set>

using dt::DebugRef;
using dt::DebugType;
using dt::DebugTypes;
using dt::fuzz::require;

namespace {

// These values limit the time for one input. Few mutations of the seeds have more names
// or types.
constexpr std::size_t max_names = 32, max_types = 64;

// Reads a type and the types that it refers to.
class Walk {
public:
    explicit Walk(DebugTypes& types) : types_(types) {}
    void from(DebugRef first)
    {
        add(first);
        for (; !next_.empty(); next_.pop_front())
            visit(types_.type(next_.front()));
    }

private:
    void add(DebugRef ref)
    {
        if (visited_.size() < max_types && visited_.insert(ref).second)
            next_.push_back(ref);
    }
    void visit(const DebugType& type)
    {
        require(type.kind != DebugType::Kind::Array || !type.counts.empty());
        add(type.base);
        for (const dt::DebugMember& member : type.members)
            add(member.type);
        for (DebugRef parameter : type.parameters)
            add(parameter);
        if (!type.enumerators.empty())
            types_.find_enumerator(type.enumerators.front().first);
    }

    DebugTypes& types_;
    std::set<DebugRef> visited_;
    std::deque<DebugRef> next_;
};

bool fits(DebugTypes::Kind kind, DebugType::Kind found)
{
    switch (kind) {
    case DebugTypes::Kind::Struct:
        return found == DebugType::Kind::Struct;
    case DebugTypes::Kind::Union:
        return found == DebugType::Kind::Union;
    case DebugTypes::Kind::Enum:
        return found == DebugType::Kind::Enum;
    default:
        return true;
    }
}

void use_names(DebugTypes& types, Walk& walk)
{
    for (auto kind : {DebugTypes::Kind::Ordinary, DebugTypes::Kind::Struct,
                      DebugTypes::Kind::Union, DebugTypes::Kind::Enum}) {
        const std::vector<std::string_view> names = types.names(kind);
        for (std::size_t i = 0; i < std::min(names.size(), max_names); i++) {
            const auto found = types.find(kind, names[i]);
            require(found.has_value());
            require(fits(kind, types.type(*found).kind));
            walk.from(*found);
        }
    }
    for (const char* name : {"counter", "all", "call", "own"})
        if (auto variable = types.find_variable(name))
            walk.from(variable->type);
    for (const char* name : {"red", "green"})
        types.find_enumerator(name);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    auto opened = dt::DwarfTypes::open(dt::fuzz::memory_file(data, size).get());
    if (!opened) {
        require(!opened.error().text.empty()); // an error must have a text
        return 0;
    }
    DebugTypes& types = **opened;
    Walk walk(types);
    use_names(types, walk);
    for (std::uint64_t addr = 0x1000; addr < 0x1200; addr += 64)
        if (auto function = types.function_at(addr)) {
            walk.from(function->result);
            for (const dt::DebugParameter& parameter : function->parameters)
                walk.from(parameter.type);
        }
    types.take_cuts();
    require(types.take_cuts().empty()); // take_cuts() returns each message only once
    return 0;
}
