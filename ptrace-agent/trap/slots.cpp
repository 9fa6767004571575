// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/slots.hpp"

#include "fasttrap/displaced.hpp"
#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dt::agent {

void Slots::add_page(TargetAddr page, std::size_t bytes)
{
    pages_.emplace_back(page, bytes);
    for (std::size_t at = bytes; at >= slot_bytes; at -= slot_bytes)
        free_.push_back(page + (at - slot_bytes));
}

bool Slots::contain(TargetAddr at) const
{
    for (auto [page, bytes] : pages_) {
        if (at - page < bytes)
            return true;
    }
    return false;
}

bool Slots::has_free(pid_t tid) const
{
    return of_threads_.count(tid) != 0 || !free_.empty();
}

TargetAddr Slots::of(pid_t tid)
{
    auto [slot, added] = of_threads_.try_emplace(tid);
    if (added) {
        slot->second = free_.back();
        free_.pop_back();
    }
    return slot->second;
}

void Slots::free(pid_t tid)
{
    if (auto slot = of_threads_.find(tid); slot != of_threads_.end()) {
        free_.push_back(slot->second);
        of_threads_.erase(slot);
    }
}

std::optional<TargetAddr> Slots::copy(AddressSpace& space, const Instruction& insn)
{
    std::span<const std::byte> text = insn.text();
    auto before = copied_.find(insn.at);
    if (before != copied_.end()) {
        // This address was probed before. If another library is mapped there now, the
        // existing copy may contain a different instruction.
        auto old = copies_[before->second].text();
        if (std::equal(old.begin(), old.end(), text.begin(), text.end()))
            return before->second;
        return std::nullopt;
    }
    if (free_.empty())
        return std::nullopt;
    static constexpr std::array jump{std::byte{0xff}, std::byte{0x25}, std::byte{0},
                                     std::byte{0},    std::byte{0},    std::byte{0}};
    // The slot contains the instruction, then jmp *0(%rip), then the address of the
    // next instruction, then int3s.
    std::array<std::byte, slot_bytes> code;
    static_assert(15 + jump.size() + 8 <= slot_bytes);
    code.fill(std::byte{0xcc});
    std::uint64_t next = insn.next().value;
    std::copy(text.begin(), text.end(), code.begin());
    std::copy(jump.begin(), jump.end(), code.begin() + insn.length);
    std::memcpy(&code[insn.length + jump.size()], &next, sizeof next);
    TargetAddr slot = free_.back();
    if (!space.write_text(slot, code))
        return std::nullopt;
    free_.pop_back();
    copies_[slot] = insn;
    copied_[insn.at] = slot;
    return slot;
}

const Instruction* Slots::copied_to(TargetAddr at) const
{
    auto copy = copies_.find(at);
    return copy == copies_.end() ? nullptr : &copy->second;
}

} // namespace dt::agent
