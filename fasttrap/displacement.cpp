// SPDX-License-Identifier: MIT
#include "fasttrap/displacement.hpp"

#include <algorithm>
#include <cassert>

namespace dt {

namespace {

constexpr std::byte jump_opcode{0xe9}; // first byte that Arch::put_jump() writes

template <class IsTrap> NextTrap next_traps(IsTrap is_trap)
{
    NextTrap next{};
    next[256] = no_byte;
    for (unsigned b = 256; b-- > 0;)
        next[b] = static_cast<std::uint16_t>(
            is_trap(static_cast<std::byte>(b)) ? b : next[b + 1]);
    return next;
}

const NextTrap& next_traps_of(const Arch& arch, TrapBytes which = TrapBytes::any)
{
    static const NextTrap x86 = next_traps(x86_64.traps);
    static const NextTrap int3 = next_traps(
        [](std::byte b) { return static_cast<std::uint8_t>(b) == x86_64.trap[0]; });
    assert(&arch == &x86_64); // the only Arch so far
    return which == TrapBytes::int3 ? int3 : x86;
}

// Returns how many bytes of the window's first jump overlap no other code. Does not
// count the jump's prefixes.
unsigned own_jump_bytes(const Window& window)
{
    return static_cast<unsigned>(window.own_bytes() - window.n_prefix);
}

// Returns a mask for the jump at `at`. Bit k is set if an instruction starts at byte k
// of the jump's displacement. Considers only the first n bytes of the jump.
unsigned starts_in_jump(const Window& window, TargetAddr at, std::size_t n)
{
    unsigned mask = 0;
    for (const WindowInsn& w : window.insns) {
        std::uint64_t offset = w.insn.at - at;
        if (offset > 0 && offset < n && offset < window.arch->jump_bytes)
            mask |= 1U << (offset - 1);
    }
    return mask;
}

// If a prefix or the opcode of a jump after the k-th jump is at `at`, returns this
// byte.
std::optional<std::byte> given_at(const Window& window, std::size_t k, TargetAddr at)
{
    for (std::size_t later = k + 1; later < window.n_jumps(); ++later) {
        if (at == window.jump(later))
            return jump_opcode;
        if (at >= window.block(later) && at < window.jump(later))
            return window.arch->jump_prefix;
    }
    return std::nullopt;
}

// If the displacement of a jump before the k-th jump contains the address `at`, returns
// the byte at `at`.
std::optional<std::byte> placed_at(const Window& window, std::size_t k, TargetAddr at,
                                   const Placement& so_far)
{
    for (std::size_t earlier = 0; earlier < k; ++earlier) {
        std::uint64_t offset = at - window.jump(earlier) - 1;
        if (offset >= 4)
            continue;
        TargetAddr to = earlier == 0 ? so_far.trampoline : so_far.stubs[earlier - 1];
        std::uint64_t d = to - (window.jump(earlier) + window.arch->jump_bytes);
        return static_cast<std::byte>(d >> 8 * offset);
    }
    return std::nullopt;
}

// Constrains the destination of the k-th jump of a pair or chain. so_far contains the
// destinations of the earlier jumps.
void constrain_jump(const Window& window, std::size_t k, const Placement& so_far,
                    Constraint& c)
{
    c.origin = window.jump(k) + window.arch->jump_bytes;
    c.mask = starts_in_jump(window, window.jump(k), window.arch->jump_bytes);
    for (unsigned i = 0; i < 4; ++i) {
        TargetAddr at = window.jump(k) + 1 + i;
        auto value = given_at(window, k, at);
        if (!value)
            value = placed_at(window, k, at, so_far);
        if (value)
            c.fix(i, *value);
    }
}

void sort_by_distance(std::vector<Reach>& reaches)
{
    auto away = [](const Reach& r) { return r.from >= 0 ? r.from : 1 - r.to; };
    std::sort(reaches.begin(), reaches.end(),
              [&](const Reach& a, const Reach& b) { return away(a) < away(b); });
}

} // namespace

std::int64_t next_legal(const Rules& rules, unsigned mask, std::int64_t d)
{
    for (int k = 3; k >= 0; --k) {
        if ((mask >> k & 1U) == 0)
            continue;
        int shift = 8 * k;
        auto byte = static_cast<unsigned>(d >> shift & 0xff);
        unsigned next = rules.next(k, byte);
        if (next == byte)
            continue;
        d = ((d >> shift) + next - byte) << shift; // adding no_byte (256) carries
        k = 4;
    }
    return d;
}

bool is_highest_given(const Window& window, std::size_t k)
{
    return given_at(window, k, window.jump(k) + 4).has_value();
}

std::optional<Reach> far_reach_of(const Window& window, std::size_t k)
{
    auto highest = given_at(window, k, window.jump(k) + 4);
    if (!highest)
        return std::nullopt;
    constexpr std::int64_t step = 1 << 24;
    std::int64_t from = static_cast<std::int8_t>(*highest) * step;
    return Reach{from, from + step};
}

std::vector<Reach> stub_reach_of(const Window& window, std::size_t k)
{
    if (auto given = far_reach_of(window, k))
        return {*given};
    constexpr unsigned highest = 8;
    constexpr std::int64_t step = 1 << 24;
    const Arch& arch = *window.arch;
    std::vector<Reach> out;
    if ((starts_in_jump(window, window.jump(k), arch.jump_bytes) & highest) == 0)
        return out;
    for (int byte = -128; byte < 128; ++byte)
        if (arch.traps(static_cast<std::byte>(byte)))
            out.push_back({byte * step, (byte + 1) * step});
    sort_by_distance(out);
    return out;
}

Constraint constraint_of_stub(const Window& window, const Placement& so_far)
{
    Constraint c;
    c.traps = &next_traps_of(*window.arch);
    c.from = -farthest_jump + jump_slack;
    c.to = farthest_jump - jump_slack;
    unsigned n = own_jump_bytes(window);
    if (window.form == PatchForm::punned) {
        c.origin = window.origin();
        c.mask = trapping_bytes(window);
        for (unsigned k = 0; k < window.n_kept; ++k)
            c.fix(n - 1 + k, window.kept[k]);
        return c;
    }
    constrain_jump(window, so_far.stubs.size() + 1, so_far, c);
    c.keep_in_reach(so_far.trampoline);
    return c;
}

Constraint constraint_of(const Window& window)
{
    const Arch& arch = *window.arch;
    Constraint c;
    c.traps = &next_traps_of(arch, window.trap_bytes);
    c.mask = trapping_bytes(window);
    c.origin = window.origin();
    c.from = -farthest_jump + jump_slack;
    c.to = farthest_jump - jump_slack;
    if (window.form == PatchForm::punned)
        c.mask = 0; // the jump leads to the stub, so the trampoline is not constrained
    if (!window.chained.empty())
        constrain_jump(window, 0, {}, c);
    for (const WindowInsn& w : window.insns) {
        if (!w.insn.rip_relative)
            continue;
        TargetAddr data =
            w.insn.next() + static_cast<std::uint64_t>(w.insn.memory.disp);
        c.keep_in_reach(data);
    }
    return c;
}

unsigned trapping_bytes(const Window& window)
{
    return starts_in_jump(window, window.at() + window.n_prefix,
                          own_jump_bytes(window));
}

std::vector<Reach> reach_of(const Window& window)
{
    if (window.form == PatchForm::punned) {
        Constraint c = constraint_of_stub(window, {});
        std::int64_t d = next_legal(c, c.fixed, c.from);
        std::int64_t n = std::int64_t{1} << 8 * (own_jump_bytes(window) - 1);
        return d < c.to ? std::vector<Reach>{{d, d + n}} : std::vector<Reach>{};
    }
    Constraint c = constraint_of(window);
    // d0 to d3 are the bytes of the displacement (displacement.hpp). If d2 is
    // constrained, the ranges are 64 KiB long. If only d3 is constrained, they are 16
    // MiB long. In each range, there are addresses for which d0 and d1 are legal too.
    int shift = (c.mask & 4) != 0 ? 16 : 24;
    unsigned high = c.mask & 12;
    std::vector<Reach> out;
    if (high == 0) {
        if (c.from < c.to)
            out.push_back({c.from, c.to});
        return out;
    }
    for (std::int64_t d = next_legal(c, high, c.from); d < c.to;) {
        std::int64_t end = std::min(c.to, ((d >> shift) + 1) << shift);
        if (!out.empty() && out.back().to == d)
            out.back().to = end;
        else
            out.push_back({d, end});
        d = next_legal(c, high, end);
    }
    sort_by_distance(out);
    return out;
}

std::vector<Reach> common_reach(const Arch& arch, TargetAddr begin, TargetAddr end)
{
    Rules next;
    next.traps = &next_traps_of(arch);
    constexpr unsigned highest = 8;
    constexpr std::int64_t step = 1 << 24;
    auto length = static_cast<std::int64_t>(end - begin);
    auto jump = static_cast<std::int64_t>(arch.jump_bytes);
    std::vector<Reach> out;
    for (std::int64_t d = next_legal(next, highest, -farthest_jump);
         d < farthest_jump;) {
        std::int64_t to = d + step;
        while (next_legal(next, highest, to) == to)
            to += step;
        // Each window in the text must reach the range. The last window determines the
        // lower limit, and the first window the upper limit.
        Reach reach{std::max(d, -farthest_jump + jump_slack) + length + jump,
                    std::min(to, farthest_jump - jump_slack) + jump};
        if (reach.from < reach.to)
            out.push_back(reach);
        d = next_legal(next, highest, to);
    }
    sort_by_distance(out);
    return out;
}

} // namespace dt
