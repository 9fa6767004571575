// SPDX-License-Identifier: MIT
// From a window and an address to the bytes of its jump and its trampoline, and back from
// a program counter in them to the program.
#include "fasttrap/patch.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace dt {

namespace {

// Control goes on behind the window's last instruction.
bool falls_through(const Arch& arch, const Window& window)
{
    return arch.moving(window.insns.back().insn).how == Moving::anywhere;
}

bool is_within_2_gib(TargetAddr from, TargetAddr to)
{
    auto d = static_cast<std::int64_t>(to - from);
    return d >= std::numeric_limits<std::int32_t>::min() &&
           d <= std::numeric_limits<std::int32_t>::max();
}

// The last one's length is what is left of the code.
std::size_t relocated_bytes(const Arch& arch, const Patch& patch, std::size_t i)
{
    if (i + 1 < patch.moved.size())
        return patch.moved[i + 1].head - patch.moved[i].to;
    TargetAddr end = patch.trampoline + patch.code.size();
    return end - patch.moved[i].to - (patch.leaves ? arch.jump_bytes : 0);
}

PatchPlace make_place(PatchPlace::Kind kind, std::size_t i, const Leaving& leaving)
{
    return {kind, i, leaving.on, leaving.rsp_add, leaving.rbx_on_stack};
}

std::optional<PatchPlace> place_in_code(const Patch& patch, std::size_t i,
                                        TargetAddr pc)
{
    const Arch& arch = *patch.arch;
    const Moved& moved = patch.moved[i];
    auto as = [&](PatchPlace::Kind kind, const std::optional<Leaving>& leaving) {
        return leaving ? std::optional(make_place(kind, i, *leaving)) : std::nullopt;
    };
    if (moved.site && pc < moved.tail)
        return as(PatchPlace::head, arch.leave_head(moved.from, pc - moved.head));
    if (moved.site && pc < moved.to)
        return as(PatchPlace::tail, arch.leave_tail(moved.from, pc - moved.tail));
    if (pc == moved.to)
        return make_place(PatchPlace::moved, i, {moved.from});
    Result<Instruction> insn = arch.decode(
        std::span(patch.original).subspan(moved.from - patch.at), moved.from);
    return insn ? as(PatchPlace::inside, arch.leave_moved(*insn, pc - moved.to))
                : std::nullopt;
}

} // namespace

std::size_t trampoline_bytes(const Window& window)
{
    const Arch& arch = *window.arch;
    std::size_t n = falls_through(arch, window) ? arch.jump_bytes : 0;
    for (const WindowInsn& w : window.insns) {
        n += w.site ? arch.head_bytes + arch.tail_bytes : 0;
        n += w.insn.length == 0 ? 0 : arch.moving(w.insn).max_bytes;
    }
    return n;
}

Result<Patch> build_patch(const Window& window, TargetAddr trampoline, TargetAddr area)
{
    const Arch& arch = *window.arch;
    Patch patch;
    patch.arch = &arch;
    patch.at = window.at();
    patch.trampoline = trampoline;
    if (!is_within_2_gib(window.at() + arch.jump_bytes, trampoline))
        return Error{Code::invalid, "the trampoline is out of the jump's reach"};

    CodeBuffer code{trampoline, {}};
    code.bytes.reserve(trampoline_bytes(window));
    patch.moved.reserve(window.insns.size());
    patch.original.reserve(window.end() - window.at());
    for (const WindowInsn& w : window.insns) {
        Moved moved;
        moved.from = w.insn.at;
        moved.site = w.site;
        moved.head = moved.tail = code.here();
        if (w.site) {
            arch.put_head(*w.site, area, code);
            moved.tail = code.here();
            arch.put_tail(code);
        }
        moved.to = code.here();
        patch.moved.push_back(moved);
        if (w.insn.length == 0)
            continue;
        if (Result<Ok> put = arch.relocate(w.insn, code); !put)
            return put.error();
        std::span<const std::byte> text = w.insn.text();
        patch.original.insert(patch.original.end(), text.begin(), text.end());
    }
    patch.leaves = falls_through(arch, window);
    if (patch.leaves)
        arch.put_jump(window.end(), code);
    patch.code = std::move(code.bytes);

    patch.original.insert(patch.original.end(), window.padding_text.begin(),
                          window.padding_text.begin() + window.padding);
    CodeBuffer jump{patch.at, {}};
    arch.put_jump(trampoline, jump);
    patch.text = patch.original;
    std::copy(jump.bytes.begin(), jump.bytes.end(), patch.text.begin());
    return patch;
}

std::optional<PatchPlace> place_of(const Patch& patch, TargetAddr pc)
{
    if (pc - patch.at < patch.text.size()) {
        for (std::size_t i = 0; i < patch.moved.size(); ++i) {
            if (patch.moved[i].from == pc)
                return make_place(PatchPlace::window, i, {pc});
        }
        return std::nullopt;
    }
    if (pc - patch.trampoline >= patch.code.size())
        return std::nullopt;
    std::size_t i = patch.moved.size() - 1;
    while (i > 0 && pc < patch.moved[i].head)
        --i;
    TargetAddr behind = patch.moved[i].to + relocated_bytes(*patch.arch, patch, i);
    if (patch.leaves && pc == behind && i + 1 == patch.moved.size())
        return make_place(PatchPlace::leaving, i, {patch.at + patch.text.size()});
    return place_in_code(patch, i, pc);
}

} // namespace dt
