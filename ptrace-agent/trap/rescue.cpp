// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/rescue.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>

extern "C" const std::byte dt_rescue_begin[], dt_rescue_restorer[], dt_rescue_end[];

namespace dt::agent {

// These values must match rescue_code.S.
constexpr std::uint64_t header_at = 0x1000;
constexpr std::uint64_t slots_at = 0x2000;
constexpr std::size_t slot_page_size = slots_per_page * slot_bytes;
constexpr std::uint64_t tables_at = slots_at + max_rescue_slots * sizeof(RescueSlot);
constexpr std::uint64_t table_bytes = Rescue::max_entries * sizeof(RescueEntry);

template <class T> static std::span<const std::byte> bytes_of(const T& value)
{
    return std::as_bytes(std::span(&value, 1));
}

std::size_t Rescue::region_bytes()
{
    return tables_at + 2 * table_bytes;
}

TargetAddr Rescue::restorer() const
{
    return at_ + static_cast<std::uint64_t>(dt_rescue_restorer - dt_rescue_begin);
}

bool Rescue::contains(TargetAddr pc) const
{
    return installed() && pc - at_ < region_bytes();
}

void Rescue::take_handler(ProgramHandler program)
{
    header_.program_handler = program.handler;
    header_.program_mask = program.mask;
    header_.program_flags = program.flags;
    header_.program_restorer = program.restorer;
    header_.program_own_mask = program.own_mask;
    handler_was_set_ = handler_was_set_ || program.handler > sig_ignore;
}

bool Rescue::write_header(AddressSpace& space)
{
    return space.write_text(at_ + header_at, bytes_of(header_));
}

std::optional<ProgramHandler> Rescue::left_at(const AddressSpace& space, TargetAddr at)
{
    const std::span<const std::byte> code{dt_rescue_begin, dt_rescue_end};
    std::vector<std::byte> found(code.size());
    RescueHeader header{};
    if (!space.read_text(at, found) ||
        !std::equal(found.begin(), found.end(), code.begin()) ||
        !space.read_text(at + header_at, std::as_writable_bytes(std::span(&header, 1))))
        return std::nullopt;
    return ProgramHandler{header.program_handler, header.program_mask,
                          header.program_flags, header.program_restorer,
                          header.program_own_mask};
}

bool Rescue::install(AddressSpace& space, TargetAddr at, ProgramHandler program)
{
    at_ = at;
    header_ = {};
    header_.table = (at + tables_at).value;
    take_handler(program);
    entries_.clear();
    if (!space.write_text(at, {dt_rescue_begin, dt_rescue_end}) ||
        !write_header(space)) {
        forget();
        return false;
    }
    for (auto [page, bytes] : space.slots.pages())
        add_slot_page(space, page);
    std::vector<Tracepoint*> written = space.tracepoints.all();
    std::erase_if(written, [](const Tracepoint* tp) { return !tp->written; });
    protect(space, written);
    return true;
}

void Rescue::set_program_handler(AddressSpace& space, ProgramHandler program)
{
    take_handler(program);
    write_header(space);
}

void Rescue::protect(AddressSpace& space, std::span<Tracepoint* const> all)
{
    if (!installed())
        return;
    std::vector<RescueEntry> wanted;
    for (const Tracepoint* tp : all) {
        const std::uint64_t at = tp->at().value;
        const auto original = std::to_integer<std::uint64_t>(tp->original());
        auto known =
            std::lower_bound(entries_.begin(), entries_.end(), at,
                             [](const RescueEntry& entry, std::uint64_t where) {
                                 return entry.at < where;
                             });
        if (known == entries_.end() || known->at != at || known->original != original)
            wanted.push_back({at, original});
    }
    const std::size_t room = max_entries - entries_.size();
    if (wanted.size() > room) {
        n_unprotected_ += wanted.size() - room;
        wanted.resize(room);
    }
    if (wanted.empty())
        return;
    // If an address has an old and a new entry, the new one is first, and std::unique()
    // keeps it.
    std::vector<RescueEntry> merged = std::move(wanted);
    merged.insert(merged.end(), entries_.begin(), entries_.end());
    std::stable_sort(
        merged.begin(), merged.end(),
        [](const RescueEntry& a, const RescueEntry& b) { return a.at < b.at; });
    merged.erase(std::unique(merged.begin(), merged.end(),
                             [](const RescueEntry& a, const RescueEntry& b) {
                                 return a.at == b.at;
                             }),
                 merged.end());
    const TargetAddr table = at_ + tables_at + (second_ ? 0 : table_bytes);
    if (!space.write_text(table, std::as_bytes(std::span(merged)))) {
        n_unprotected_ += merged.size() - entries_.size();
        return;
    }
    entries_ = std::move(merged);
    second_ = !second_;
    header_.table = table.value;
    header_.n = entries_.size();
    write_header(space);
}

std::vector<std::string> Rescue::take_notes(AddressSpace& space,
                                            std::span<Tracepoint* const> fresh)
{
    const std::string danger =
        " breakpoints would kill the process if the ptrace-agent were killed: ";
    std::vector<std::string> notes;
    if (const std::size_t n = std::exchange(n_unprotected_, 0); n != 0)
        notes.push_back(std::to_string(n) + danger +
                        "the table of the handler that restores the text is full");
    if (!installed() && !refusal_.empty()) {
        const auto n =
            std::count_if(fresh.begin(), fresh.end(), [](const Tracepoint* tp) {
                return tp->purpose == Tracepoint::fires && tp->written && !tp->site;
            });
        if (n != 0)
            notes.push_back(std::to_string(n) + danger + refusal_);
    }
    // If the process has been killed, the writes have failed, and there is no danger.
    std::byte first{};
    if (!notes.empty() && !fresh.empty() &&
        !space.read(fresh.front()->at(), std::span(&first, 1)))
        notes.clear();
    return notes;
}

void Rescue::add_slot_page(AddressSpace& space, TargetAddr page)
{
    if (!installed())
        return;
    for (std::uint64_t& known : header_.slot_pages) {
        if (known == page.value)
            return;
        if (known != 0)
            continue;
        known = page.value;
        if (!write_header(space))
            n_unknown_slots_ += slots_per_page;
        return;
    }
    n_unknown_slots_ += slots_per_page;
}

// Returns the offset of a general register in the kernel's struct ucontext, or 0 for
// any other register. struct sigcontext begins at offset 40.
static std::uint32_t place_of(Reg reg)
{
    switch (reg) {
    case Reg::r8:
        return 40;
    case Reg::r9:
        return 48;
    case Reg::r10:
        return 56;
    case Reg::r11:
        return 64;
    case Reg::r12:
        return 72;
    case Reg::r13:
        return 80;
    case Reg::r14:
        return 88;
    case Reg::r15:
        return 96;
    case Reg::rdi:
        return 104;
    case Reg::rsi:
        return 112;
    case Reg::rbp:
        return 120;
    case Reg::rbx:
        return 128;
    case Reg::rdx:
        return 136;
    case Reg::rax:
        return 144;
    case Reg::rcx:
        return 152;
    case Reg::rsp:
        return 160;
    default:
        return 0;
    }
}

void Rescue::begin_step(AddressSpace& space, const Displaced& plan, const SlotRun& run,
                        std::optional<std::uint64_t> mask)
{
    if (!installed())
        return;
    for (std::size_t page = 0; page < max_rescue_pages; ++page) {
        const std::uint64_t offset = run.slot.value - header_.slot_pages[page];
        if (header_.slot_pages[page] == 0 || offset >= slot_page_size)
            continue;
        RescueSlot record{};
        record.site = plan.at.value;
        record.next = plan.at.value + plan.length;
        record.copy_length = plan.copy_length;
        record.flags =
            static_cast<std::uint8_t>((plan.is_syscall ? RescueSlot::syscall : 0) |
                                      (plan.access_only ? RescueSlot::access_only : 0) |
                                      (mask ? RescueSlot::has_mask : 0));
        record.mask = mask.value_or(0);
        for (std::size_t i = 0; i < plan.spares.size(); ++i) {
            if (plan.spares[i].reg == Reg::none)
                continue;
            record.spare_at[i] = place_of(plan.spares[i].reg);
            record.saved[i] = run.saved[i];
        }
        const std::uint64_t index = page * slots_per_page + offset / slot_bytes;
        space.write_text(at_ + slots_at + index * sizeof record, bytes_of(record));
        return;
    }
}

} // namespace dt::agent
