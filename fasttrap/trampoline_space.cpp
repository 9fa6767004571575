// SPDX-License-Identifier: MIT
// Allocates addresses for trampolines and stubs. displacement.hpp describes which
// addresses are legal. d0 to d3 are the bytes of a jump's displacement, lowest first. A
// byte is constrained if it must be a trap byte or has a fixed value.
//
// If neither d1 nor d2 is constrained, a search continues where the last search ended.
// If d1 or d2 is constrained, this would scatter the trampolines over many pages of the
// target. Instead, the search examines the pages in this order:
//
//   1. pages that are in use and not crowded
//   2. all pages that are not crowded
//   3. all pages
#include "base/page_bytes.hpp"
#include "fasttrap/displacement.hpp"
#include "fasttrap/zeroed_words.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace dt {

namespace {

// The first bytes of a large area are reserved for the address of dt_rt_enter.
constexpr std::uint64_t enter_bytes = 16;
// A page with fewer free bytes than this is crowded.
constexpr std::uint64_t crowded_bytes = 1280;
constexpr std::uint64_t block_bytes = 65536;
// Areas of at most this size are used only for stubs.
constexpr std::uint64_t small_area = 4 * page_bytes;
// The maximum number of addresses that one pass of take_chain() tries.
constexpr int max_tries = 4096;

} // namespace

struct TrampolineSpace::Area {
    TargetAddr start;
    std::uint64_t bytes = 0;
    ZeroedWords used;                     // one bit for each byte
    std::vector<std::uint16_t> page_free; // free bytes of each page
    std::vector<std::uint64_t> roomy;     // a bit per page: set if it is not crowded
    // A bit per page: set if the page is in use and not crowded.
    std::vector<std::uint64_t> shared;
    std::uint64_t next = enter_bytes; // where the next search begins
    // Start of the next search, in units of block_bytes. Used only if d1 is constrained
    // and d2 is not.
    std::uint64_t next_block = 0;
    // The smallest size for which a search without constraints has failed since the
    // last give_back().
    std::size_t n_full = std::numeric_limits<std::size_t>::max();

    Area(TargetAddr at, std::uint64_t n)
        : start(at), bytes(n), used((n + 63) / 64),
          page_free(n / page_bytes, page_bytes),
          roomy((n / page_bytes + 63) / 64, ~0ULL), shared((n / page_bytes + 63) / 64)
    {
        if (n > small_area)
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

    // Returns the first byte at or after i that is in use (if in_use is set) or free
    // (if not). Returns `limit` if there is no such byte before `limit`.
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

    // Returns the first byte at or after i in a page that this pass searches. Returns
    // `bytes` if there is no such page.
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

    // Returns the first legal run of n free bytes that starts in [i, end), or nothing.
    std::optional<std::uint64_t> search(const Constraint& c, std::size_t n,
                                        std::uint64_t i, std::uint64_t end,
                                        Pass pass) const
    {
        auto shift =
            static_cast<std::int64_t>(start - c.origin); // displacement minus index
        auto first = std::max(static_cast<std::int64_t>(i), c.from - shift);
        auto last = std::min(static_cast<std::int64_t>(std::min(end, bytes - n + 1)),
                             c.to - shift);
        auto legal = [&](std::int64_t at) {
            return next_legal(c, c.mask, at + shift) - shift;
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

    // Finds n free bytes for a trampoline, and returns the index of the first byte. The
    // trampoline does not begin in a crowded page.
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
        if (!found && c.mask == 0 && c.from == -farthest_jump + jump_slack &&
            c.to == farthest_jump - jump_slack)
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
    Areas& list = bytes > small_area ? areas_ : stub_areas_;
    auto at =
        std::upper_bound(list.begin(), list.end(), start,
                         [](TargetAddr a, const auto& b) { return a < b->start; });
    auto made = list.insert(at, std::make_unique<Area>(start, bytes));
    if (&list == &areas_)
        recent_ = static_cast<std::size_t>(made - list.begin());
}

TrampolineSpace::Area* TrampolineSpace::holding(TargetAddr at) const
{
    for (const Areas* list : {&areas_, &stub_areas_}) {
        auto after =
            std::upper_bound(list->begin(), list->end(), at,
                             [](TargetAddr a, const auto& b) { return a < b->start; });
        if (after != list->begin() && (*--after)->holds(at))
            return after->get();
    }
    return nullptr;
}

template <class Find> std::optional<TargetAddr> TrampolineSpace::in_areas(Find find)
{
    for (std::size_t i = 0; i < areas_.size(); ++i) {
        // Start with the area that was used last.
        std::size_t at = i == 0 ? recent_ : i <= recent_ ? i - 1 : i;
        if (std::optional<TargetAddr> found = find(*areas_[at])) {
            recent_ = at;
            return found;
        }
    }
    return std::nullopt;
}

std::optional<TargetAddr> TrampolineSpace::take_plain(const Window& window,
                                                      std::size_t n_bytes,
                                                      std::optional<TargetAddr> stub)
{
    Constraint c = constraint_of(window);
    if (stub)
        c.keep_in_reach(*stub);
    for (auto find : {&Area::find_place, &Area::find_any_place}) {
        auto found = in_areas([&](Area& area) -> std::optional<TargetAddr> {
            std::optional<std::uint64_t> at = (area.*find)(c, n_bytes);
            if (!at)
                return std::nullopt;
            area.mark(*at, n_bytes, true);
            return area.start + *at;
        });
        if (found)
            return found;
    }
    return std::nullopt;
}

// Allocates the trampoline and the stubs of a pair or chain. The jumps overlap, so the
// address of the trampoline limits the addresses of the stubs.
std::optional<Placement> TrampolineSpace::take_chain(const Window& window,
                                                     std::size_t n_bytes)
{
    Constraint c = constraint_of(window);
    Placement place;
    int n_tries = 0;
    auto with_stubs = [&](Area& area, Area::Pass pass) -> std::optional<TargetAddr> {
        for (std::uint64_t from = 0; n_tries > 0; --n_tries) {
            auto at = area.search(c, n_bytes, from, area.bytes, pass);
            if (!at)
                return std::nullopt;
            area.mark(*at, n_bytes, true);
            place = {area.start + *at, {}};
            if (take_stubs(window, place, n_tries))
                return place.trampoline;
            area.mark(*at, n_bytes, false);
            from = *at + 1;
        }
        return std::nullopt;
    };
    for (Area::Pass pass :
         {Area::Pass::used_pages, Area::Pass::roomy_pages, Area::Pass::everywhere}) {
        n_tries = max_tries;
        auto found = in_areas([&](Area& area) {
            return area.bytes < n_bytes ? std::nullopt : with_stubs(area, pass);
        });
        if (found)
            return place;
    }
    return std::nullopt;
}

// Allocates the stubs that `place` does not have yet. Returns false if that is not
// possible. Each tried address reduces n_tries by one.
bool TrampolineSpace::take_stubs(const Window& window, Placement& place, int& n_tries)
{
    if (place.stubs.size() == window.chained.size())
        return true;
    Constraint c = constraint_of_stub(window, place);
    for (const std::unique_ptr<Area>& area : areas_) {
        for (std::uint64_t from = 0; n_tries > 0; --n_tries) {
            auto at =
                area->search(c, stub_bytes, from, area->bytes, Area::Pass::everywhere);
            if (!at)
                break;
            area->mark(*at, stub_bytes, true);
            place.stubs.push_back(area->start + *at);
            if (take_stubs(window, place, n_tries))
                return true;
            place.stubs.pop_back();
            area->mark(*at, stub_bytes, false);
            from = *at + 1;
        }
    }
    return false;
}

std::optional<Placement> TrampolineSpace::take_punned(const Window& window,
                                                      std::size_t n_bytes)
{
    std::optional<TargetAddr> stub = take_stub(window);
    if (!stub)
        return std::nullopt;
    std::optional<TargetAddr> to = take_plain(window, n_bytes, stub);
    if (!to) {
        give_back(*stub, stub_bytes);
        return std::nullopt;
    }
    return Placement{*to, *stub};
}

// Allocates the stub of a punned window. Returns nothing if no area has free space at a
// legal address.
std::optional<TargetAddr> TrampolineSpace::take_stub(const Window& window)
{
    Constraint c = constraint_of_stub(window, {});
    auto take_in = [&](Area& area) -> std::optional<TargetAddr> {
        auto at = area.search(c, stub_bytes, 0, area.bytes, Area::Pass::everywhere);
        if (!at)
            return std::nullopt;
        area.mark(*at, stub_bytes, true);
        return area.start + *at;
    };
    for (const std::unique_ptr<Area>& area : areas_) {
        if (std::optional<TargetAddr> at = take_in(*area))
            return at;
    }
    for (const Reach& reach : reach_of(window)) {
        TargetAddr from = c.origin + static_cast<std::uint64_t>(reach.from);
        TargetAddr end = c.origin + static_cast<std::uint64_t>(reach.to);
        auto area = std::upper_bound(
            stub_areas_.begin(), stub_areas_.end(), from,
            [](TargetAddr a, const auto& b) { return a < b->start + b->bytes; });
        for (; area != stub_areas_.end() && (*area)->start < end; ++area) {
            if (std::optional<TargetAddr> at = take_in(**area))
                return at;
        }
    }
    return std::nullopt;
}

std::optional<Placement> TrampolineSpace::take(const Window& window,
                                               std::size_t n_bytes)
{
    if (!window.chained.empty())
        return take_chain(window, n_bytes);
    if (window.form == PatchForm::punned)
        return take_punned(window, n_bytes);
    std::optional<TargetAddr> at = take_plain(window, n_bytes, std::nullopt);
    return at ? std::optional(Placement{*at, {}}) : std::nullopt;
}

void TrampolineSpace::give_back(const Placement& place, std::size_t n_bytes)
{
    give_back(place.trampoline, n_bytes);
    for (TargetAddr stub : place.stubs)
        give_back(stub, stub_bytes);
}

std::optional<TargetAddr> TrampolineSpace::area_of(TargetAddr at) const
{
    Area* area = holding(at);
    return area != nullptr ? std::optional(area->start) : std::nullopt;
}

void TrampolineSpace::give_back(TargetAddr at, std::size_t n_bytes)
{
    Area* area = holding(at);
    if (area == nullptr)
        return;
    std::uint64_t first = at - area->start;
    area->mark(first, n_bytes, false);
    area->n_full = std::numeric_limits<std::size_t>::max();
    area->next = std::min(area->next, first);
    area->next_block = std::min(area->next_block, first / block_bytes);
}

} // namespace dt
