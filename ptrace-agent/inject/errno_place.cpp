// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/errno_place.hpp"

#include "process/maps.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <initializer_list>

namespace dt::agent {

// Finds the offset of errno from the fs base in the code of __errno_location(). In
// glibc and musl, that function has one of two forms:
//
//   mov disp(%rip),%rax; add %fs:0,%rax; ret     the offset is in the GOT
//   mov %fs:0,%rax; add $offset,%rax; ret
static std::optional<std::int64_t> offset_in(AddressSpace& space, TargetAddr function)
{
    std::array<std::byte, 40> text{};
    if (!space.read_original(function, text))
        return std::nullopt;
    auto is = [&text](std::size_t at, std::initializer_list<int> bytes) {
        for (int byte : bytes) {
            if (at >= text.size() || text[at++] != std::byte(byte))
                return false;
        }
        return true;
    };
    std::size_t at = is(0, {0xf3, 0x0f, 0x1e, 0xfa}) ? 4 : 0; // endbr64
    std::int32_t disp = 0;
    if (is(at, {0x48, 0x8b, 0x05}) && is(at + 7, {0x64, 0x48, 0x03, 0x04, 0x25})) {
        std::memcpy(&disp, &text[at + 3], 4);
        std::int64_t offset = 0;
        TargetAddr entry =
            function +
            (at + 7 + static_cast<std::uint64_t>(static_cast<std::int64_t>(disp)));
        // The entry is 0 until the dynamic linker has relocated it.
        if (space.read_value(entry, offset) && offset != 0)
            return offset;
    }
    if (is(at, {0x64, 0x48, 0x8b, 0x04, 0x25}) && is(at + 9, {0x48, 0x05})) {
        std::memcpy(&disp, &text[at + 11], 4);
        return disp;
    }
    return std::nullopt;
}

std::optional<std::int64_t> ErrnoPlace::offset(AddressSpace& space)
{
    if (offset_ || !std::has_single_bit(++n_calls_))
        return offset_;
    for (const Mapping& m : mappings_of(space.proc_tid())) {
        if (!is_libc(m.path) || m.offset != 0)
            continue;
        if (auto function = symbol_in(space, m.begin, "__errno_location"))
            return offset_ = offset_in(space, *function);
    }
    return std::nullopt;
}

} // namespace dt::agent
