// SPDX-License-Identifier: MIT
// Where trampolines may stand, and handing out such places.
//
//   d = trampoline - (window + 5)     the jump's displacement, four bytes d0 d1 d2 d3
//
// An instruction that starts k + 1 bytes into the window wants byte k of d to be one that
// traps. Those values of d are found byte by byte from the highest (next_legal), so that
// a search steps over whole ranges that cannot be. d0 leaves places 13 bytes apart on
// average, d1 pieces of 256 bytes, d2 pieces of 64 KiB; d3 says how far away the area must
// be, and is the caller's to arrange (reach_of).
//
// An area is a bitmap, one bit a byte, searched by words. Windows without a constraint on
// d1 and d2 go on where the last one ended. The others would scatter: they look first
// through pages that are in use and not crowded, because a page that nobody touches costs
// the target nothing, then through all but the crowded ones, then everywhere. What only d1
// binds begins in the block of 64 KiB that had room last time.
#include "fasttrap/patch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>

namespace dt {

namespace {

constexpr std::uint64_t enter_bytes = 16; // at an area's start
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t crowded_bytes = 1280; // free in a page, mostly in small holes
constexpr std::uint64_t block_bytes = 65536;
constexpr std::int64_t farthest = std::int64_t(1) << 31;
constexpr std::int64_t slack = 4096; // more than a trampoline and a window
constexpr unsigned none = 256;

using NextTrap = std::array<std::uint16_t, 257>; // the next value that traps, or none

NextTrap next_traps(const Arch& arch)
{
    NextTrap next{};
    next[256] = none;
    for (unsigned b = 256; b-- > 0;)
        next[b] = static_cast<std::uint16_t>(
            arch.traps(static_cast<std::byte>(b)) ? b : next[b + 1]);
    return next;
}

const NextTrap& next_traps_of(const Arch& arch)
{
    static const NextTrap x86 = next_traps(x86_64);
    assert(&arch == &x86_64); // no other has instructions inside of a jump
    return x86;
}

// The first displacement at or behind d whose bytes in mask all trap.
std::int64_t next_legal(const NextTrap& next, unsigned mask, std::int64_t d)
{
    for (int k = 3; k >= 0; --k) {
        if ((mask >> k & 1U) == 0)
            continue;
        int shift = 8 * k;
        auto byte = static_cast<unsigned>(d >> shift & 0xff);
        if (next[byte] == byte)
            continue;
        d = ((d >> shift) + next[byte] - byte) << shift; // none carries into the next
        k = 4;
    }
    return d;
}

struct Constraint {
    const NextTrap* next = nullptr;
    unsigned mask = 0;
    TargetAddr origin;     // displacements count from here
    std::int64_t from, to; // [from, to) of them keep the window's data in reach
};

Constraint constraint_of(const Window& window)
{
    const Arch& arch = *window.arch;
    Constraint c{&next_traps_of(arch), trapping_bytes(window),
                 window.at() + arch.jump_bytes, -farthest + slack, farthest - slack};
    for (const WindowInsn& w : window.insns) {
        if (!w.insn.rip_relative)
            continue;
        TargetAddr data =
            w.insn.next() + static_cast<std::uint64_t>(w.insn.memory.disp);
        auto d = static_cast<std::int64_t>(data - c.origin);
        c.from = std::max(c.from, d - farthest + slack);
        c.to = std::min(c.to, d + farthest - slack);
    }
    return c;
}

void sort_by_distance(std::vector<Reach>& reaches)
{
    auto away = [](const Reach& r) { return r.from >= 0 ? r.from : 1 - r.to; };
    std::sort(reaches.begin(), reaches.end(),
              [&](const Reach& a, const Reach& b) { return away(a) < away(b); });
}

} // namespace

unsigned trapping_bytes(const Window& window)
{
    unsigned mask = 0;
    for (const WindowInsn& w : window.insns) {
        std::uint64_t offset = w.insn.at - window.at();
        if (offset > 0 && offset < window.arch->jump_bytes)
            mask |= 1U << (offset - 1);
    }
    return mask;
}

struct TrampolineSpace::Area {
    TargetAddr start;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> used;      // a bit a byte
    std::vector<std::uint16_t> page_free; // bytes
    std::vector<std::uint64_t> roomy;     // a bit a page: not crowded
    std::vector<std::uint64_t> shared;    // a bit a page: not crowded, and in use
    std::uint64_t next = enter_bytes;     // where the next search begins
    std::uint64_t next_block = 0;         // of the windows that choose pieces
    std::size_t n_full = std::numeric_limits<std::size_t>::max();
    // Since the last give_back(), this many bytes were not there for a window without
    // any constraint, so for no other either.

    Area(TargetAddr at, std::uint64_t n)
        : start(at), bytes(n), used((n + 63) / 64),
          page_free(n / page_bytes, page_bytes),
          roomy((n / page_bytes + 63) / 64, ~0ULL), shared((n / page_bytes + 63) / 64)
    {
        mark(0, enter_bytes, true);
    }

    bool holds(TargetAddr at) const { return at - start < bytes; }

    void mark(std::uint64_t first, std::uint64_t n, bool in_use)
    {
        for (std::uint64_t i = first, end = first + n; i < end;) {
            std::uint64_t here = std::min(64 - i % 64, end - i);
            std::uint64_t bits = (~0ULL >> (64 - here)) << i % 64;
            assert((used[i / 64] & bits) == (in_use ? 0 : bits));
            used[i / 64] ^= bits;
            std::uint16_t& free = page_free[i / page_bytes];
            free = static_cast<std::uint16_t>(in_use ? free - here : free + here);
            std::uint64_t page = i / page_bytes;
            std::uint64_t bit = 1ULL << page % 64;
            bool has_room = free >= crowded_bytes;
            set(roomy[page / 64], bit, has_room);
            set(shared[page / 64], bit, has_room && free != page_bytes);
            i += here;
        }
    }

    // The first byte at or behind i that is in use (or free), or `bytes`.
    std::uint64_t find(std::uint64_t i, bool in_use, std::uint64_t limit) const
    {
        if (i >= limit)
            return limit;
        std::uint64_t flip = in_use ? 0 : ~0ULL;
        std::uint64_t word = (used[i / 64] ^ flip) & (~0ULL << i % 64);
        while (word == 0) {
            i = (i / 64 + 1) * 64;
            if (i >= limit)
                return limit;
            word = used[i / 64] ^ flip;
        }
        return std::min<std::uint64_t>(limit, (i & ~63ULL) + std::countr_zero(word));
    }

    enum class Pass : std::uint8_t { used_pages, roomy_pages, everywhere };

    static void set(std::uint64_t& word, std::uint64_t bit, bool value)
    {
        word = value ? word | bit : word & ~bit;
    }

    // The first byte at or behind i in a page that the pass looks at, or `bytes`.
    std::uint64_t next_in(Pass pass, std::uint64_t i) const
    {
        if (pass == Pass::everywhere || i >= bytes)
            return i;
        const auto& pages = pass == Pass::used_pages ? shared : roomy;
        std::uint64_t page = i / page_bytes;
        std::size_t w = page / 64;
        std::uint64_t word = pages[w] & (~0ULL << page % 64);
        while (word == 0) {
            if (++w == pages.size())
                return bytes;
            word = pages[w];
        }
        auto found = w * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
        return std::min(bytes, std::max(i, found * page_bytes));
    }

    // The first legal run of n free bytes that starts in [i, end).
    std::optional<std::uint64_t> search(const Constraint& c, std::size_t n,
                                        std::uint64_t i, std::uint64_t end,
                                        Pass pass) const
    {
        auto shift =
            static_cast<std::int64_t>(start - c.origin); // of index to distance
        auto first = std::max(static_cast<std::int64_t>(i), c.from - shift);
        auto last = std::min(static_cast<std::int64_t>(std::min(end, bytes - n + 1)),
                             c.to - shift);
        auto legal = [&](std::int64_t at) {
            return next_legal(*c.next, c.mask, at + shift) - shift;
        };
        for (std::int64_t at = legal(first); at < last;) {
            auto here = static_cast<std::uint64_t>(at);
            std::uint64_t looked_at = next_in(pass, here);
            if (looked_at != here) {
                at = legal(static_cast<std::int64_t>(looked_at));
                continue;
            }
            std::uint64_t clash = find(here, true, here + n);
            if (clash == here + n)
                return here;
            at = legal(static_cast<std::int64_t>(find(clash, false, bytes)));
        }
        return std::nullopt;
    }

    // Where there is room, without looking at every hole.
    std::optional<std::uint64_t> find_place(const Constraint& c, std::size_t n)
    {
        if (n >= n_full || n > bytes)
            return std::nullopt;
        if ((c.mask & 6) == 0) {
            auto found = search(c, n, next, bytes, Pass::roomy_pages);
            if (!found)
                found = search(c, n, 0, next, Pass::roomy_pages);
            if (found)
                next = *found + n;
            return found;
        }
        bool by_block = (c.mask & 4) == 0;
        std::uint64_t begin = by_block ? next_block * block_bytes : 0;
        auto found = search(c, n, begin, bytes, Pass::used_pages);
        if (!found)
            found = search(c, n, begin, bytes, Pass::roomy_pages);
        if (found && by_block)
            next_block = *found / block_bytes;
        return found;
    }

    std::optional<std::uint64_t> find_any_place(const Constraint& c, std::size_t n)
    {
        if (n >= n_full || n > bytes)
            return std::nullopt;
        auto found = search(c, n, 0, bytes, Pass::everywhere);
        if (!found && c.mask == 0 && c.from == -farthest + slack)
            n_full = n;
        return found;
    }
};

TrampolineSpace::TrampolineSpace() = default;
TrampolineSpace::~TrampolineSpace() = default;
TrampolineSpace::TrampolineSpace(TrampolineSpace&&) noexcept = default;
TrampolineSpace& TrampolineSpace::operator=(TrampolineSpace&&) noexcept = default;

void TrampolineSpace::add_area(TargetAddr start, std::uint64_t bytes)
{
    auto at =
        std::upper_bound(areas_.begin(), areas_.end(), start,
                         [](TargetAddr a, const auto& b) { return a < b->start; });
    auto made = areas_.insert(at, std::make_unique<Area>(start, bytes));
    recent_ = static_cast<std::size_t>(made - areas_.begin());
}

std::optional<TargetAddr> TrampolineSpace::take(const Window& window,
                                                std::size_t n_bytes)
{
    Constraint c = constraint_of(window);
    for (auto find : {&Area::find_place, &Area::find_any_place}) {
        for (std::size_t i = 0; i < areas_.size(); ++i) {
            // The one that served last, then the others.
            std::size_t at = i == 0 ? recent_ : i <= recent_ ? i - 1 : i;
            Area& area = *areas_[at];
            std::optional<std::uint64_t> found = (area.*find)(c, n_bytes);
            if (!found)
                continue;
            area.mark(*found, n_bytes, true);
            recent_ = at;
            return area.start + *found;
        }
    }
    return std::nullopt;
}

std::optional<TargetAddr> TrampolineSpace::area_of(TargetAddr at) const
{
    auto after =
        std::upper_bound(areas_.begin(), areas_.end(), at,
                         [](TargetAddr a, const auto& b) { return a < b->start; });
    if (after == areas_.begin() || !(*--after)->holds(at))
        return std::nullopt;
    return (*after)->start;
}

void TrampolineSpace::give_back(TargetAddr at, std::size_t n_bytes)
{
    for (const std::unique_ptr<Area>& area : areas_) {
        if (!area->holds(at))
            continue;
        std::uint64_t first = at - area->start;
        area->mark(first, n_bytes, false);
        area->n_full = std::numeric_limits<std::size_t>::max();
        area->next = std::min(area->next, first);
        area->next_block = std::min(area->next_block, first / block_bytes);
        return;
    }
}

std::vector<Reach> reach_of(const Window& window)
{
    Constraint c = constraint_of(window);
    // Pieces as the lowest constrained byte of d2 and d3 makes them; d0 and d1 leave
    // some place in every page or in every 64 KiB.
    int shift = (c.mask & 4) != 0 ? 16 : 24;
    unsigned high = c.mask & 12;
    std::vector<Reach> out;
    if (high == 0) {
        if (c.from < c.to)
            out.push_back({c.from, c.to});
        return out;
    }
    for (std::int64_t d = next_legal(*c.next, high, c.from); d < c.to;) {
        std::int64_t end = std::min(c.to, ((d >> shift) + 1) << shift);
        if (!out.empty() && out.back().to == d)
            out.back().to = end;
        else
            out.push_back({d, end});
        d = next_legal(*c.next, high, end);
    }
    sort_by_distance(out);
    return out;
}

std::vector<Reach> common_reach(const Arch& arch, TargetAddr begin, TargetAddr end)
{
    const NextTrap& next = next_traps_of(arch);
    constexpr unsigned highest = 8;
    constexpr std::int64_t step = 1 << 24;
    auto length = static_cast<std::int64_t>(end - begin);
    auto jump = static_cast<std::int64_t>(arch.jump_bytes);
    std::vector<Reach> out;
    for (std::int64_t d = next_legal(next, highest, -farthest); d < farthest;) {
        std::int64_t to = d + step;
        while (next_legal(next, highest, to) == to)
            to += step;
        // From the last window's side, and from the first one's.
        Reach reach{std::max(d, -farthest + slack) + length + jump,
                    std::min(to, farthest - slack) + jump};
        if (reach.from < reach.to)
            out.push_back(reach);
        d = next_legal(next, highest, to);
    }
    sort_by_distance(out);
    return out;
}

} // namespace dt
