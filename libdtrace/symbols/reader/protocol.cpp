// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/protocol.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// Reads an enumerator. Marks the message as malformed if the value is greater than
// `last`.
template <class T> T read_enum(MessageReader& in, T last)
{
    const auto value = in.get<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) {
        in.fail();
        return T{};
    }
    return static_cast<T>(value);
}

template <class T> void write_enum(MessageWriter& out, T value)
{
    out.put(static_cast<std::uint8_t>(value));
}

bool read_bool(MessageReader& in)
{
    return in.get<std::uint8_t>() != 0;
}

bool ascend(std::span<const AddressRange> ranges)
{
    return std::is_sorted(
        ranges.begin(), ranges.end(),
        [](const AddressRange& a, const AddressRange& b) { return a.addr < b.addr; });
}

bool ascend(std::span<const std::uint64_t> addresses)
{
    return std::is_sorted(addresses.begin(), addresses.end());
}

// Reads the number of elements of a list. Each element needs at least one byte, so a
// forged number cannot make the caller allocate more than the message has.
std::size_t read_count(MessageReader& in)
{
    const auto n = in.get<std::uint64_t>();
    if (n > in.left()) {
        in.fail();
        return 0;
    }
    return static_cast<std::size_t>(n);
}

} // namespace

void write_error(MessageWriter& out, const Error& error)
{
    write_enum(out, error.code);
    out.put<std::int32_t>(error.sys).text(error.text);
}

Error read_error(MessageReader& in)
{
    Error error;
    error.code = read_enum(in, Code::corrupt);
    error.sys = in.get<std::int32_t>();
    error.text = in.text();
    if (!in.ok())
        error = {Code::corrupt, "a reply is malformed"};
    return error;
}

void write_facts(MessageWriter& out, const ElfFacts& facts)
{
    out.put(facts.machine);
    write_enum(out, facts.kind);
    out.put<std::uint8_t>(facts.has_symtab).put(facts.entry).text(facts.interpreter);
    out.put<std::uint64_t>(facts.segments.size());
    for (const ElfSegment& s : facts.segments)
        out.put(s.addr)
            .put(s.mem_bytes)
            .put(s.offset)
            .put(s.file_bytes)
            .put<std::uint8_t>(s.readable)
            .put<std::uint8_t>(s.writable)
            .put<std::uint8_t>(s.executable);
    out.put<std::uint64_t>(facts.sections.size());
    for (const auto& [name, range] : facts.sections)
        out.put(range).text(name);
}

// Makes the same checks as ElfSections::read_program_headers().
bool read_facts(MessageReader& in, ElfFacts& facts)
{
    facts.machine = in.get<std::uint16_t>();
    facts.kind = read_enum(in, ElfKind::shared_object);
    facts.has_symtab = read_bool(in);
    facts.entry = in.get<std::uint64_t>();
    facts.interpreter = in.text();
    const std::size_t n_segments = read_count(in);
    if (n_segments > elf_limits::segments)
        return in.fail();
    for (std::size_t i = 0; i < n_segments && in.ok(); i++) {
        ElfSegment s;
        s.addr = in.get<std::uint64_t>();
        s.mem_bytes = in.get<std::uint64_t>();
        s.offset = in.get<std::uint64_t>();
        s.file_bytes = in.get<std::uint64_t>();
        s.readable = read_bool(in);
        s.writable = read_bool(in);
        s.executable = read_bool(in);
        if (s.mem_bytes == 0 || s.addr + s.mem_bytes < s.addr ||
            s.offset + s.file_bytes < s.offset || s.file_bytes > s.mem_bytes ||
            (!facts.segments.empty() && s.addr < facts.segments.back().addr))
            return in.fail();
        facts.segments.push_back(s);
    }
    const std::size_t n_sections = read_count(in);
    if (n_sections > elf_limits::loaded_sections)
        return in.fail();
    for (std::size_t i = 0; i < n_sections && in.ok(); i++) {
        const auto range = in.get<AddressRange>();
        facts.sections.emplace_back(in.text(), range);
    }
    return in.ok();
}

// A name in a message. The bytes of all names are at the end of the message, one name
// after the other.
struct NameInMessage {
    std::uint32_t n_bytes = 0;
    Binding binding = Binding::local;
    std::uint8_t flags = 0;
    std::uint16_t unused = 0;
};

enum NameFlag : std::uint8_t {
    name_indirect = 1,
    name_old_version = 2,
    name_from_frame = 4,
    name_split_off = 8,
};

void write_functions(MessageWriter& out, const FunctionTable& table)
{
    const std::span<const Function> functions = table.all();
    std::vector<NameInMessage> names;
    std::size_t n_bytes = 0;
    for (const Function& function : functions)
        for (const FunctionName& name : table.names(function)) {
            const unsigned flags = (name.indirect ? name_indirect : 0) |
                                   (name.old_version ? name_old_version : 0) |
                                   (name.from_frame ? name_from_frame : 0) |
                                   (name.split_off ? name_split_off : 0);
            names.push_back({static_cast<std::uint32_t>(name.text.size()), name.binding,
                             static_cast<std::uint8_t>(flags), 0});
            n_bytes += name.text.size();
        }
    out.reserve(functions.size_bytes() + names.size() * sizeof(NameInMessage) +
                n_bytes + 64);
    out.put<std::uint64_t>(functions.size());
    out.raw(functions.data(), functions.size_bytes()).list(names);
    for (const Function& function : functions)
        for (const FunctionName& name : table.names(function))
            out.raw(name.text.data(), name.text.size());
}

bool read_functions(MessageReader& in, FunctionTable& table)
{
    auto functions = in.list<Function>();
    auto in_message = in.list<NameInMessage>();
    std::vector<FunctionName> names;
    names.reserve(in_message.size());
    for (const NameInMessage& from : in_message) {
        auto bytes = in.bytes(from.n_bytes);
        FunctionName name;
        name.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        name.binding = std::min(from.binding, Binding::local);
        name.indirect = (from.flags & name_indirect) != 0;
        name.old_version = (from.flags & name_old_version) != 0;
        name.from_frame = (from.flags & name_from_frame) != 0;
        name.split_off = (from.flags & name_split_off) != 0;
        if (name.text.find('\0') != std::string_view::npos)
            return in.fail();
        names.push_back(name);
    }
    auto read = in.complete()
                    ? FunctionTable::from_parts(std::move(functions), std::move(names))
                    : std::nullopt;
    if (!read)
        return in.fail();
    table = std::move(*read);
    return true;
}

void write_ranges(MessageWriter& out, std::span<const AddressRange> ranges)
{
    out.put<std::uint64_t>(ranges.size()).raw(ranges.data(), ranges.size_bytes());
}

bool read_ranges(MessageReader& in, std::vector<AddressRange>& ranges)
{
    ranges = in.list<AddressRange>();
    return in.ok() && (ascend(ranges) || in.fail());
}

void write_places(MessageWriter& out, const CodePlaces& places)
{
    out.list(places.text).list(places.data).list(places.functions).list(places.labels);
    out.list(places.symbols).list(places.sized).list(places.relocated);
    out.list(places.restartable).put<std::uint8_t>(places.absolute);
}

bool read_places(MessageReader& in, CodePlaces& places)
{
    if (!read_ranges(in, places.text) || !read_ranges(in, places.data))
        return false;
    places.functions = in.list<std::uint64_t>();
    places.labels = in.list<std::uint64_t>();
    places.symbols = in.list<std::uint64_t>();
    if (!read_ranges(in, places.sized))
        return false;
    places.relocated = in.list<std::uint64_t>();
    places.restartable = in.list<AddressRange>();
    places.absolute = read_bool(in);
    for (const auto* addresses :
         {&places.functions, &places.labels, &places.symbols, &places.relocated})
        if (!ascend(*addresses))
            return in.fail();
    return in.ok();
}

void write_probes(MessageWriter& out, const StaticProbes& probes)
{
    out.put<std::uint64_t>(probes.probes.size());
    for (const StaticProbe& probe : probes.probes) {
        out.text(probe.provider).text(probe.function).text(probe.name);
        out.put<std::uint64_t>(probe.sites.size());
        for (const StaticSite& site : probe.sites)
            out.put(site.at).put(site.offset).put(site.semaphore).text(site.arguments);
    }
    out.put<std::uint64_t>(probes.definitions.size());
    for (const auto& [provider, text] : probes.definitions)
        out.text(provider).text(text);
    write_enum(out, probes.syntax);
    write_texts(out, probes.troubles);
}

bool read_probes(MessageReader& in, StaticProbes& probes)
{
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--) {
        StaticProbe probe;
        probe.provider = in.text();
        probe.function = in.text();
        probe.name = in.text();
        for (std::size_t n_sites = read_count(in); n_sites != 0 && in.ok(); n_sites--) {
            StaticSite site;
            site.at = in.get<std::uint64_t>();
            site.offset = in.get<std::uint64_t>();
            site.semaphore = in.get<std::uint64_t>();
            site.arguments = in.text();
            if (!probe.sites.empty() && site.at <= probe.sites.back().at)
                return in.fail();
            probe.sites.push_back(std::move(site));
        }
        if (probe.sites.empty())
            return in.fail();
        probes.probes.push_back(std::move(probe));
    }
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--) {
        std::string provider = in.text();
        probes.definitions.emplace_back(std::move(provider), in.text());
    }
    probes.syntax = read_enum(in, usdt::Syntax::intel);
    return read_texts(in, probes.troubles);
}

void write_texts(MessageWriter& out, const std::vector<std::string>& texts)
{
    out.put<std::uint64_t>(texts.size());
    for (const std::string& text : texts)
        out.text(text);
}

bool read_texts(MessageReader& in, std::vector<std::string>& texts)
{
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--)
        texts.push_back(in.text());
    return in.ok();
}

void write_type(MessageWriter& out, const DebugType& type)
{
    write_enum(out, type.kind);
    write_enum(out, type.passing);
    out.text(type.name).put(type.bytes).put(type.align);
    out.put<std::uint8_t>(type.is_signed).put<std::uint8_t>(type.is_complete);
    out.put(type.base).put<std::uint64_t>(type.counts.size());
    for (const auto& count : type.counts)
        write_optional(out, count);
    out.put<std::uint64_t>(type.members.size());
    for (const DebugMember& member : type.members)
        out.text(member.name)
            .put(member.type)
            .put(member.offset_bits)
            .put(member.bitfield_bits);
    out.put<std::uint64_t>(type.enumerators.size());
    for (const auto& [name, value] : type.enumerators)
        out.text(name).put(value);
    out.list(type.parameters).put<std::uint8_t>(type.varargs);
}

bool read_type(MessageReader& in, DebugType& type)
{
    type.kind = read_enum(in, DebugType::Kind::Opaque);
    type.passing = read_enum(in, Passing::Unknown);
    type.name = in.text();
    type.bytes = in.get<std::uint64_t>();
    type.align = in.get<std::uint64_t>();
    type.is_signed = read_bool(in);
    type.is_complete = read_bool(in);
    type.base = in.get<DebugRef>();
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--)
        read_optional(in, type.counts.emplace_back());
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--) {
        DebugMember member;
        member.name = in.text();
        member.type = in.get<DebugRef>();
        member.offset_bits = in.get<std::uint64_t>();
        member.bitfield_bits = in.get<std::uint32_t>();
        type.members.push_back(std::move(member));
    }
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--) {
        std::string name = in.text();
        type.enumerators.emplace_back(std::move(name), in.get<std::int64_t>());
    }
    type.parameters = in.list<DebugRef>();
    type.varargs = read_bool(in);
    return in.ok();
}

void write_function(MessageWriter& out, const DebugFunction& function)
{
    out.put<std::uint64_t>(function.parameters.size());
    for (const DebugParameter& parameter : function.parameters)
        out.text(parameter.name).put(parameter.type);
    out.put(function.result).put<std::uint8_t>(function.varargs);
    out.put<std::uint8_t>(function.own_convention);
}

bool read_function(MessageReader& in, DebugFunction& function)
{
    for (std::size_t n = read_count(in); n != 0 && in.ok(); n--) {
        DebugParameter parameter;
        parameter.name = in.text();
        parameter.type = in.get<DebugRef>();
        function.parameters.push_back(std::move(parameter));
    }
    function.result = in.get<DebugRef>();
    function.varargs = read_bool(in);
    function.own_convention = read_bool(in);
    return in.ok();
}

} // namespace dt
