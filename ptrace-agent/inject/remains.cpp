// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/remains.hpp"

#include "process/maps.hpp"
#include "ptrace-agent/inject/code_users.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <sys/syscall.h>

namespace dt::agent {

namespace {

constexpr dt_u32 owner_died = 0x40000000; // FUTEX_OWNER_DIED

using Kind = bool (*)(const Mapping& mapping);

bool is_of_runtime(const Mapping& mapping)
{
    return mapping.path.empty() || mapping.path == "/memfd:dtrace-config";
}

bool is_of_arena(const Mapping& mapping)
{
    return mapping.path == "/memfd:dtrace-program" ||
           mapping.path == "/memfd:dtrace-data";
}

bool is_own_code(const Mapping& mapping)
{
    return mapping.path.empty() && mapping.readable && mapping.executable &&
           !mapping.writable && !mapping.shared;
}

// Returns whether the range contains mappings of this kind only, without a gap.
bool consists_of(const std::vector<Mapping>& mappings, AddressRange range, Kind kind)
{
    TargetAddr covered = range.first;
    const TargetAddr end = range.first + range.second;
    for (const Mapping& mapping : mappings) {
        if (mapping.end <= range.first || mapping.begin >= end)
            continue;
        if (mapping.begin > covered || !kind(mapping))
            return false;
        covered = mapping.end;
    }
    return range.second != 0 && covered >= end;
}

template <class T> bool read_at(const AddressSpace& space, TargetAddr at, T& into)
{
    return space.read_text(at, std::as_writable_bytes(std::span(&into, 1)));
}

bool is_runtime_of_killed_agent(const AddressSpace& space, TargetAddr image)
{
    const std::span<const std::byte> ours = runtime_image();
    std::vector<std::byte> theirs(ours.size());
    dt_u32 alive = 0;
    return !ours.empty() && space.read_text(image, theirs) &&
           std::equal(ours.begin(), ours.end(), theirs.begin()) &&
           read_at(space, image + DT_RT_CONFIG + offsetof(dt_rt_config, alive),
                   alive) &&
           (alive & owner_died) != 0;
}

} // namespace

void Remains::add_runtime(AddressSpace& space, TargetAddr image)
{
    dt_rt_mapped_list list;
    dt_u32 pid = 0;
    TargetAddr arena;
    const TargetAddr config = image + DT_RT_CONFIG;
    if (!is_runtime_of_killed_agent(space, image) ||
        !read_at(space, image + DT_RT_MAPPED, list) ||
        !read_at(space, config + offsetof(dt_rt_config, pid), pid) ||
        !read_at(space, config + offsetof(dt_rt_config, arena), arena) ||
        list.n > DT_RT_MAX_MAPPED)
        return;
    // A forked child has no copy of the stacks and of the arena. The program may have
    // mapped other memory at their addresses.
    const bool is_forked = pid != static_cast<dt_u32>(space.owner());
    const std::vector<Mapping> mappings = mappings_of(space.proc_tid());
    for (const dt_rt_mapped& each : std::span(list.all).first(list.n)) {
        AddressRange range{TargetAddr{each.at}, each.bytes};
        Kind kind = is_own_code;
        if (range.first == image) {
            kind = is_of_runtime;
            if (is_forked)
                range.second = DT_RT_STACKS;
        } else if (range.first == arena) {
            kind = is_of_arena;
            if (is_forked)
                continue;
        }
        if (consists_of(mappings, range, kind))
            ranges_.push_back(range);
    }
}

void Remains::add_rescue(AddressSpace& space, TargetAddr at)
{
    if (Rescue::is_at(space, at))
        add_code(space, {at, Rescue::region_bytes()});
}

void Remains::add_slots(AddressSpace& space, TargetAddr page)
{
    std::uint64_t mark = 0;
    if (read_at(space, page, mark) && mark == Slots::mark())
        add_code(space, {page, Slots::page_bytes});
}

void Remains::add_code(AddressSpace& space, AddressRange range)
{
    if (consists_of(mappings_of(space.proc_tid()), range, is_own_code))
        ranges_.push_back(range);
}

void Remains::unmap(StoppedWorld& world, const Tracees& tracees, Injector& injector)
{
    if (ranges_.empty() || are_in_use(world, tracees, ranges_))
        return;
    for (const auto& [at, bytes] : ranges_)
        if (Thread* thread = world.any_thread())
            (void)injector.call(*thread, SYS_munmap, {at.value, bytes, 0, 0, 0, 0});
    ranges_.clear();
}

} // namespace dt::agent
