// SPDX-License-Identifier: MIT
#include "window_runs.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstring>
#include <set>
#include <sstream>
#include <sys/mman.h>

extern "C" {
struct WindowSite {
    std::uint64_t tail, n_fired, rsp;
};
WindowSite ft_window_sites[16];
void ft_window_stub();
void ft_window_stub_end();
}

// clang-format off
asm(R"(
.pushsection .text
.globl ft_window_stub
.type ft_window_stub, @function
ft_window_stub:
    push %rax
    pushf
    lea ft_window_sites(%rip), %rax
    lea (%rbx,%rbx,2), %rbx
    lea (%rax,%rbx,8), %rbx
    incq 8(%rbx)
    lea 16(%rsp), %rax
    mov %rax, 16(%rbx)
    popf
    pop %rax
    mov (%rbx), %rbx
    jmp *%rbx
.globl ft_window_stub_end
ft_window_stub_end:
.popsection
)");
// clang-format on

namespace dt::test {

namespace {

// The highest byte of a displacement from the sandbox to this area is nearly always
// 0x06, a trap byte.
constexpr std::uint64_t area_at = 0x26200000;
constexpr std::size_t area_bytes = 16 << 20; // the size of the agent's areas

// Number of bytes below the red zone that a head (8) and ft_window_stub (16) write.
constexpr std::uint64_t below_bytes = 24;

bool in_stub(std::uint64_t pc)
{
    auto first = reinterpret_cast<std::uint64_t>(&ft_window_stub);
    return pc - first < reinterpret_cast<std::uint64_t>(&ft_window_stub_end) - first;
}

} // namespace

WindowRuns::WindowRuns(Differential& differential) : differential_(differential)
{
    void* mapped = mmap(reinterpret_cast<void*>(area_at), area_bytes,
                        PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert(mapped != MAP_FAILED);
    area_ = static_cast<std::byte*>(mapped);
    auto enter = reinterpret_cast<std::uint64_t>(&ft_window_stub);
    std::memcpy(area_, &enter, sizeof enter);
    space_.add_area(TargetAddr{area_at}, area_bytes);
}

WindowRuns::~WindowRuns()
{
    munmap(area_, area_bytes);
}

std::byte* WindowRuns::at(TargetAddr where) const
{
    return reinterpret_cast<std::byte*>(where.value);
}

void WindowRuns::write_original(const Sequence& s)
{
    // With int3 in the rest of the code area, a stray jump traps in the same way in
    // both runs.
    std::memset(differential_.sandbox().code(), 0xcc, Sandbox::code_bytes);
    std::copy(s.text.begin(), s.text.end(), at(s.at));
    write_pad(at(s.at + s.text.size()), Pad::behind);
    write_pad(at(TargetAddr{s.c.pads[1]}), Pad::target);
}

Outcome WindowRuns::run_original(Sequence& s, TargetAddr entry)
{
    Sandbox& sandbox = differential_.sandbox();
    write_original(s);
    // The processor does not preserve all bits of the vector state. A run without any
    // instruction clears these bits in the initial state.
    write_pad(sandbox.slot(), Pad::behind);
    s.c.start.regs.rip = Sandbox::address(sandbox.slot());
    native_run(s.c.start, {entry.value, 0});
    s.c.start.regs.fs_base = own_fs_base();
    differential_.restore_data(s.c);
    Outcome native{s.c.start, {}};
    native_run(native.state, {s.at.value + s.text.size(), s.c.pads[1]});
    native.state.regs.fs_base = s.c.start.regs.fs_base;
    native.data.assign(sandbox.data().begin(), sandbox.data().end());
    return native;
}

// Returns the start of the sequence, its end and some instructions between them.
std::vector<TargetAddr> WindowRuns::branch_targets(const Sequence& s)
{
    std::vector<TargetAddr> out = {s.at};
    bool some = dense_targets || differential_.pick(60);
    for (std::size_t i = 1; i < s.insns.size(); ++i) {
        if (some && differential_.pick(dense_targets ? 70 : 40))
            out.push_back(s.insns[i].at);
    }
    out.push_back(s.at + s.text.size());
    return out;
}

void WindowRuns::map_for_stub(const Window& window)
{
    constexpr std::size_t most = 4000;
    constexpr std::uint64_t page = 4096;
    for (const Reach& reach : reach_of(window)) {
        std::uint64_t place =
            window.origin().value + static_cast<std::uint64_t>(reach.from);
        std::uint64_t start = place & ~(page - 1);
        std::uint64_t n = ((place + stub_bytes - 1) & ~(page - 1)) - start + page;
        if (n_stub_areas_ == most || space_.area_of(TargetAddr{start}) ||
            space_.area_of(TargetAddr{start + n - 1}))
            continue;
        void* wanted = reinterpret_cast<void*>(start);
        void* mapped = mmap(wanted, n, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (mapped != wanted)
            continue;
        ++n_stub_areas_;
        space_.add_area(TargetAddr{start}, n);
    }
}

// Returns the address at which the run begins. This is the start of the sequence, the
// end of a punned window, or an instruction whose copy is the target of a stub.
TargetAddr WindowRuns::entry_of(const Sequence& s)
{
    for (const Patch& patch : s.patches) {
        if (patch.form == PatchForm::plain || !differential_.pick(40))
            continue;
        TargetAddr entry = patch.end;
        if (patch.form != PatchForm::punned) {
            std::size_t stub = differential_.random()() % patch.stubs.size();
            PatchPlace led = *place_of(patch, patch.stubs[stub]);
            entry = patch.moved[led.index].from;
        }
        if (entry < s.at + s.text.size())
            return entry;
    }
    return s.at;
}

// Patches the sequence. Returns false if every site is refused, or if there is no
// space.
bool WindowRuns::patch(Sequence& s)
{
    std::vector<PatchSite> sites;
    unsigned percent = differential_.pick(30) ? 100 : 35;
    std::size_t always = differential_.random()() % s.insns.size();
    std::vector<TargetAddr> targets = branch_targets(s);
    for (std::size_t i = 0; i < s.insns.size(); ++i) {
        if (i != always && !differential_.pick(percent))
            continue;
        TargetAddr at = s.insns[i].at;
        auto end = std::upper_bound(targets.begin(), targets.end(), at);
        sites.push_back({at, *std::prev(end), *end, static_cast<std::uint32_t>(i)});
        if (end + 1 != targets.end() && differential_.pick(70))
            sites.back().beyond = *(end + 1);
        std::size_t n_further = 0;
        for (; sites.back().beyond.value != 0 && n_further < FurtherBlocks{}.size() &&
               end + 2 + n_further < targets.end();
             ++n_further)
            sites.back().further[n_further] = static_cast<std::uint8_t>(
                *(end + 2 + n_further) - *(end + 1 + n_further));
    }
    WindowPlan plan = plan_windows(x86_64, sites, [&](TargetAddr from, std::size_t n) {
        std::span<const std::byte> rest = std::span(s.text).subspan(from - s.at);
        return rest.first(std::min(n, rest.size()));
    });
    std::memset(ft_window_sites, 0, sizeof ft_window_sites);
    for (const Window& window : plan.windows) {
        std::size_t n = trampoline_bytes(window);
        std::optional<Placement> to = space_.take(window, n);
        if (!to && window.form == PatchForm::punned) {
            map_for_stub(window);
            to = space_.take(window, n);
            if (!to)
                continue; // every address within reach of the punned jump is in use
        }
        if (!to) {
            report_ = "no place for a trampoline";
            return false;
        }
        Result<Patch> built = build_patch(window, *to, TargetAddr{area_at});
        assert(built && built->code.size() <= n);
        std::copy(built->code.begin(), built->code.end(), at(to->trampoline));
        for (std::size_t i = 0; i < to->stubs.size(); ++i) {
            auto code = built->code_of_stub(i);
            std::copy(code.begin(), code.end(), at(to->stubs[i]));
        }
        for (const Moved& moved : built->moved) {
            if (!moved.site)
                continue;
            ft_window_sites[*moved.site].tail = moved.tail.value;
            s.placed[*moved.site] = true;
        }
        s.taken.push_back(n);
        s.patches.push_back(std::move(*built));
    }
    return !s.patches.empty();
}

void WindowRuns::give_back(Sequence& s)
{
    for (std::size_t i = 0; i < s.patches.size(); ++i)
        space_.give_back({s.patches[i].trampoline, Stubs(s.patches[i].stubs)},
                         s.taken[i]);
}

WindowRuns::Ended WindowRuns::fail(const Sequence& s, const std::string& what)
{
    std::ostringstream out;
    out << what << '\n' << differential_.report();
    for (const Instruction& insn : s.insns) {
        out << "  " << std::hex << insn.at.value << ": " << disassemble(insn.text());
        auto number = static_cast<std::size_t>(&insn - s.insns.data());
        if (s.placed[number])
            out << "   <- probed, fired " << ft_window_sites[number].n_fired;
        out << '\n';
    }
    for (const Patch& patch : s.patches) {
        out << "  window " << std::hex << patch.at.value << " trampoline "
            << patch.trampoline.value << ":";
        for (std::byte byte : patch.code)
            out << ' ' << unsigned(byte);
        out << '\n';
    }
    report_ = out.str();
    return differs;
}

// Moves the thread at `pc` from a trampoline back to the original text. Returns false
// if `pc` is not in a trampoline.
bool WindowRuns::leave(Sequence& s, NativeState& ours, TargetAddr pc)
{
    for (const Patch& patch : s.patches) {
        std::optional<PatchPlace> place = place_of(patch, pc);
        if (!place)
            continue;
        ++n_left[place->kind];
        std::uint64_t& rsp = ours.regs[Reg::rsp];
        if (place->rbx_on_stack) {
            std::memcpy(&ours.regs[Reg::rbx], at(TargetAddr{rsp}), 8);
            ft_window_sites[14].rsp = rsp;
        }
        if (place->kind == PatchPlace::inside && place->rsp_add != 0)
            ft_window_sites[13].rsp = rsp; // a call pushed its return address at rsp
        rsp += place->rsp_add;
        ours.regs.rip = place->on.value;
        return true;
    }
    return false;
}

WindowRuns::Ended WindowRuns::run_patched(Sequence& s, NativeState& ours)
{
    differential_.restore_data(s.c);
    for (const Patch& patch : s.patches) {
        std::copy(patch.text.begin(), patch.text.end(), at(patch.at));
        if (patch.form == PatchForm::punned &&
            !std::equal(patch.text.begin() + (patch.end - patch.at), patch.text.end(),
                        patch.original.begin() + (patch.end - patch.at)))
            return fail(s, "a byte that is kept was changed");
        std::set<TargetAddr> jumps{patch.at};
        for (TargetAddr stub : patch.stubs)
            jumps.insert(patch.moved[place_of(patch, stub)->index].from);
        std::uint64_t end =
            std::min<std::uint64_t>(*jumps.rbegin() - patch.at + 5, patch.text.size());
        for (const Moved& moved : patch.moved) {
            std::uint64_t offset = moved.from - patch.at;
            if (offset > 0 && offset < end && !jumps.contains(moved.from) &&
                !x86_64.traps(patch.text[offset]))
                return fail(s, "a byte of the jump does not trap");
        }
    }
    native_run(ours, {s.at.value + s.text.size(), s.c.pads[1]});
    ours.regs.fs_base = s.c.start.regs.fs_base;
    return same;
}

// Returns whether an `enter` with a nesting level may copy words of the text. The
// result would differ, because the patched text contains jumps.
static bool copies_text(const std::vector<Instruction>& insns, const Registers& start,
                        const std::byte* code)
{
    constexpr std::size_t most = 32 * 8; // bytes below rbp
    bool in_text =
        start[Reg::rbp] - Sandbox::address(code) < Sandbox::code_bytes + most;
    return in_text && std::any_of(insns.begin(), insns.end(), [](const auto& insn) {
               return insn.opcode_map == 0 && insn.opcode == 0xc8 &&
                      (insn.bytes[insn.length - 1U] & std::byte{31}) != std::byte{0};
           });
}

// Returns whether an instruction such as bt takes its bit number from a register, and
// so may access bits of a trampoline.
static bool takes_our_bits(const std::vector<Instruction>& insns)
{
    return std::any_of(insns.begin(), insns.end(), [](const auto& insn) {
        bool by_register = insn.opcode == 0xa3 || insn.opcode == 0xab ||
                           insn.opcode == 0xb3 || insn.opcode == 0xbb;
        return insn.encoding == Encoding::legacy && insn.opcode_map == 1 &&
               by_register && insn.rip_relative;
    });
}

WindowRuns::Ended WindowRuns::compare(Sequence& s, const Outcome& native,
                                      NativeState& ours)
{
    if (ours.signal != 0) {
        TargetAddr pc{ours.regs.rip};
        if (in_stub(pc.value))
            return skipped;
        for (const Patch& patch : s.patches) {
            auto place = place_of(patch, pc);
            if (place &&
                (place->kind == PatchPlace::head || place->kind == PatchPlace::tail))
                return skipped; // a head or tail faults if rsp is not a valid address
        }
        std::uint8_t added = 0;
        std::uint64_t before = ours.regs[Reg::rsp];
        if (leave(s, ours, pc)) {
            added = static_cast<std::uint8_t>(ours.regs[Reg::rsp] - before);
            if (ours.fault_address == pc.value)
                ours.fault_address = ours.regs.rip;
        }
        // Ignore the return address that a faulting copy of a call has pushed.
        if (added != 0)
            ft_window_sites[15] = {0, 0, before};
    }
    std::vector<std::size_t> below = below_red_zones();
    for (std::size_t i : below)
        differential_.sandbox().data()[i] = native.data[i];
    if (differential_.same(s.c, native, ours, 0, true))
        return native.state.signal != 0 ? faulted : same;
    if (copies_text(s.insns, s.c.start.regs, differential_.sandbox().code()) ||
        takes_our_bits(s.insns))
        return skipped;
    Ended failed = fail(s, "with windows:");
    return reads(s, s.entry, native, below) ? skipped : failed;
}

std::vector<std::size_t> WindowRuns::below_red_zones() const
{
    std::uint64_t first = Sandbox::address(differential_.sandbox().data().data());
    std::vector<std::size_t> out;
    for (const WindowSite& site : ft_window_sites) {
        for (std::uint64_t i = site.rsp - 16; i != site.rsp - 16 + below_bytes; ++i) {
            if (site.rsp != 0 && i - first < Sandbox::data_bytes)
                out.push_back(i - first);
        }
    }
    return out;
}

// Returns whether the result of the sequence depends on the data bytes at `indices`.
// These bytes are below the red zone, and real programs do not read them.
bool WindowRuns::reads(const Sequence& s, TargetAddr entry, const Outcome& native,
                       const std::vector<std::size_t>& indices)
{
    Sequence other;
    other.c = s.c;
    other.at = s.at;
    other.text = s.text;
    // For each flag (parity, carry, sign), one of these changes must change the flag.
    for (unsigned change : {0x5aU, 0x01U, 0x80U, 0xffU}) {
        for (std::size_t i : indices)
            other.c.data[i] = s.c.data[i] ^ static_cast<std::byte>(change);
        Outcome again = run_original(other, entry);
        for (std::size_t i : indices)
            differential_.sandbox().data()[i] = native.data[i];
        if (!differential_.same(s.c, native, again.state, 0, true))
            return true;
    }
    return false;
}

WindowRuns::Ended WindowRuns::run(const std::vector<std::vector<std::byte>>& sequence,
                                  std::size_t key)
{
    std::optional<Sequence> arranged = arrange_sequence(differential_, sequence, key);
    if (!arranged)
        return skipped;
    Sequence& s = *arranged;
    if (!patch(s)) {
        give_back(s);
        return refused;
    }
    s.entry = entry_of(s);
    Outcome native = run_original(s, s.entry);
    NativeState ours = s.c.start;
    ours.regs.rip = s.entry.value;
    Ended ended = run_patched(s, ours);
    if (ended == same)
        ended = compare(s, native, ours);
    bool arrived_behind =
        native.state.signal == 0 && native.state.regs.rip == s.at.value + s.text.size();
    for (std::size_t i = 0; i < s.insns.size() && ended == same; ++i) {
        if (s.placed[i] && s.insns[i].at >= s.entry &&
            ft_window_sites[i].n_fired != 1 &&
            (arrived_behind || ft_window_sites[i].n_fired > 1))
            ended = fail(s, "a site did not fire once");
    }
    if (ended == same || ended == faulted) {
        for (const Patch& patch : s.patches) {
            ++n_forms[patch.form];
            n_prefixed += patch.form != PatchForm::plain &&
                                  patch.text.front() == patch.arch->jump_prefix
                              ? 1
                              : 0;
            n_from_behind += s.entry != s.at ? 1 : 0;
            for (const Moved& moved : patch.moved)
                for (const Instruction& insn : s.insns)
                    n_moved[insn.flow] += insn.at == moved.from ? 1 : 0;
        }
    }
    give_back(s);
    return ended;
}

WindowRuns::Ended
WindowRuns::run_and_leave(const std::vector<std::vector<std::byte>>& sequence,
                          std::size_t key)
{
    std::optional<Sequence> arranged = arrange_sequence(differential_, sequence, key);
    if (!arranged)
        return skipped;
    Sequence& s = *arranged;
    if (!patch(s)) {
        give_back(s);
        return refused;
    }
    s.entry = s.at;
    Outcome native = run_original(s, s.entry);
    const Patch& patch = s.patches[differential_.random()() % s.patches.size()];
    std::vector<TargetAddr> places;
    for (std::size_t i = 0; i < patch.code.size(); ++i) {
        if (place_of(patch, patch.trampoline + i))
            places.push_back(patch.trampoline + i);
    }
    TargetAddr stop = places[differential_.random()() % places.size()];
    std::byte stood = *at(stop);
    *at(stop) = std::byte{0xcc};
    NativeState ours = s.c.start;
    ours.regs.rip = s.at.value;
    Ended ended = run_patched(s, ours);
    if (ended == same && ours.signal == SIGTRAP && ours.regs.rip == stop.value + 1) {
        if (!leave(s, ours, stop))
            ended = fail(s, "no place");
        write_original(s);
        native_run(ours, {s.at.value + s.text.size(), s.c.pads[1]});
        ours.regs.fs_base = s.c.start.regs.fs_base;
    } else {
        *at(stop) = stood;
    }
    if (ended == same)
        ended = compare(s, native, ours);
    give_back(s);
    return ended;
}

} // namespace dt::test
