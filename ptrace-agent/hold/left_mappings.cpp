// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/left_mappings.hpp"

#include "ptrace-agent/hold/code_use.hpp"
#include "ptrace-agent/inject/call_stub.hpp"
#include "ptrace-agent/inject/mapping_journal.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <sys/syscall.h>

namespace dt::agent {

// An agent leaves at most one journal in a target, and a forked child inherits those of
// its parent.
constexpr std::size_t max_journals = 64;
constexpr std::uint64_t highest_address = 0x7fff'ffff'f000;
// The agent never plans a larger mapping, so a larger entry is forged.
constexpr std::uint64_t max_planned = 64ull << 30;

// The addresses in [begin, end).
struct Piece {
    TargetAddr begin, end;
    bool of_memfd = false;
};

struct LeftEntry {
    JournalEntry entry;
    TargetAddr place;          // address of the entry in the journal
    std::vector<Piece> pieces; // what is still mapped, ascending
    bool needed = false;
};

struct LeftMappings::Left {
    TargetAddr at;
    bool text_is_original = false;
    std::vector<LeftEntry> entries;
};

static bool is_anonymous(const Mapping& mapping)
{
    return mapping.path.empty() && mapping.file.inode == 0 && !mapping.shared;
}

static bool is_memfd(const Mapping& mapping)
{
    constexpr std::string_view prefix = "/memfd:dtrace-";
    return mapping.path.starts_with(prefix);
}

// Returns whether a mapping that overlaps the entry's range can be the entry's.
static bool may_be_ours(const JournalEntry& entry, const Mapping& mapping)
{
    switch (entry.kind) {
    case Ours::session:
    case Ours::runtime:
        return is_memfd(mapping) || is_anonymous(mapping);
    case Ours::trampolines:
    case Ours::slots:
    case Ours::rescue:
        return is_anonymous(mapping) && mapping.executable && !mapping.writable;
    case Ours::page:
        return is_anonymous(mapping) && mapping.writable && !mapping.executable;
    }
    return false;
}

// Returns whether a page contains only zeros.
static bool is_zero(const AddressSpace& space, TargetAddr page)
{
    std::array<std::byte, page_bytes> content;
    return space.read_text(page, content) &&
           std::ranges::all_of(content,
                               [](std::byte each) { return each == std::byte{0}; });
}

// Returns whether a planned mapping was created. If the agent was killed before
// mmap(2), the program may have mapped its own memory there. So the mapping must begin
// and end at the planned addresses, and nothing may have been written to it yet. A page
// of code that was only read counts as present, for example after `dtrace --patches`.
static bool was_mapped(const AddressSpace& space, const JournalEntry& entry,
                       const Mapping& mapping, const PageMap& page_map)
{
    const std::uint64_t bytes = mapping.end - mapping.begin;
    const bool accessible = mapping.readable || mapping.writable || mapping.executable;
    const bool reserved = entry.kind == Ours::session || entry.kind == Ours::runtime;
    if (!is_anonymous(mapping) || mapping.begin.value != entry.at ||
        bytes != entry.bytes || bytes > max_planned || accessible == reserved)
        return false;
    const auto pages = page_map.pages(mapping.begin, bytes);
    for (std::size_t i = 0; i < pages.size(); i++)
        if (pages[i].has_content() &&
            (mapping.writable || !is_zero(space, mapping.begin + i * page_bytes)))
            return false;
    return !pages.empty();
}

// Returns the parts of the entry's range that are mapped and ours.
static std::vector<Piece> pieces_of(const AddressSpace& space,
                                    const JournalEntry& entry, std::uint64_t bytes,
                                    const std::vector<Mapping>& mappings,
                                    const PageMap& page_map)
{
    std::vector<Piece> pieces;
    const TargetAddr begin{entry.at}, end{entry.at + bytes};
    auto mapping = std::upper_bound(
        mappings.begin(), mappings.end(), begin,
        [](TargetAddr at, const Mapping& each) { return at < each.end; });
    for (; mapping != mappings.end() && mapping->begin < end; ++mapping) {
        if (!may_be_ours(entry, *mapping))
            continue;
        if (entry.state == EntryState::planned &&
            !was_mapped(space, entry, *mapping, page_map))
            continue;
        pieces.push_back({std::max(begin, mapping->begin), std::min(end, mapping->end),
                          is_memfd(*mapping)});
    }
    // If munmap(2) was planned, the memory may have been unmapped, and the program may
    // have mapped its own memory in a part of the range.
    if (entry.state == EntryState::leaving) {
        TargetAddr next = begin;
        for (const Piece& piece : pieces)
            next = piece.begin == next ? piece.end : TargetAddr{};
        if (next != end)
            std::erase_if(pieces, [](const Piece& piece) { return !piece.of_memfd; });
    }
    return pieces;
}

static bool is_valid(const JournalEntry& entry)
{
    constexpr std::uint64_t in_page = page_bytes - 1;
    return entry.at != 0 && (entry.at & in_page) == 0 && (entry.bytes & in_page) == 0 &&
           entry.bytes != 0 && entry.at < highest_address &&
           entry.bytes <= highest_address - entry.at &&
           entry.n_inherited <= entry.bytes &&
           (entry.state == EntryState::planned || entry.state == EntryState::mapped ||
            entry.state == EntryState::leaving);
}

// Reads the entries of a journal. Returns nothing if another version of dtrace has
// written the journal.
static std::optional<std::vector<LeftEntry>>
entries_of(AddressSpace& space, const Mapping& journal,
           const std::vector<Mapping>& mappings, const PageMap& page_map)
{
    std::vector<LeftEntry> entries;
    // A page of zeros has no header: the agent was killed before it wrote the header. The
    // kernel may already have allocated the page.
    if (is_zero(space, journal.begin))
        return entries;
    JournalHeader header{};
    if (!space.read_text(journal.begin,
                         std::as_writable_bytes(std::span(&header, 1))) ||
        header.magic != journal_magic || header.version != journal_version ||
        header.n > max_journal_entries)
        return std::nullopt;
    const JournalHeader now = journal_header_for(space.owner());
    const bool is_copy = header.pid != now.pid || header.start_time != now.start_time;
    std::vector<JournalEntry> all(header.n);
    const TargetAddr table = journal.begin + sizeof header;
    if (!all.empty() && !space.read_text(table, std::as_writable_bytes(std::span(all))))
        return std::nullopt;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const JournalEntry& entry = all[i];
        if (!is_valid(entry))
            continue;
        const std::uint64_t bytes = is_copy ? entry.n_inherited : entry.bytes;
        entries.push_back({entry, table + i * sizeof entry,
                           pieces_of(space, entry, bytes, mappings, page_map)});
    }
    return entries;
}

// Returns whether the entry belongs to the jumps. These mappings refer to each other.
static bool is_for_jumps(const LeftEntry& left)
{
    return left.entry.kind == Ours::runtime || left.entry.kind == Ours::session ||
           left.entry.kind == Ours::trampolines;
}

// Restores the program's action for SIGTRAP. Returns the regions of the rescues to which
// the action of a process may still lead.
std::vector<LeftRegion> LeftMappings::needed_rescues(StoppedWorld& world,
                                                     const std::vector<Left>& journals)
{
    std::vector<LeftRegion> rescues;
    for (const Left& journal : journals)
        for (const LeftEntry& left : journal.entries)
            if (left.entry.kind == Ours::rescue && !left.pieces.empty() &&
                journal.text_is_original)
                rescues.push_back({{left.entry.at}, left.entry.bytes});
    if (rescues.empty())
        return rescues;
    std::vector<pid_t> pids;
    for (const auto& [pid, process] : tracees_.processes())
        if (process->space.get() == &world.space())
            pids.push_back(pid);
    bool needed = false;
    for (pid_t pid : pids)
        if (tracees_.find_process(pid) != nullptr)
            needed = !trap_signals_.leave_left_rescues(pid, rescues) || needed;
    if (!needed)
        rescues.clear();
    return rescues;
}

bool LeftMappings::unmap(StoppedWorld& world, TargetAddr begin, TargetAddr end)
{
    Thread* thread = world.any_thread();
    if (thread == nullptr || world.space().budget.given_up())
        return false;
    auto done =
        injector_.call(*thread, SYS_munmap, {begin.value, end - begin, 0, 0, 0, 0});
    return done && *done == 0;
}

static void set_state(AddressSpace& space, const LeftEntry& left, EntryState state)
{
    space.write_text(left.place + offsetof(JournalEntry, state),
                     std::as_bytes(std::span(&state, 1)));
}

// Removes the stubs for system calls that killed agents have left in the text.
static void clear_stubs(AddressSpace& space, const std::vector<TargetAddr>& stubs,
                        const CodeUse& use)
{
    for (TargetAddr stub : stubs)
        if (!use.is_used(stub, stub + call_stub().size()))
            CallPlace::clear_stub(space.mem(), stub);
}

void LeftMappings::remove_in(StoppedWorld& world, std::vector<Left>& journals)
{
    AddressSpace& space = world.space();
    const std::vector<LeftRegion> needed_rescue = needed_rescues(world, journals);
    // A system call in the target may have moved its heap, so the mappings are read
    // again.
    const std::vector<Mapping> mappings = mappings_of(space.proc_tid());
    CodeUse use(tracees_, space, mappings);
    for (const Left& journal : journals)
        for (const LeftEntry& left : journal.entries)
            for (const Piece& piece : left.pieces)
                use.add(piece.begin, piece.end);
    const std::vector<TargetAddr> stubs = injector_.left_stubs(space, mappings);
    for (TargetAddr stub : stubs)
        use.add(stub, stub + call_stub().size());
    use.examine();
    clear_stubs(space, stubs, use);
    for (Left& journal : journals) {
        bool jumps_needed = !journal.text_is_original;
        for (LeftEntry& left : journal.entries) {
            const bool is_rescue = left.entry.kind == Ours::rescue;
            left.needed =
                use.is_used({left.entry.at}, {left.entry.at + left.entry.bytes}) ||
                (!journal.text_is_original && left.entry.kind != Ours::page) ||
                (is_rescue && !needed_rescue.empty());
            jumps_needed = jumps_needed || (left.needed && is_for_jumps(left));
        }
        bool any_left = false;
        for (LeftEntry& left : journal.entries) {
            if (left.needed || (jumps_needed && is_for_jumps(left))) {
                any_left = any_left || !left.pieces.empty();
                continue;
            }
            set_state(space, left, EntryState::leaving);
            bool unmapped = true;
            for (std::size_t i = 0, last = 0; i < left.pieces.size(); i = last) {
                // Adjacent pieces are unmapped together.
                for (last = i + 1;
                     last < left.pieces.size() &&
                     left.pieces[last].begin == left.pieces[last - 1].end;)
                    ++last;
                unmapped = unmapped && unmap(world, left.pieces[i].begin,
                                             left.pieces[last - 1].end);
            }
            if (unmapped)
                set_state(space, left, EntryState::unused);
            any_left = any_left || !unmapped;
        }
        if (any_left || !unmap(world, journal.at, journal.at + journal_bytes))
            space.has_left_mappings = true;
    }
}

void LeftMappings::remove(StoppedWorld& world, bool text_is_original)
{
    AddressSpace& space = world.space();
    space.text_was_original = text_is_original;
    const std::vector<Mapping> mappings = mappings_of(space.proc_tid());
    const PageMap page_map(space.proc_tid());
    space.has_left_mappings = false;
    std::vector<Left> journals;
    for (const Mapping& mapping : mappings) {
        if (!is_journal(mapping) || journals.size() == max_journals)
            continue;
        const bool is_own = mapping.begin == space.journal.at();
        if (auto entries = entries_of(space, mapping, mappings, page_map))
            journals.push_back({mapping.begin, is_own || space.text_was_original,
                                std::move(*entries)});
    }
    remove_in(world, journals);
}

void LeftMappings::remove_at_release(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    MappingJournal& journal = space.journal;
    if (journal.is_open() && journal.is_empty())
        if (Thread* thread = world.any_thread())
            injector_.close_journal(*thread);
    if (journal.is_open() || space.has_left_mappings)
        remove(world, space.text_was_original);
}

} // namespace dt::agent
