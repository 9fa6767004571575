// SPDX-License-Identifier: MIT
// The site table. A site contains the address of the code that its trampoline calls,
// and a list of the probes that fire there (struct dt_rt_firing).
//
// An inert site has an empty list. set_firings() sets the list, and the engine then
// fires the probes. If the list has only one probe, set_compiled() can replace the
// engine with compiled code. A site's code runs one clause. Each further clause of the
// probe has an additional site, which has no trampoline and is freed together with the
// first site.
#include "ptrace-agent/inject/runtime_map.hpp"

#include "base/page_bytes.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace dt::agent {

// If there are this many sites, no additional sites are added. Then the engine executes
// the probes that have several clauses.
constexpr std::uint32_t max_sites_with_code = DT_RT_MAX_SITES / 2;

std::array<std::span<std::byte>, 4> RuntimeMap::room_for(std::size_t n_sites)
{
    auto next = [n_sites](auto table, std::size_t n_used) {
        auto left = table.subspan(std::min(n_used, table.size()));
        return std::as_bytes(left.first(std::min(n_sites, left.size())));
    };
    auto sites = next(std::span(config().sites), n_sites_);
    auto firings = next(std::span(config().firings), n_firings_);
    return {config_.own_pages(sites), config_.shared_pages(sites),
            config_.own_pages(firings), config_.shared_pages(firings)};
}

std::optional<std::uint32_t> RuntimeMap::add_site(TargetAddr at, unsigned session)
{
    std::uint32_t site = n_sites_;
    if (!free_sites_.empty()) {
        site = free_sites_.back();
        free_sites_.pop_back();
    } else if (n_sites_ == DT_RT_MAX_SITES) {
        return std::nullopt;
    } else {
        ++n_sites_;
        n_listed_.push_back(0);
    }
    dt_rt_site inert{};
    inert.at = at.value;
    inert.session = static_cast<std::uint16_t>(session);
    inert.code = image.value + runtime_header().skip;
    config_.set(config().sites[site], inert);
    return site;
}

void RuntimeMap::move_site(std::uint32_t site, unsigned session)
{
    dt_rt_site moved{};
    moved.at = config().sites[site].at;
    moved.back = config().sites[site].back;
    moved.code = image.value + runtime_header().skip;
    moved.taken = config().sites[site].taken;
    moved.session = static_cast<std::uint16_t>(session);
    free_lists_of(site);
    config_.set(config().sites[site], moved);
}

std::optional<TargetAddr> RuntimeMap::link_to(AddressSpace& space, std::uint32_t site)
{
    constexpr std::uint32_t per_page = page_bytes / DT_RT_LINK_BYTES;
    const TargetAddr links = image + DT_RT_LINKS;
    const std::uint32_t page = site / per_page;
    if (written_links_.count(page) != 0)
        return links + site * DT_RT_LINK_BYTES;
    std::array<std::byte, page_bytes> code;
    code.fill(std::byte{0xcc}); // int3
    for (std::uint32_t i = 0; i < per_page; i++) {
        const std::uint32_t to = page * per_page + i;
        const std::uint64_t next = DT_RT_LINKS + to * DT_RT_LINK_BYTES + 10;
        const auto distance = static_cast<std::uint32_t>(runtime_header().enter - next);
        std::byte* at = code.data() + i * DT_RT_LINK_BYTES;
        at[0] = std::byte{0xbb}; // mov $to,%ebx
        std::memcpy(at + 1, &to, sizeof to);
        at[5] = std::byte{0xe9}; // jmp dt_rt_enter
        std::memcpy(at + 6, &distance, sizeof distance);
    }
    if (!space.write_text(links + std::uint64_t{page} * page_bytes, code))
        return std::nullopt;
    written_links_.insert(page);
    return links + site * DT_RT_LINK_BYTES;
}

void RuntimeMap::set_back(std::uint32_t site, TargetAddr back)
{
    config_.publish(config().sites[site].back, back.value);
    auto all = behind_.find(site);
    if (all == behind_.end())
        return;
    for (std::uint32_t behind : all->second)
        config_.publish(config().sites[behind].back, back.value);
}

void RuntimeMap::set_condition(std::uint32_t site, std::uint32_t condition)
{
    config_.set(config().sites[site].taken, static_cast<std::uint8_t>(condition));
}

void RuntimeMap::set_code(const dt_rt_site& site, std::uint64_t code)
{
    config_.publish(site.code, code);
}

// Returns the address of the code for a site without compiled code. This code makes the
// engine fire the site's probes, if any.
std::uint64_t RuntimeMap::plain_code(const dt_rt_site& site) const
{
    const dt_rt_header& header = runtime_header();
    if (site.n_firings == 0)
        return image.value + header.skip;
    return image.value +
           (site.condition == 0
                ? dt_rt_generic_at(&header, site.session)
                : dt_rt_condition_at(&header, site.session, site.condition));
}

// Writes the data for compiled code to a site. Returns false if the site already has
// other data, which a thread may be about to read.
bool RuntimeMap::tell(const dt_rt_site& site, const Compiled& compiled)
{
    if (site.probe != 0 && (site.probe != compiled.probe.value ||
                            site.arg0 != compiled.arg0 || site.epid != compiled.epid))
        return false;
    config_.set(site.probe, compiled.probe.value);
    config_.set(site.arg0, compiled.arg0);
    config_.set(site.epid, compiled.epid);
    return true;
}

// Returns an additional site that runs a clause and then continues with the site
// `next`. If `next` is 0, the clause is the last one. Reuses an existing site if
// possible. Returns nothing if the table is full.
std::optional<std::uint32_t> RuntimeMap::site_behind(std::uint32_t site,
                                                     const Compiled& compiled,
                                                     std::uint32_t next)
{
    const std::uint64_t code =
        compiled.code.value != 0
            ? compiled.code.value
            : image.value + dt_rt_generic_at(&runtime_header(), session_of(site));
    const dt_rt_firing& firing = config().firings[config().sites[site].first_firing];
    for (std::uint32_t other : behind_[site]) {
        const dt_rt_site& known = config().sites[other];
        const dt_rt_firing& known_firing = config().firings[known.first_firing];
        if (known.from == compiled.epid && known.next == next && known.code == code &&
            known_firing.probe == firing.probe && known_firing.kind == firing.kind &&
            known_firing.arg0 == firing.arg0)
            return other;
    }
    if (free_sites_.empty() && n_sites_ >= max_sites_with_code)
        return std::nullopt;
    auto made = add_site({config().sites[site].at}, session_of(site));
    if (!made)
        return std::nullopt;
    behind_[site].push_back(*made);
    const dt_rt_site& behind = config().sites[*made];
    dt_rt_site filled = behind;
    filled.back = config().sites[site].back;
    filled.first_firing = config().sites[site].first_firing;
    filled.n_firings = 1;
    filled.from = compiled.epid;
    filled.next = next;
    config_.set(behind, filled);
    tell(behind, compiled);
    set_code(behind, code);
    return made;
}

void RuntimeMap::set_compiled(std::uint32_t number, std::span<const Compiled> clauses)
{
    const dt_rt_site& site = config().sites[number];
    if (clauses.empty() || clauses[0].code.value == 0 || site.condition != 0 ||
        site.n_firings != 1 || !tell(site, clauses[0]))
        return;
    std::uint32_t next = 0;
    for (std::size_t i = clauses.size(); i-- > 1;) {
        auto behind = site_behind(number, clauses[i], next);
        if (!behind)
            return;
        next = *behind;
    }
    config_.publish(site.next, next);
    set_code(site, clauses[0].code.value);
}

// Returns the index of n unused firings. Returns nothing if the table is full.
std::optional<std::uint32_t> RuntimeMap::take_firings(std::uint32_t n)
{
    std::vector<std::uint32_t>& free = free_lists_[n];
    if (!free.empty()) {
        const std::uint32_t first = free.back();
        free.pop_back();
        return first;
    }
    if (n > DT_RT_MAX_FIRINGS - n_firings_)
        return std::nullopt;
    return std::exchange(n_firings_, n_firings_ + n);
}

// Returns the index of a list that contains these firings. Never changes the site's
// current list, because a thread may be reading it. Returns nothing if the table is
// full.
std::optional<std::uint32_t> RuntimeMap::list_for(std::uint32_t site,
                                                  std::span<const dt_rt_firing> firings)
{
    auto n = static_cast<std::uint32_t>(firings.size());
    const std::uint32_t before = config().sites[site].first_firing;
    auto same = [](const dt_rt_firing& a, const dt_rt_firing& b) {
        return a.probe == b.probe && a.kind == b.kind && a.arg0 == b.arg0;
    };
    if (n_listed_[site] == n &&
        std::equal(firings.begin(), firings.end(), config().firings + before, same))
        return before;
    const auto first = take_firings(n);
    if (!first)
        return std::nullopt;
    config_.set_all(config().firings + *first, firings);
    n_listed_[site] = n;
    return first;
}

std::optional<std::uint32_t>
RuntimeMap::call_table(unsigned session, dt_rt_kind kind,
                       std::span<const dt_rt_firing> firings)
{
    auto known = call_tables_.find({session, kind});
    if (known == call_tables_.end()) {
        const auto first = take_firings(DT_RT_SYSCALLS);
        if (!first)
            return std::nullopt;
        known = call_tables_.emplace(std::pair(session, kind), *first).first;
    }
    std::array<dt_rt_firing, DT_RT_SYSCALLS> table{};
    for (const dt_rt_firing& firing : firings)
        if (firing.arg0 < table.size())
            table[firing.arg0] = firing;
    for (std::size_t i = 0; i < table.size(); i++) {
        const dt_rt_firing& entry = config().firings[known->second + i];
        if (entry.probe != table[i].probe || entry.kind != table[i].kind)
            config_.set(entry, table[i]);
    }
    return known->second;
}

void RuntimeMap::free_call_tables(unsigned session)
{
    for (dt_rt_kind kind : {DT_RT_ANY_SYSCALL, DT_RT_ANY_SYSCALL_RETURN})
        if (auto table = call_tables_.extract({session, kind}); !table.empty())
            free_lists_[DT_RT_SYSCALLS].push_back(table.mapped());
}

bool RuntimeMap::set_firings(std::uint32_t site, std::span<const dt_rt_firing> firings)
{
    const dt_rt_site& entry = config().sites[site];
    // An empty list does not replace the index of the old list. list_for() may use the
    // old list again, and free_site() frees it.
    std::uint32_t first = entry.first_firing;
    if (!firings.empty()) {
        auto list = list_for(site, firings);
        if (!list)
            return false;
        first = *list;
    }
    bool returns = std::all_of(firings.begin(), firings.end(),
                               [](const auto& f) { return f.kind == DT_RT_RETURN; });
    if (!returns)
        config_.publish(entry.condition, 0);
    // Threads may be reading both numbers, so one atomic store writes both.
    config_.publish_pair(entry.first_firing, first, entry.n_firings,
                         static_cast<std::uint32_t>(firings.size()));
    if (returns)
        config_.publish(entry.condition, entry.taken);
    set_code(entry, plain_code(entry));
    return true;
}

void RuntimeMap::set_operands(std::span<const dt_operand> all)
{
    std::size_t n = std::min<std::size_t>(all.size(), DT_RT_MAX_OPERANDS);
    if (n <= n_operands_)
        return;
    config_.set_all(config().operands + n_operands_,
                    all.subspan(n_operands_, n - n_operands_));
    n_operands_ = n;
}

void RuntimeMap::retire_site(std::uint32_t site)
{
    set_firings(site, {});
    retired_.push_back(site);
}

void RuntimeMap::free_retired()
{
    for (std::uint32_t site : std::exchange(retired_, {}))
        free_site(site);
}

void RuntimeMap::free_site(std::uint32_t site)
{
    set_firings(site, {});
    free_sites_.push_back(site);
    free_lists_of(site);
}

// Frees the list of firings of an inert site, and the additional sites for its further
// clauses.
void RuntimeMap::free_lists_of(std::uint32_t site)
{
    if (std::uint32_t n = std::exchange(n_listed_[site], 0); n != 0)
        free_lists_[n].push_back(config().sites[site].first_firing);
    auto behind = behind_.find(site);
    if (behind == behind_.end())
        return;
    for (std::uint32_t each : behind->second) {
        set_firings(each, {});
        free_sites_.push_back(each);
    }
    behind_.erase(behind);
}

} // namespace dt::agent
