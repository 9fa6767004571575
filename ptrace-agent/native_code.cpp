// SPDX-License-Identifier: MIT
#include "ptrace-agent/native_code.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/agent.hpp"

#include <iterator>

namespace dt::agent {

void NativeCode::forget()
{
    *this = NativeCode();
}

std::optional<TargetAddr> NativeCode::routine(AddressSpace& space, const void* arena,
                                              std::uint32_t clause,
                                              native::Arguments arguments)
{
    auto [known, fresh] =
        routines_.try_emplace(std::pair(clause, arguments), std::nullopt);
    if (!fresh)
        return known->second;
    auto plan = native::plan_clause(arena, clause, arguments);
    if (!plan)
        return std::nullopt;
    const RuntimeMap& runtime = space.runtime;
    const native::Target target{runtime.image.value, runtime.arena.value,
                                space.runtime.config().fs_method == DT_RT_FS_RDFSBASE,
                                space.runtime.config().cpu_method == DT_RT_CPU_RDPID,
                                rseq};
    auto code = native::compile(*plan, target, DT_RT_CODE + used_bytes_);
    if (!code || code->bytes.size() > DT_RT_CODE_BYTES - used_bytes_)
        return std::nullopt;
    TargetAddr at = runtime.image + DT_RT_CODE + used_bytes_;
    if (!space.write_text(at, code->bytes))
        return std::nullopt;
    for (const auto& fixup : code->fixups)
        fixups_[at + fixup.begin] = {at + fixup.end, at + fixup.to};
    used_bytes_ +=
        (code->bytes.size() + native::code_align - 1) & ~(native::code_align - 1);
    known->second = at;
    return at;
}

std::optional<TargetAddr> NativeCode::after_fault(TargetAddr pc) const
{
    auto next = fixups_.upper_bound(pc);
    if (next == fixups_.begin())
        return std::nullopt;
    const Fixup& fixup = std::prev(next)->second;
    return pc < fixup.end ? std::optional(fixup.to) : std::nullopt;
}

// A site with one probe that has one clause.
void Agent::compile_site(AddressSpace& space, std::uint32_t site,
                         const std::vector<dt_rt_firing>& firings)
{
    const auto* arena = static_cast<const dt_arena*>(arena_.base());
    if (arena == nullptr || firings.size() != 1 || firings[0].kind == DT_RT_LIBRARIES)
        return;
    const dt_rt_firing& firing = firings[0];
    if (firing.probe == 0 ||
        firing.probe > __atomic_load_n(&arena->probes.n, __ATOMIC_ACQUIRE))
        return;
    std::uint64_t at = arena->probes.at + (firing.probe - 1) * sizeof(dt_probe);
    const auto& probe = *static_cast<const dt_probe*>(dt_at(arena, at));
    std::uint32_t epid = __atomic_load_n(&probe.first_ecb, __ATOMIC_ACQUIRE);
    if (epid == 0 || (probe.flags & (DT_PROBE_DTRACE | DT_PROBE_MANY)) != 0)
        return;
    const auto* ecbs = static_cast<const dt_ecb*>(dt_at(arena, arena->ecbs.at));
    auto code =
        space.native.routine(space, arena, ecbs[epid - 1].clause,
                             firing.kind == DT_RT_RETURN ? native::Arguments::of_return
                                                         : native::Arguments::of_call);
    if (code)
        space.runtime.set_compiled(
            site, {*code, space.runtime.arena + at, firing.arg0, epid});
}

} // namespace dt::agent
