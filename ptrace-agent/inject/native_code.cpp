// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/native_code.hpp"

#include "ptrace-agent/address_space.hpp"

#include <iterator>

namespace dt::agent {

void NativeCode::forget()
{
    *this = NativeCode();
}

// Returns the operands that a clause reads, as bytes. Probes with equal bytes share
// code.
static std::string operands_read(const native::ClausePlan& plan)
{
    std::string bytes;
    for (std::uint32_t n = 0; n < plan.operands.size(); ++n)
        if ((plan.arguments_read & 1u << n) != 0) {
            bytes += static_cast<char>(n);
            bytes.append(reinterpret_cast<const char*>(&plan.operands[n]),
                         sizeof plan.operands[n]);
        }
    return bytes;
}

std::optional<TargetAddr> NativeCode::routine(AddressSpace& space, const void* arena,
                                              const Use& use,
                                              std::span<const dt_operand> operands)
{
    auto [known, fresh] = routines_.try_emplace(use, std::nullopt);
    if (!fresh)
        return known->second;
    auto plan =
        native::plan_clause(arena, use.clause, use.arguments, use.place, operands);
    if (!plan)
        return std::nullopt;
    Use any_list = use;
    any_list.list = 0;
    auto [same, first] = by_operands_.try_emplace(
        std::pair(any_list, operands_read(*plan)), std::nullopt);
    if (first)
        same->second = compile(space, use.session, *plan);
    known->second = same->second;
    return same->second;
}

// Returns the offset of unused memory in the area. The caller adds it to used_.
std::optional<std::uint64_t> NativeCode::take_room(std::uint64_t bytes)
{
    for (Room& room : free_) {
        if (room.bytes < bytes)
            continue;
        const std::uint64_t at = room.at;
        room = {at + bytes, room.bytes - bytes};
        return at;
    }
    if (bytes > DT_RT_CODE_BYTES - used_bytes_)
        return std::nullopt;
    return std::exchange(used_bytes_, used_bytes_ + bytes);
}

void NativeCode::forget_session(unsigned session)
{
    std::erase_if(routines_, [session](const auto& each) {
        return each.first.session == session;
    });
    std::erase_if(by_operands_, [session](const auto& each) {
        return each.first.first.session == session;
    });
    auto [first, last] = used_.equal_range(session);
    for (auto it = first; it != last; ++it)
        free_.push_back(it->second);
    used_.erase(first, last);
    if (used_.empty()) {
        free_.clear();
        fixups_.clear();
        used_bytes_ = 0;
    }
}

std::optional<TargetAddr> NativeCode::compile(AddressSpace& space, unsigned session,
                                              const native::ClausePlan& plan)
{
    const RuntimeMap& runtime = space.runtime;
    const auto& config = runtime.config();
    const native::Target target{runtime.image.value,
                                config.sessions[session].arena,
                                session,
                                config.fs_method == DT_RT_FS_RDFSBASE,
                                config.cpu_method == DT_RT_CPU_RDPID,
                                rseq};
    // The code contains distances, so its size is not known before its address. All
    // instructions have the same size at any address.
    auto draft = native::compile(plan, target, DT_RT_CODE + used_bytes_);
    if (!draft)
        return std::nullopt;
    const std::uint64_t bytes =
        (draft->bytes.size() + native::code_align - 1) & ~(native::code_align - 1);
    const std::uint64_t next = used_bytes_;
    const auto room = take_room(bytes);
    auto code = room && *room != next
                    ? native::compile(plan, target, DT_RT_CODE + *room)
                    : std::move(draft);
    if (!room || !code || code->bytes.size() > bytes)
        return std::nullopt;
    const TargetAddr at = runtime.image + DT_RT_CODE + *room;
    if (!space.write_text(at, code->bytes))
        return std::nullopt;
    used_.emplace(session, Room{*room, bytes});
    fixups_.erase(fixups_.lower_bound(at), fixups_.lower_bound(at + bytes));
    alone_.erase(at);
    if (plan.runs_alone())
        alone_.insert(at);
    for (const auto& fixup : code->fixups)
        fixups_[at + fixup.begin] = {at + fixup.end, at + fixup.to};
    return at;
}

std::optional<unsigned> NativeCode::session_at(const RuntimeMap& runtime,
                                               TargetAddr pc) const
{
    if (!runtime.in_code(pc))
        return std::nullopt;
    const std::uint64_t offset = pc - (runtime.image + DT_RT_CODE);
    for (const auto& [session, room] : used_)
        if (offset - room.at < room.bytes)
            return session;
    return std::nullopt;
}

std::optional<TargetAddr> NativeCode::after_fault(TargetAddr pc) const
{
    auto next = fixups_.upper_bound(pc);
    if (next == fixups_.begin())
        return std::nullopt;
    const Fixup& fixup = std::prev(next)->second;
    return pc < fixup.end ? std::optional(fixup.to) : std::nullopt;
}

// If a probe has more clauses than this, the engine executes all of them.
constexpr std::size_t max_clauses = 8;

// Stores the ECBs of a probe in `all`, in program order, and returns them. Returns an
// empty span in three cases: the probe has too many ECBs, targets do not fire it, or an
// ECB is being added.
static std::span<const std::uint32_t>
ecbs_of(const dt_arena* arena, const dt_probe& probe,
        std::array<std::uint32_t, max_clauses>& all)
{
    const auto* ecbs = static_cast<const dt_ecb*>(dt_at(arena, arena->ecbs.at));
    std::size_t n = 0;
    std::uint32_t epid = __atomic_load_n(&probe.first_ecb, __ATOMIC_ACQUIRE);
    if ((probe.flags & DT_PROBE_DTRACE) != 0)
        return {};
    for (; epid != 0; epid = __atomic_load_n(&ecbs[epid - 1].next, __ATOMIC_ACQUIRE)) {
        if (n == max_clauses)
            return {};
        all[n++] = epid;
    }
    // While an ECB is being added, the list and the number of ECBs in `flags` differ.
    if (probe.flags >> DT_PROBE_ECBS_SHIFT != n)
        return {};
    return std::span(all).first(n);
}

static constexpr dt_operand register_operand(Reg reg)
{
    dt_operand operand{};
    operand.form = DT_OPERAND_GENERAL;
    operand.bytes = 8;
    operand.reg = static_cast<dt_u8>(reg);
    return operand;
}

// The operands of probes before and after a system call, and their numbers in Use::list.
// Compiled code cannot compute the results, so the engine runs clauses that use them.
static constexpr std::array arguments_of_syscall{
    register_operand(Reg::rdi), register_operand(Reg::rsi), register_operand(Reg::rdx),
    register_operand(Reg::r10), register_operand(Reg::r8),  register_operand(Reg::r9)};
static constexpr std::array<dt_operand, 2> result_of_syscall{};
static constexpr std::uint64_t list_of_syscall = ~std::uint64_t{0};
static constexpr std::uint64_t list_of_result = list_of_syscall - 1;

void compile_site(const dt_arena* arena, AddressSpace& space, std::uint32_t site,
                  const std::vector<dt_rt_firing>& firings)
{
    // At an indirect jump, the runtime must first find out whether the jump leaves its
    // function (dt_rt_jumps_out()).
    if (arena == nullptr || firings.size() != 1 || firings[0].kind == DT_RT_LIBRARIES ||
        firings[0].kind == DT_RT_JUMP_OUT || firings[0].kind == DT_RT_TRACER)
        return;
    const bool is_call = firings[0].kind == DT_RT_SYSCALL;
    if ((is_call || firings[0].kind == DT_RT_SYSCALL_RETURN) &&
        ((firings[0].arg0 & DT_RT_CHECK_RETURN) != 0 ||
         dt_rt_task_call_of(firings[0].arg0) != 0))
        return;
    const dt_rt_firing& firing = firings[0];
    if (firing.probe == 0 ||
        firing.probe > __atomic_load_n(&arena->probes.n, __ATOMIC_ACQUIRE))
        return;
    std::uint64_t at = arena->probes.at + (firing.probe - 1) * sizeof(dt_probe);
    const auto& probe = *static_cast<const dt_probe*>(dt_at(arena, at));
    const auto* ecbs = static_cast<const dt_ecb*>(dt_at(arena, arena->ecbs.at));
    const auto arguments =
        firing.kind == DT_RT_RETURN ? native::Arguments::of_return
        : firing.kind == DT_RT_STATIC || is_call || firing.kind == DT_RT_SYSCALL_RETURN
            ? native::Arguments::of_static
            : native::Arguments::of_call;
    const bool is_static = firing.kind == DT_RT_STATIC;
    const std::span<const dt_operand> operands =
        is_static ? space.statics.operands_at(firing.arg0)
        : is_call ? std::span<const dt_operand>(arguments_of_syscall)
        : firing.kind == DT_RT_SYSCALL_RETURN
            ? std::span<const dt_operand>(result_of_syscall)
            : std::span<const dt_operand>();
    const std::uint64_t list = is_static                             ? firing.arg0
                               : is_call                             ? list_of_syscall
                               : firing.kind == DT_RT_SYSCALL_RETURN ? list_of_result
                                                                     : 0;
    // 50,000 sites may be compiled at once, so these lists are not on the heap.
    std::array<std::uint32_t, max_clauses> epid_storage;
    std::array<RuntimeMap::Compiled, max_clauses> chain;
    std::size_t n = 0;
    const unsigned session = space.runtime.session_of(site);
    const auto epids = ecbs_of(arena, probe, epid_storage);
    for (std::uint32_t epid : epids) {
        const native::Place place{static_cast<std::uint32_t>(epids.size()),
                                  epid == epids.back()};
        const NativeCode::Use use{session, ecbs[epid - 1].clause, arguments, place,
                                  list};
        auto code = space.native.routine(space, arena, use, operands);
        chain[n++] = {code.value_or(TargetAddr{}),
                      TargetAddr{space.runtime.config().sessions[session].arena + at},
                      firing.arg0, epid};
        if (!code)
            break;
    }
    space.runtime.set_compiled(site, std::span(chain).first(n));
}

} // namespace dt::agent
