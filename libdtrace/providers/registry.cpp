// SPDX-License-Identifier: MIT
// The registry's table, and glob matching.
#include "libdtrace/providers/registry.hpp"

#include "libdtrace/symbols/glob.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dt {

Registry::Hash Registry::hash(std::string_view provider, std::string_view module,
                              std::string_view function, std::string_view name)
{
    std::uint64_t hash = 0;
    for (std::string_view part : {provider, module, function, name})
        hash = hash * 0x9e3779b97f4a7c15 + std::hash<std::string_view>{}(part);
    return static_cast<Hash>(hash ^ hash >> 32);
}

void Registry::expect(std::size_t n_more)
{
    std::size_t n = probes_.size() + n_more;
    if (n > probes_.capacity())
        probes_.reserve(std::max(n + n / 8, 2 * probes_.capacity()));
    if (2 * n > slots_.size())
        index(n);
}

void Registry::index(std::size_t n_probes)
{
    std::vector<Slot> before = std::exchange(
        slots_,
        std::vector<Slot>(std::bit_ceil(std::max<std::size_t>(2 * n_probes, 64))));
    std::size_t mask = slots_.size() - 1;
    for (const Slot& each : before) {
        std::size_t slot = each.hash & mask;
        while (each.id != 0 && slots_[slot].id != 0)
            slot = (slot + 1) & mask;
        if (each.id != 0)
            slots_[slot] = each;
    }
}

std::size_t Registry::slot_of(Hash hash, std::string_view provider,
                              std::string_view module, std::string_view function,
                              std::string_view name) const
{
    std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        if (slots_[slot].id == 0)
            return slot;
        if (slots_[slot].hash != hash)
            continue;
        const ProbeInfo& probe = at(slots_[slot].id);
        if (probe.name == name && probe.function == function &&
            probe.module == module && probe.provider == provider)
            return slot;
    }
}

// Copies a name into the registry's memory. `before` is the same part of the previous
// probe's name. If both are equal, returns `before`, which saves memory.
std::string_view Registry::keep(std::string_view text, std::string_view before)
{
    if (text == before)
        return before;
    auto* kept = static_cast<char*>(names_.allocate(text.size() + 1, 1));
    *std::copy(text.begin(), text.end(), kept) = '\0';
    return {kept, text.size()};
}

std::uint32_t Registry::add(Provider* owner, std::string_view provider,
                            std::string_view module, std::string_view function,
                            std::string_view name)
{
    if (2 * (probes_.size() + 1) > slots_.size())
        index(2 * (probes_.size() + 1));
    Hash hashed = hash(provider, module, function, name);
    std::size_t slot = slot_of(hashed, provider, module, function, name);
    if (const std::uint32_t known = slots_[slot].id; known != 0) {
        at(known).waiting = false; // a new process reuses the pid
        return known;
    }
    if (std::uint32_t id = recycled(owner, module, function, name); id != 0) {
        ProbeInfo& probe = at(id);
        remove_slot(slot_of(hash(probe.provider, module, function, name),
                            probe.provider, module, function, name));
        last_provider_ = probe.provider = keep(provider, last_provider_);
        // The slots may have changed when the old name was removed.
        slots_[slot_of(hashed, provider, module, function, name)] = {id, hashed};
        renamed_.push_back(id);
        return id;
    }
    auto next = static_cast<std::uint32_t>(probes_.size() + 1);
    slots_[slot] = {next, hashed};
    const ProbeInfo none{0, "", "", "", ""};
    const ProbeInfo& before = probes_.empty() ? none : probes_.back();
    ProbeInfo info;
    info.id = next;
    info.provider = keep(provider, before.provider);
    info.module = keep(module, before.module);
    info.function = keep(function, before.function);
    info.name = keep(name, before.name);
    info.owner = owner;
    probes_.push_back(info);
    return next;
}

// Frees a slot. A search ends at a free slot, so later entries are moved into it if
// necessary.
void Registry::remove_slot(std::size_t slot)
{
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (slot + 1) & mask; slots_[next].id != 0;
         next = (next + 1) & mask) {
        const std::size_t wanted = slots_[next].hash & mask;
        if (((next - wanted) & mask) < ((next - slot) & mask))
            continue; // a search for this entry starts after `slot`
        slots_[slot] = slots_[next];
        slot = next;
    }
    slots_[slot] = {};
}

void Registry::recycle(const std::string& kin, std::span<const std::uint32_t> ids)
{
    auto& waiting = waiting_[kin];
    for (std::uint32_t id : ids) {
        ProbeInfo& probe = at(id);
        if (std::exchange(probe.waiting, true))
            continue;
        waiting.emplace(hash("", probe.module, probe.function, probe.name), id);
    }
}

std::uint32_t Registry::recycled(Provider* owner, std::string_view module,
                                 std::string_view function, std::string_view name)
{
    if (kin_.empty())
        return 0;
    auto of_kin = waiting_.find(kin_);
    if (of_kin == waiting_.end())
        return 0;
    auto [at_first, end] = of_kin->second.equal_range(hash("", module, function, name));
    for (auto each = at_first; each != end;) {
        const std::uint32_t id = each->second;
        ProbeInfo& probe = at(id);
        if (!probe.waiting) {
            each = of_kin->second.erase(each);
            continue;
        }
        if (probe.owner != owner || probe.module != module ||
            probe.function != function || probe.name != name) {
            ++each;
            continue;
        }
        probe.waiting = false;
        of_kin->second.erase(each);
        return id;
    }
    return 0;
}

std::vector<std::uint32_t> Registry::take_renamed()
{
    return std::exchange(renamed_, {});
}

std::uint32_t Registry::find(std::string_view provider, std::string_view module,
                             std::string_view function, std::string_view name) const
{
    if (slots_.empty())
        return 0;
    return slots_[slot_of(hash(provider, module, function, name), provider, module,
                          function, name)]
        .id;
}

static bool part_matches(const std::string& pattern, bool pattern_is_glob,
                         std::string_view text)
{
    if (pattern.empty())
        return true;
    return pattern_is_glob ? glob_match(pattern, text) : pattern == text;
}

std::vector<std::uint32_t> Registry::match(const std::string& provider,
                                           const std::string& module,
                                           const std::string& function,
                                           const std::string& name) const
{
    std::vector<std::uint32_t> ids;
    bool globs[] = {is_glob(provider), is_glob(module), is_glob(function),
                    is_glob(name)};
    bool exact = !provider.empty() && !module.empty() && !function.empty() &&
                 !name.empty() && !globs[0] && !globs[1] && !globs[2] && !globs[3];
    if (exact) {
        if (std::uint32_t id = find(provider, module, function, name); id != 0)
            ids.push_back(id);
        return ids;
    }
    bool anchored_only =
        provider.empty() && module.empty() && function.empty() && name.empty();
    for (const ProbeInfo& probe : probes_) {
        if (anchored_only && probe.function.empty())
            continue;
        if (part_matches(provider, globs[0], probe.provider) &&
            part_matches(module, globs[1], probe.module) &&
            part_matches(function, globs[2], probe.function) &&
            part_matches(name, globs[3], probe.name))
            ids.push_back(probe.id);
    }
    return ids;
}

std::string full_name(const ProbeInfo& probe)
{
    std::string name(probe.provider);
    for (std::string_view part : {probe.module, probe.function, probe.name})
        name.append(":").append(part);
    return name;
}

void sort_ids(std::vector<std::uint32_t>& ids)
{
    if (!std::is_sorted(ids.begin(), ids.end()))
        std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

} // namespace dt
