// SPDX-License-Identifier: MIT
// Finds the reason for each difference between a process's text and its files.
#include "libdtrace/providers/process_patches.hpp"

#include "base/hex_text.hpp"
#include "base/page_bytes.hpp"
#include "fasttrap/patch.hpp"
#include "libdtrace/providers/text_differences.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/inject/call_stub.hpp"
#include "ptrace-agent/inject/mapping_journal.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>

namespace dt {

namespace {

constexpr std::byte int3{0xcc}, jmp_rel32{0xe9};
constexpr std::byte jump_prefix{0x67}; // up to max_prefixes may precede a jump
constexpr std::size_t jump_bytes = 5;
constexpr std::size_t max_prefixes = 3;
// The sites of a patch are within this distance of its first byte.
constexpr std::uint64_t max_window_bytes = 64;
// The stubs of a pair or chain lead to addresses within this distance of the
// trampoline's start.
constexpr std::uint64_t max_trampoline_bytes = 2048;
constexpr std::uint32_t owner_died = 0x40000000; // FUTEX_OWNER_DIED
constexpr std::uint32_t owner_tid = 0x3fffffff;  // FUTEX_TID_MASK

template <class Word> Word word_at(std::span<const std::byte> bytes, std::size_t at)
{
    Word word{};
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
}

// The runtime in a process, and its sites sorted by `back`. `back` is the address in a
// trampoline to which the runtime returns.
class Runtime {
public:
    explicit Runtime(const ProcessMemory& memory) : memory_(memory) {}

    void find(const ProcessMaps& maps, ProcessPatches& found)
    {
        auto all = images(maps);
        if (all.empty())
            return;
        found.runtime = all.front();
        read_config(found);
    }

    // Returns the images of the current runtime and of earlier runtimes.
    std::vector<TargetAddr> images(const ProcessMaps& maps) const
    {
        std::vector<TargetAddr> all;
        for (const Mapping& mapping : maps.all()) {
            if (!mapping.executable || mapping.writable || !mapping.path.empty())
                continue;
            // Every page is checked, because the kernel may have merged adjacent
            // mappings.
            for (TargetAddr at : memory_.own_pages(mapping))
                if (memory_.value<std::uint64_t>(at) == DT_RT_MAGIC)
                    all.push_back(at);
        }
        return all;
    }

    bool is_of_our_version(TargetAddr at) const
    {
        std::span<const std::byte> image = runtime_image();
        std::vector<std::byte> theirs(image.size());
        auto magic = memory_.value<std::uint64_t>(at + DT_RT_CONFIG +
                                                  offsetof(dt_rt_config, magic));
        return !image.empty() && magic == DT_RT_MAGIC && memory_.read(at, theirs) &&
               std::memcmp(theirs.data(), image.data(), image.size()) == 0;
    }

    bool agent_lives(TargetAddr at) const
    {
        auto alive =
            memory_.value<dt_u32>(at + DT_RT_CONFIG + offsetof(dt_rt_config, alive));
        return (alive.value_or(owner_died) & owner_died) == 0;
    }

    // Returns the sites whose `back` is at or after `from` and before `to`.
    std::span<const dt_rt_site> between(TargetAddr from, TargetAddr to) const
    {
        auto before = [](const dt_rt_site& site, TargetAddr at) {
            return site.back < at.value;
        };
        auto first = std::lower_bound(sites_.begin(), sites_.end(), from, before);
        return {first, std::lower_bound(first, sites_.end(), to, before)};
    }

private:
    void read_config(ProcessPatches& found)
    {
        TargetAddr at = found.runtime + DT_RT_CONFIG;
        found.other_version = !is_of_our_version(found.runtime);
        if (found.other_version)
            return;
        auto alive = memory_.value<dt_u32>(at + offsetof(dt_rt_config, alive));
        auto enabled = memory_.value<dt_u32>(found.runtime + DT_RT_LIVE);
        found.enabled = enabled.value_or(0) != 0;
        found.agent = static_cast<pid_t>(alive.value_or(0) & owner_tid);
        found.agent_lives = agent_lives(found.runtime);
        read_sites(at + offsetof(dt_rt_config, sites));
    }

    // Reads the sites up to the first page without a site. Later pages must not be
    // read, because reading a page would allocate it.
    void read_sites(TargetAddr at)
    {
        constexpr std::size_t n_at_once = page_bytes / sizeof(dt_rt_site);
        std::vector<dt_rt_site> some(n_at_once);
        for (std::size_t i = 0; i < DT_RT_MAX_SITES; i += n_at_once) {
            if (!memory_.read(at + i * sizeof(dt_rt_site),
                              std::as_writable_bytes(std::span(some))))
                break;
            auto used = [](const dt_rt_site& site) { return site.at != 0; };
            if (std::none_of(some.begin(), some.end(), used))
                break;
            std::copy_if(some.begin(), some.end(), std::back_inserter(sites_), used);
        }
        std::sort(sites_.begin(), sites_.end(),
                  [](const auto& a, const auto& b) { return a.back < b.back; });
    }

    const ProcessMemory& memory_;
    std::vector<dt_rt_site> sites_; // sorted by `back`
};

class Explain {
public:
    Explain(const ProcessMemory& memory, const ProcessMaps& maps,
            const Runtime& runtime, ProcessPatches& found)
        : memory_(memory), maps_(maps), runtime_(runtime), found_(found)
    {
    }

    void all(const std::vector<Difference>& differences)
    {
        for (const Difference& difference : differences)
            explain(difference);
        count_firings();
    }

private:
    bool is_ours(TargetAddr at) const
    {
        const Mapping* mapping = maps_.at(at);
        return found_.runtime.value != 0 && mapping != nullptr && mapping->executable &&
               mapping->path.empty();
    }

    // Returns the destination of the jump at `at`, if it can be a trampoline or a stub.
    // If any_opcode is true, the byte at `at` need not be the jump's opcode.
    std::optional<TargetAddr> jump_at(TargetAddr at, bool any_opcode = false) const
    {
        std::array<std::byte, jump_bytes> insn{};
        if (!memory_.read(at, insn) || (insn[0] != jmp_rel32 && !any_opcode))
            return std::nullopt;
        auto distance = static_cast<std::int64_t>(word_at<std::int32_t>(insn, 1));
        TargetAddr to = at + jump_bytes + static_cast<std::uint64_t>(distance);
        return is_ours(to) ? std::optional(to) : std::nullopt;
    }

    // Finds the jump that covers the first differing byte. The jump may start before
    // that byte, because its opcode may be equal to the original opcode.
    std::optional<TargetAddr> jump_over(TargetAddr at, TargetAddr from)
    {
        for (std::uint64_t back = 0; back < jump_bytes; back++) {
            TargetAddr start{at.value - back};
            if (start < from)
                break;
            if (jump_at(start))
                return start;
        }
        return std::nullopt;
    }

    bool begins_with_prefix(TargetAddr at) const
    {
        return memory_.value<std::byte>(at) == jump_prefix;
    }

    // Finds the jump after the prefixes that start at `at`.
    std::optional<TargetAddr> jump_behind(TargetAddr at) const
    {
        std::array<std::byte, max_prefixes> bytes{};
        if (!memory_.read(at, bytes))
            return std::nullopt;
        for (std::size_t n = 0; n < bytes.size() && bytes[n] == jump_prefix; n++)
            if (jump_at(at + n + 1))
                return at + n + 1;
        return std::nullopt;
    }

    // Finds a jump whose opcode a uprobe has overwritten with an int3, which is then the
    // first differing byte. When the uprobe was removed, the kernel has overwritten the
    // int3 with the byte of the file. The runtime must know a site there.
    std::optional<TargetAddr> jump_without_opcode(TargetAddr at) const
    {
        const TargetAddr start = memory_.value<std::byte>(at) == int3 ? at : at - 1;
        const auto to = start >= done_ ? jump_at(start, true) : std::nullopt;
        if (!to)
            return std::nullopt;
        for (const dt_rt_site& site : runtime_.between(*to, *to + max_trampoline_bytes))
            if (site.at - start.value < max_window_bytes)
                return start;
        return std::nullopt;
    }

    void explain(const Difference& difference)
    {
        for (TargetAddr at = std::max(difference.at, done_); at < difference.end();) {
            std::size_t i = at - difference.at;
            if (difference.now[i] == difference.file[i]) {
                at = at + 1;
                continue;
            }
            if (auto start = jump_over(at, done_))
                add_jump(*start, *start);
            else if (auto behind = jump_behind(at))
                add_jump(at, *behind);
            else if (auto changed = jump_without_opcode(at))
                add_jump_without_opcode(*changed);
            else if (difference.now[i] == int3)
                add(ProcessPatch::breakpoint, at, 1, "a breakpoint (int3)");
            else if (is_call_stub(at))
                add_call_stub(at);
            else
                add_unknown(difference, at);
            at = done_;
        }
    }

    void add(ProcessPatch::Kind kind, TargetAddr at, std::size_t n_bytes,
             std::string text)
    {
        ProcessPatch patch;
        patch.kind = kind;
        patch.at = at;
        patch.n_bytes = static_cast<std::uint32_t>(n_bytes);
        patch.text = std::move(text);
        patch.live = kind == ProcessPatch::breakpoint && found_.tracer != 0;
        found_.patches.push_back(std::move(patch));
        done_ = at + n_bytes;
    }

    // Adds the patch that begins at `at`. A patch may begin with prefixes. `jump` is
    // the address of the jump after the prefixes.
    void add_jump(TargetAddr at, TargetAddr jump)
    {
        TargetAddr to = *jump_at(jump);
        std::size_t n_bytes = jump_bytes, n_jumps = 1;
        // Find the other jumps of a pair or chain. Each of them, or its prefixes,
        // overlaps the previous jump. All jumps lead to the same trampoline, and later
        // jumps lead there through a stub. The destinations are checked, because bytes
        // of a displacement may look like a jump. If an opcode comes after the end of
        // the previous jump, the byte before the opcode must be a prefix.
        for (std::size_t last = 0, i = 1;
             n_jumps < max_jumps && i <= last + jump_bytes + max_prefixes; i++) {
            if (i >= last + jump_bytes && !begins_with_prefix(jump + i - 1))
                break;
            auto stub = jump_at(jump + i);
            auto on = stub ? jump_at(*stub) : std::nullopt;
            if (!on || *on <= to || *on - to >= max_trampoline_bytes)
                continue;
            n_bytes = i + jump_bytes;
            last = i;
            ++n_jumps;
        }
        std::string text = "a jump to " + hex_text(to.value);
        if (auto on = jump_at(to)) { // the jump leads to a stub
            to = *on;
            text += ", and from there to " + hex_text(to.value);
        }
        if (n_bytes > jump_bytes)
            text = (n_jumps == 2 ? "two" : std::to_string(n_jumps)) +
                   " overlapping jumps, the first to" +
                   text.substr(sizeof "a jump to" - 1);
        add(ProcessPatch::jump, at, jump - at + n_bytes, std::move(text));
        found_.patches.back().trampoline = to;
    }

    // Adds the bytes after the opcode at `at`. An int3 there is another tracer's.
    void add_jump_without_opcode(TargetAddr at)
    {
        const TargetAddr to = *jump_at(at, true);
        add(ProcessPatch::jump, at + 1, jump_bytes - 1,
            "the displacement of a jump to " + hex_text(to.value) +
                ", whose opcode another tracer has overwritten");
        found_.patches.back().trampoline = to;
    }

    // Returns whether the address is the beginning of a stub for injected system calls.
    bool is_call_stub(TargetAddr at) const
    {
        std::vector<std::byte> code(agent::block_of(at) - at);
        return memory_.read(at, code) && !code.empty() &&
               std::equal(code.begin(), code.end(), agent::call_stub().begin());
    }

    void add_call_stub(TargetAddr at)
    {
        add(ProcessPatch::unknown, at, agent::call_stub().size(),
            "code with which a killed ptrace-agent made system calls; no thread "
            "reaches it");
        found_.patches.back().is_call_stub = true;
    }

    void add_unknown(const Difference& difference, TargetAddr at)
    {
        constexpr std::size_t n_shown = 8;
        std::string now, file;
        std::size_t n_bytes = 0;
        for (std::size_t i = at - difference.at; i < difference.now.size(); i++) {
            if (n_bytes++ >= n_shown)
                continue;
            char text[8];
            std::snprintf(text, sizeof text, "%02x ",
                          static_cast<unsigned>(difference.now[i]));
            now += text;
            std::snprintf(text, sizeof text, " %02x",
                          static_cast<unsigned>(difference.file[i]));
            file += text;
        }
        if (n_bytes > n_shown)
            file += " ... (" + std::to_string(n_bytes) + " bytes)";
        add(ProcessPatch::unknown, at, n_bytes,
            "unknown: " + now + "instead of" + file);
    }

    void add_firings(const dt_rt_site& site, ProcessPatch& jump) const
    {
        TargetAddr list =
            found_.runtime + DT_RT_CONFIG + offsetof(dt_rt_config, firings);
        for (dt_u32 i = 0; i < site.n_firings; i++) {
            std::uint64_t index = std::uint64_t{site.first_firing} + i;
            if (index >= DT_RT_MAX_FIRINGS)
                return; // an agent writes only smaller indexes
            auto firing =
                memory_.value<dt_rt_firing>(list + index * sizeof(dt_rt_firing));
            if (firing && firing->kind == DT_RT_LIBRARIES)
                jump.for_libraries = true;
            else if (firing && firing->kind == DT_RT_TRACER)
                jump.for_tracers = true;
            else
                jump.n_firings++;
        }
    }

    // Counts the probes that each jump would fire. A site belongs to the last
    // trampoline that starts at or before the site's `back`.
    void count_firings()
    {
        std::vector<ProcessPatch*> jumps;
        for (ProcessPatch& patch : found_.patches)
            if (patch.kind == ProcessPatch::jump)
                jumps.push_back(&patch);
        std::sort(jumps.begin(), jumps.end(), [](const auto* a, const auto* b) {
            return a->trampoline < b->trampoline;
        });
        for (std::size_t i = 0; i < jumps.size(); i++) {
            ProcessPatch& jump = *jumps[i];
            TargetAddr end = i + 1 < jumps.size() ? jumps[i + 1]->trampoline
                                                  : TargetAddr{UINT64_MAX};
            for (const dt_rt_site& site : runtime_.between(jump.trampoline, end))
                if (site.from == 0 &&
                    site.at - jump.at.value + max_window_bytes < 2 * max_window_bytes)
                    add_firings(site, jump);
            bool serves = jump.n_firings != 0 || jump.for_libraries || jump.for_tracers;
            jump.live = found_.enabled && found_.agent_lives && serves;
            if (jump.for_libraries)
                jump.text +=
                    ", which reports to dtrace when libraries are loaded or unloaded";
            if (jump.for_tracers)
                jump.text += ", which reports to dtrace when the program is about to "
                             "trace itself";
        }
    }

    const ProcessMemory& memory_;
    const ProcessMaps& maps_;
    const Runtime& runtime_;
    ProcessPatches& found_;
    TargetAddr done_;
};

} // namespace

std::size_t ProcessPatches::count(ProcessPatch::Kind kind) const
{
    return static_cast<std::size_t>(std::count_if(
        patches.begin(), patches.end(),
        [kind](const ProcessPatch& patch) { return patch.kind == kind; }));
}

std::size_t ProcessPatches::n_live_jumps() const
{
    return static_cast<std::size_t>(
        std::count_if(patches.begin(), patches.end(), [](const ProcessPatch& patch) {
            return patch.kind == ProcessPatch::jump && patch.live;
        }));
}

Result<ProcessPatches> find_patches(const ProcessSymbols& symbols)
{
    pid_t pid = symbols.pid();
    ProcessMemory memory(pid);
    if (!memory.opened())
        return errno_error("read its memory");
    ProcessPatches found;
    found.tracer =
        static_cast<pid_t>(status_number(read_proc_file(pid, "status"), "TracerPid"));
    std::vector<Difference> differences =
        text_differences(pid, memory, symbols.maps(), found.notes);
    Runtime runtime(memory);
    runtime.find(symbols.maps(), found);
    Explain(memory, symbols.maps(), runtime, found).all(differences);
    return found;
}

static void add_left(const Difference& difference, const ProcessPatch& patch,
                     std::vector<LeftText>& left)
{
    TargetAddr from = std::max(difference.at, patch.at);
    TargetAddr to = std::min(difference.end(), patch.at + patch.n_bytes);
    if (from >= to)
        return;
    auto part = [&](const std::vector<std::byte>& bytes) {
        auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from - difference.at);
        return std::vector(begin, begin + static_cast<std::ptrdiff_t>(to - from));
    };
    left.push_back({from, part(difference.now), part(difference.file)});
}

Result<LeftBehind> left_behind(const ProcessSymbols& symbols)
{
    LeftBehind left;
    ProcessMemory memory(symbols.pid());
    if (!memory.opened())
        return errno_error("read its memory");
    ProcessPatches found;
    Runtime runtime(memory);
    runtime.find(symbols.maps(), found);
    left.any_memory = std::ranges::any_of(symbols.maps().all(), agent::is_journal);
    left.runtimes = runtime.images(symbols.maps());
    std::erase_if(left.runtimes,
                  [&](TargetAddr at) { return !runtime.is_of_our_version(at); });
    std::vector<Difference> differences =
        text_differences(symbols.pid(), memory, symbols.maps(), found.notes);
    Explain(memory, symbols.maps(), runtime, found).all(differences);
    left.all_known = found.notes.empty();
    for (const ProcessPatch& patch : found.patches) {
        left.any_memory = left.any_memory || patch.is_call_stub;
        const bool is_ours = left.any_memory || found.runtime.value != 0;
        if (patch.kind == ProcessPatch::unknown || !is_ours)
            continue;
        for (const Difference& difference : differences)
            add_left(difference, patch, left.texts);
    }
    return left;
}

void lower_semaphores(pid_t pid)
{
    ProcessMemory memory(pid);
    Fd mem = agent::open_mem(pid);
    auto maps = ProcessMaps::read(pid);
    if (!memory.opened() || !mem || !maps)
        return; // the process has exited
    Runtime runtime(memory);
    for (TargetAddr at : runtime.images(*maps))
        if (runtime.is_of_our_version(at) && !runtime.agent_lives(at))
            agent::lower_left(mem.get(), pid, at);
}

} // namespace dt
