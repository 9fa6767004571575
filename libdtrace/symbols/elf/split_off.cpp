// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/split_off.hpp"

#include <algorithm>
#include <dwarf.h>

namespace dt {

namespace {

constexpr std::uint64_t text_at_once = 1 << 20;
// maximum number of bytes that are searched for branches
constexpr std::uint64_t largest_function = 1 << 20;
constexpr std::uint64_t largest_gap = 64; // maximum padding between adjacent functions

// Reads the operands of call frame instructions. After the last byte, reads zeros.
class Operands {
public:
    explicit Operands(Bytes bytes) : bytes_(bytes) {}

    bool at_end() const { return at_ >= bytes_.size(); }
    std::uint8_t byte()
    {
        return at_end() ? 0 : std::to_integer<std::uint8_t>(bytes_[at_++]);
    }
    void skip(std::uint64_t n)
    {
        at_ += std::min<std::uint64_t>(n, bytes_.size() - at_);
    }

    std::uint64_t unsigned_number() { return number(nullptr); }
    std::int64_t signed_number()
    {
        unsigned shift = 0;
        std::uint64_t value = number(&shift);
        bool negative = shift != 0 && (value >> (shift - 1) & 1) != 0;
        return static_cast<std::int64_t>(negative && shift < 64 ? value | ~0ULL << shift
                                                                : value);
    }

private:
    // Reads a LEB128 number. `n_bits` receives the number of its bits.
    std::uint64_t number(unsigned* n_bits)
    {
        std::uint64_t value = 0;
        unsigned shift = 0;
        for (bool more = true; more && !at_end(); shift += 7) {
            std::uint8_t b = byte();
            if (shift < 64)
                value |= std::uint64_t{b & 0x7fU} << shift;
            more = (b & 0x80) != 0;
        }
        if (n_bits != nullptr)
            *n_bits = std::min(shift, 64U);
        return value;
    }

    Bytes bytes_;
    std::size_t at_ = 0;
};

class Text {
public:
    explicit Text(const ElfSections& file) : file_(file) {}

    Bytes of(AddressRange range)
    {
        if (!(range.addr >= from_ &&
              range.addr - from_ + range.n_bytes <= bytes_.size())) {
            auto loaded =
                file_.loaded(range.addr, std::max(text_at_once, range.n_bytes));
            bytes_ = loaded ? std::move(*loaded) : std::vector<std::byte>{};
            from_ = range.addr;
        }
        std::uint64_t skip = std::min<std::uint64_t>(range.addr - from_, bytes_.size());
        return Bytes(bytes_).subspan(
            skip, std::min<std::uint64_t>(range.n_bytes, bytes_.size() - skip));
    }

private:
    const ElfSections& file_;
    std::uint64_t from_ = 0;
    std::vector<std::byte> bytes_;
};

// Returns whether the text contains a conditional jump to `target`: 0f 80..8f and four
// bytes of displacement. `at` is the text's address.
bool branches_to(Bytes text, std::uint64_t at, std::uint64_t target)
{
    constexpr std::size_t length = 6;
    for (std::size_t i = 0; i + length <= text.size(); ++i) {
        if (text[i] != std::byte{0x0f} ||
            (text[i + 1] & std::byte{0xf0}) != std::byte{0x80})
            continue;
        auto distance = std::int64_t{*read_at<std::int32_t>(text, i + 2)};
        if (at + i + length + static_cast<std::uint64_t>(distance) == target)
            return true;
    }
    return false;
}

} // namespace

CanonicalFrame at_first_address(CanonicalFrame from, Bytes instructions,
                                std::int64_t data_factor)
{
    CanonicalFrame now = from;
    Operands operands(instructions);
    while (!operands.at_end()) {
        std::uint8_t opcode = operands.byte();
        // the low bits of these three opcodes contain an operand
        switch (opcode & 0xc0) {
        case DW_CFA_advance_loc:
            return now;
        case DW_CFA_offset:
            operands.unsigned_number();
            continue;
        case DW_CFA_restore:
            continue;
        default:
            break;
        }
        switch (opcode) {
        case DW_CFA_nop:
        case DW_CFA_remember_state:
            break;
        case DW_CFA_restore_state:
            now = from;
            break;
        case DW_CFA_def_cfa:
            now = {operands.unsigned_number(), 0};
            now.offset = static_cast<std::int64_t>(operands.unsigned_number());
            break;
        case DW_CFA_def_cfa_sf:
            now = {operands.unsigned_number(), 0};
            now.offset = operands.signed_number() * data_factor;
            break;
        case DW_CFA_def_cfa_register:
            now.reg = operands.unsigned_number();
            break;
        case DW_CFA_def_cfa_offset:
            now.offset = static_cast<std::int64_t>(operands.unsigned_number());
            break;
        case DW_CFA_def_cfa_offset_sf:
            now.offset = operands.signed_number() * data_factor;
            break;
        case DW_CFA_def_cfa_expression:
            operands.skip(operands.unsigned_number());
            now = {~0ULL, 0, true};
            break;
        case DW_CFA_undefined:
        case DW_CFA_same_value:
        case DW_CFA_restore_extended:
        case DW_CFA_GNU_args_size:
            operands.unsigned_number();
            break;
        case DW_CFA_offset_extended:
        case DW_CFA_register:
        case DW_CFA_val_offset:
        case DW_CFA_offset_extended_sf:
        case DW_CFA_val_offset_sf:
        case DW_CFA_GNU_negative_offset_extended:
            operands.unsigned_number();
            operands.unsigned_number(); // a signed number has the same length
            break;
        case DW_CFA_expression:
        case DW_CFA_val_expression:
            operands.unsigned_number();
            operands.skip(operands.unsigned_number());
            break;
        default: // DW_CFA_advance_loc2, _loc4, or an unknown instruction
            return now;
        }
    }
    return now;
}

void find_split_off(const ElfSections& file, std::vector<Frame>& frames)
{
    if (file.header().e_machine != EM_X86_64)
        return;
    std::vector<Frame*> described(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i)
        described[i] = &frames[i];
    std::sort(described.begin(), described.end(),
              [](const Frame* a, const Frame* b) { return a->index < b->index; });
    struct Pair {
        const Frame* function;
        Frame* part;
    };
    std::vector<Pair> pairs;
    for (std::size_t i = 1; i < described.size(); ++i) {
        const Frame& function = *described[i - 1];
        Frame& part = *described[i];
        std::uint64_t end = function.range.addr + function.range.n_bytes;
        if (!function.split_off && !part.split_off &&
            part.range.addr - end > largest_gap)
            pairs.push_back({&function, &part});
    }
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
        return a.function->range.addr < b.function->range.addr;
    });
    Text text(file);
    for (const Pair& pair : pairs) {
        AddressRange range = pair.function->range;
        range.n_bytes = std::min(range.n_bytes, largest_function);
        // The search ends where the next function starts. Otherwise forged functions
        // that overlap would be searched again and again.
        const Frame* next = pair.function + 1;
        if (next != frames.data() + frames.size())
            range.n_bytes = std::min(range.n_bytes, next->range.addr - range.addr);
        pair.part->split_off =
            branches_to(text.of(range), range.addr, pair.part->range.addr);
    }
}

} // namespace dt
