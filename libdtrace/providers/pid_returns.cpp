// SPDX-License-Identifier: MIT
// Finds the instructions that leave a function and its split-off parts: returns and
// jumps.
//
// The destination of an indirect jump is known only when the jump executes. So its site
// has the jump's operand and the ranges of all parts. The site fires if the destination
// is outside these ranges, or is the function's entry (dt_leaves_function()).
#include "libdtrace/providers/pid_provider.hpp"

#include "ptrace-agent/plant/statics.hpp"

#include <algorithm>

namespace dt {

static bool is_direct(const ReturnSite& site)
{
    return site.kind == ReturnSite::tail_jump || site.kind == ReturnSite::tail_branch;
}

static bool is_indirect(const ReturnSite& site)
{
    return site.kind == ReturnSite::tail_indirect ||
           site.kind == ReturnSite::unresolved;
}

struct PidProvider::Part {
    const Function* function;
    TargetAddr start;
    std::vector<ReturnSite> returns;
};

// Returns the operands of the site at an indirect jump: the jump's operand, and the
// start and end of each part. Returns null if the jump's destination cannot be
// computed.
const StaticArguments* PidProvider::arguments_of_jump(const FunctionAt& at,
                                                      const std::vector<Part>& parts,
                                                      TargetAddr jump, pid_t pid)
{
    ElfImage& image = *at.module->image;
    auto text = image.bytes(at.module->link_addr(jump), max_insn_bytes);
    // Near the end of a segment, fewer bytes can be read.
    for (std::size_t n = max_insn_bytes; !text && n-- > 2;)
        text = image.bytes(at.module->link_addr(jump), n);
    auto insn = text ? x86_64.decode(*text, jump) : Result<Instruction>(text.error());
    auto to = insn ? agent::destination_of(*insn) : std::nullopt;
    if (!to)
        return nullptr;
    std::vector<dt_operand> operands{*to};
    auto add = [&operands](TargetAddr value) {
        dt_operand constant{};
        constant.form = DT_OPERAND_CONST;
        constant.bytes = 8;
        constant.value = static_cast<std::int64_t>(value.value);
        operands.push_back(constant);
    };
    for (const Part& part : parts) {
        add(part.start);
        add(part.start + part.function->n_bytes);
    }
    std::string bytes(reinterpret_cast<const char*>(operands.data()),
                      operands.size() * sizeof operands[0]);
    auto& known = searched_[pid].jumps[bytes];
    if (known.operands.empty())
        known.operands = std::move(operands);
    return &known;
}

// Returns the function and its split-off parts.
std::vector<PidProvider::Part> PidProvider::parts_of(const FunctionAt& at,
                                                     const FunctionSites& sites,
                                                     const ReadModule& read)
{
    ElfImage& image = *at.module->image;
    const FunctionTable& table = image.functions();
    std::vector<Part> parts;
    parts.push_back({at.function, at.addr, sites.returns});
    auto add = [&](const Function* part) {
        bool known = std::any_of(parts.begin(), parts.end(),
                                 [&](const Part& p) { return p.function == part; });
        auto text = known ? Result<std::span<const std::byte>>(Error{})
                          : image.bytes(part->addr, part->n_bytes);
        if (known || !text)
            return;
        TargetAddr start = at.module->target_addr(part->addr);
        if (auto found = analyze_function(x86_64, *text, start, read))
            parts.push_back({part, start, std::move(found->returns)});
    };
    for (const Function* cold :
         table.find_all(std::string(table.name(*at.function)) + ".cold"))
        add(cold);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::vector<std::uint64_t> targets;
        for (const ReturnSite& site : parts[i].returns)
            if (is_direct(site))
                targets.push_back(at.module->link_addr(site.target));
        for (std::uint64_t target : targets)
            if (const Function* to = table.at(target);
                to != nullptr && table.names(*to).front().split_off)
                add(to);
    }
    return parts;
}

// Returns whether a `ret` follows a call to __morestack (gcc -fsplit-stack).
// __morestack calls the rest of the function and then returns to this `ret`. At that
// time, the function has already returned.
static bool is_behind_morestack(const FunctionAt& at, TargetAddr ret)
{
    constexpr std::uint64_t call_bytes = 5; // opcode e8, then 4 bytes of displacement
    ElfImage& image = *at.module->image;
    auto text = image.bytes(at.module->link_addr(ret) - call_bytes, call_bytes);
    auto call =
        text ? x86_64.decode(*text, TargetAddr{at.module->link_addr(ret) - call_bytes})
             : Result<Instruction>(text.error());
    if (!call || call->flow != ControlFlow::call || call->length != call_bytes)
        return false;
    const FunctionTable& table = image.functions();
    for (const char* name : {"__morestack", "__morestack_non_split"})
        if (const Function* grow = table.find(name);
            grow != nullptr && grow->addr == call->target.value)
            return true;
    return false;
}

std::vector<ProbeSite> PidProvider::return_sites(const FunctionAt& at,
                                                 const FunctionSites& sites,
                                                 const ReadModule& read, pid_t pid)
{
    std::vector<Part> parts = parts_of(at, sites, read);
    std::vector<ProbeSite> returns;
    for (const Part& part : parts) {
        for (const ReturnSite& site : part.returns) {
            bool stays =
                is_direct(site) &&
                std::any_of(parts.begin(), parts.end(), [&](const Part& other) {
                    return other.function->contains(at.module->link_addr(site.target));
                });
            TargetAddr place = part.start + site.offset;
            stays = stays || (site.kind == ReturnSite::ret && site.offset > 5 &&
                              is_behind_morestack(at, place));
            ProbeSite made{place, ProbeSiteKind::Return,
                           static_cast<std::int64_t>(place - at.addr)};
            if (is_indirect(site)) {
                made.arguments = arguments_of_jump(at, parts, place, pid);
                stays =
                    made.arguments == nullptr && site.kind == ReturnSite::unresolved;
            }
            if (!stays)
                returns.push_back(made);
        }
    }
    return returns;
}

} // namespace dt
