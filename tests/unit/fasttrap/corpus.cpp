// SPDX-License-Identifier: MIT
#include "corpus.hpp"

#include "fasttrap/arch/arch.hpp"
#include "fasttrap/arch/x86_64/opcodes.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>

namespace dt::test {

namespace {

struct Template {
    std::vector<unsigned char> before; // mandatory prefix
    unsigned map;
    unsigned opcode;
    int ext;
};

std::vector<Template> modelled()
{
    std::vector<Template> all;
#define X(map, first, count, ext, op, form, size)                                      \
    for (unsigned i = 0; i < (count); ++i)                                             \
        all.push_back({{}, map, (first) + i, ext});
    X86_OPCODES(X)
#undef X
    return all;
}

std::vector<Template> not_modelled()
{
    std::vector<Template> all;
    for (unsigned op : {0x69, 0x6b, 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad,
                        0xae, 0xaf, 0xc8, 0xd2, 0xd3, 0xd7, 0xd8, 0xd9, 0xda, 0xdb,
                        0xdc, 0xdd, 0xde, 0xdf, 0xf6, 0xf7, 0x86, 0x87, 0xc0, 0xc1})
        all.push_back({{}, 0, op, -1});
    for (unsigned op :
         {0xa3, 0xa4, 0xa5, 0xab, 0xac, 0xad, 0xaf, 0xb0, 0xb1, 0xb3, 0xb8,
          0xba, 0xbb, 0xbc, 0xbd, 0xc0, 0xc1, 0xc7, 0xc3, 0x0d, 0x18})
        all.push_back({{}, 1, op, -1});
    // Vector opcodes in 0f 10..7f and 0f c2..fe, without a prefix and with each of the
    // prefixes 66, f2 and f3.
    for (unsigned op = 0x10; op < 0x100; ++op) {
        if ((op >= 0x18 && op < 0x28) || (op >= 0x30 && op < 0x50) ||
            (op >= 0x80 && op < 0xc2) || (op >= 0xc7 && op < 0xd0) || op == 0xff)
            continue;
        for (unsigned char prefix : {0x66, 0xf2, 0xf3})
            all.push_back({{prefix}, 1, op, -1});
        all.push_back({{}, 1, op, -1});
        // The same opcodes with a VEX prefix of two bytes (c5) or three bytes (c4), and
        // with an EVEX prefix (62). random_instruction() chooses the other bytes of the
        // prefix.
        all.push_back({{0xc5}, 9, op, -1});
        all.push_back({{0xc4}, 9, op, -1});
        all.push_back({{0x62}, 9, op, -1});
    }
    return all;
}

} // namespace

Bytes random_instruction(std::mt19937_64& random)
{
    static const std::vector<Template> both[] = {modelled(), not_modelled()};
    const std::vector<Template>& templates = both[random() % 2];
    const Template& t = templates[random() % templates.size()];
    auto percent = [&](unsigned n) { return random() % 100 < n; };
    Bytes out;
    auto put = [&](std::uint64_t byte) {
        out.push_back(static_cast<std::byte>(byte & 0xff));
    };

    bool vex = t.map == 9;
    if (!vex && percent(20))
        put(0x66);
    if (!vex && percent(5))
        put(random() % 2 == 0 ? 0xf2 : 0xf3);
    if (percent(6))
        put(0x67);
    if (percent(4))
        put("\x2e\x3e\x26\x36\x64\x65"[random() % 6]);
    if (!vex && percent(2))
        put(0xf0);
    for (unsigned char byte : t.before)
        put(byte);
    if (vex) {
        if (t.before[0] == 0xc4) {
            put((random() & 0xe0) | (1 + random() % 3));
            put(random());
        } else if (t.before[0] == 0x62) {
            put((random() & 0xf0) | (1 + random() % 3));
            put(random() | 4);
            put(random());
        } else {
            put(random());
        }
        // The opcode map is random. Most opcodes are valid in at least one map.
        put(t.opcode);
    } else {
        if (percent(60))
            put(0x40 | random() % 16);
        if (t.map == 1)
            put(0x0f);
        put(t.opcode);
    }
    std::uint64_t modrm = random() & 0xff;
    if (percent(15))
        modrm = (modrm & 0x38) | 5; // RIP-relative
    if (t.ext >= 0)
        modrm = (modrm & 0xc7) | static_cast<unsigned>(t.ext) << 3;
    put(modrm);
    for (int i = 0; i < 16; ++i)
        put(random());
    return out;
}

std::vector<Bytes> harvest(const std::string& path, std::size_t at_most)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(file)), {});
    if (image.size() < sizeof(Elf64_Ehdr))
        return {};
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    std::vector<Bytes> found;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section,
                    sizeof section);
        if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0)
            continue;
        std::span text(reinterpret_cast<const std::byte*>(image.data()) +
                           section.sh_offset,
                       section.sh_size);
        for (std::size_t at = 0; at < text.size() && found.size() < at_most;) {
            Result<Instruction> insn =
                x86_64.decode(text.subspan(at), TargetAddr{section.sh_addr + at});
            if (!insn) {
                ++at;
                continue;
            }
            found.emplace_back(insn->bytes.begin(), insn->bytes.begin() + insn->length);
            at += insn->length;
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

} // namespace dt::test
