// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/static_probes.hpp"

#include "base/hex_text.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/parsed_elf.hpp"
#include "usdt/definition_notes.hpp"
#include "usdt/probe_notes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <tuple>

namespace dt {

namespace {

const ElfSegment* segment_at(const ParsedElf& image, std::uint64_t at)
{
    for (const ElfSegment& segment : image.facts().segments)
        if (segment.contains(at))
            return &segment;
    return nullptr;
}

// Returns whether the text begins with a nop: 90 or 0f 1f /r, after any number of
// prefixes for size, segment and REX.W.
bool is_nop(std::span<const std::byte> text)
{
    auto byte = [&text](std::size_t i) { return std::to_integer<unsigned>(text[i]); };
    auto is_prefix = [](unsigned b) {
        return b == 0x66 || b == 0x67 || b == 0x2e || b == 0x36 || b == 0x3e ||
               b == 0x26 || b == 0x64 || b == 0x65 || b >> 3 == 0x48 >> 3;
    };
    std::size_t at = 0;
    while (at + 2 < text.size() && is_prefix(byte(at)))
        ++at;
    return at + 2 < text.size() &&
           (byte(at) == 0x90 || (byte(at) == 0x0f && byte(at + 1) == 0x1f));
}

// The second nop of dtrace/sdt.h. It also contains nops that start at its second and
// third byte. So is_inside_nop_10() examines the bytes before an address.
constexpr std::array<unsigned char, 10> nop_10 = {0x66, 0x2e, 0x0f, 0x1f, 0x84,
                                                  0,    0,    0,    0,    0};

bool is_inside_nop_10(const ParsedElf& image, std::uint64_t at)
{
    for (std::size_t inside : {1, 2}) {
        std::array<std::byte, nop_10.size()> bytes{};
        if (image.read(at - inside, bytes) &&
            std::memcmp(bytes.data(), nop_10.data(), nop_10.size()) == 0)
            return true;
    }
    return false;
}

// Returns whether the note's address is the start of a nop. Elsewhere, a patch could
// overwrite a part of an instruction.
bool is_at_nop(const ParsedElf& image, const ElfSegment& text, std::uint64_t at)
{
    std::array<std::byte, 15> bytes{};
    const std::uint64_t left = text.addr + text.file_bytes - at;
    return at < text.addr + text.file_bytes &&
           image.read(at, std::span(bytes).first(std::min<std::size_t>(
                              bytes.size(), static_cast<std::size_t>(left)))) &&
           is_nop(bytes) && !is_inside_nop_10(image, at);
}

// Returns the name of the function that contains the address, or "" if there is none.
// `offset` receives the offset in the function.
std::string function_at(ParsedElf& image, std::uint64_t at, std::uint64_t& offset)
{
    const FunctionTable& table = image.functions();
    const Function* function = table.at(at);
    offset = function != nullptr ? at - function->addr : 0;
    return function != nullptr ? std::string(table.name(*function)) : "";
}

class Reading {
public:
    explicit Reading(ParsedElf& image) : image_(image) {}

    void add(const usdt::ProbeNote& note, std::uint64_t moved_by)
    {
        if (usdt::syntax_of(note.arguments) == usdt::Syntax::intel)
            out_.syntax = usdt::Syntax::intel;
        StaticSite site{note.at + moved_by, 0, 0, note.arguments};
        std::string who = note.provider + ":" + note.name + " at " + hex_text(site.at);
        const ElfSegment* text = segment_at(image_, site.at);
        if (text == nullptr || !text->executable) {
            tell(who + " is not in executable code, and is omitted");
            return;
        }
        if (!is_at_nop(image_, *text, site.at)) {
            tell(who + " is not at a nop, and is omitted");
            return;
        }
        if (note.semaphore != 0) {
            std::uint64_t at = note.semaphore + moved_by;
            const ElfSegment* data = segment_at(image_, at);
            if (data == nullptr || !data->writable || !data->contains(at + 1))
                tell("the semaphore of " + who +
                     " is not in writable data, and is ignored");
            else
                site.semaphore = at;
        }
        std::string name = usdt::probe_name(note.name);
        std::string function = function_at(image_, site.at, site.offset);
        by_names_[{note.provider, name, std::move(function)}].push_back(
            std::move(site));
    }
    void tell(const std::string& trouble)
    {
        constexpr std::size_t most = 10;
        if (n_told_++ < most)
            out_.troubles.push_back(trouble);
    }
    // Adds messages from the parsers, which have already limited the number of messages.
    void tell_all(const std::vector<std::string>& troubles)
    {
        out_.troubles.insert(out_.troubles.end(), troubles.begin(), troubles.end());
    }
    void define(std::string provider, std::string text)
    {
        out_.definitions.emplace_back(std::move(provider), std::move(text));
    }
    StaticProbes finish()
    {
        for (auto& [names, sites] : by_names_) {
            std::stable_sort(sites.begin(), sites.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; });
            sites.erase(
                std::unique(sites.begin(), sites.end(),
                            [](const auto& a, const auto& b) { return a.at == b.at; }),
                sites.end());
            auto& [provider, name, function] = names;
            out_.probes.push_back({provider, function, name, std::move(sites)});
        }
        return std::move(out_);
    }

private:
    using Names = std::tuple<std::string, std::string, std::string>;

    ParsedElf& image_;
    std::map<Names, std::vector<StaticSite>> by_names_;
    StaticProbes out_;
    std::size_t n_told_ = 0;
};

} // namespace

static void read_definitions(const ElfSections& file, Reading& reading)
{
    const ElfSection* section = file.find(usdt::definition_section);
    if (section == nullptr)
        return;
    auto bytes = file.data(*section);
    if (!bytes)
        return reading.tell(std::string(usdt::definition_section) +
                            " cannot be read: " + bytes.error().text);
    usdt::DefinitionNotes found = usdt::parse_definition_notes(*bytes);
    reading.tell_all(found.troubles);
    for (usdt::DefinitionNote& note : found.notes)
        reading.define(std::move(note.provider), std::move(note.text));
}

StaticProbes read_static_probes(ParsedElf& image)
{
    Reading reading(image);
    auto files = image.files();
    const ElfSections* file = files.empty() ? nullptr : files.front();
    const ElfSection* section = file != nullptr ? file->find(".note.stapsdt") : nullptr;
    if (section == nullptr)
        return {};
    auto bytes = file->data(*section);
    if (!bytes) {
        reading.tell(".note.stapsdt cannot be read: " + bytes.error().text);
        return reading.finish();
    }
    read_definitions(*file, reading);
    usdt::ProbeNotes notes = usdt::parse_probe_notes(*bytes);
    reading.tell_all(notes.troubles);
    const ElfSection* base = file->find(".stapsdt.base");
    for (const usdt::ProbeNote& note : notes.notes)
        if (note.at != 0) // 0 if lld removed the code but not the note
            reading.add(note, base != nullptr && note.base != 0
                                  ? base->header.sh_addr - note.base
                                  : 0);
    return reading.finish();
}

} // namespace dt
