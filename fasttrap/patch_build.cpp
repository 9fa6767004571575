// SPDX-License-Identifier: MIT
// Builds the bytes of the jumps and of the trampoline. Also converts a pc in these
// bytes to the corresponding address of the program.
#include "fasttrap/patch.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

namespace dt {

namespace {

// Returns whether the trampoline must end with a jump to the window's end. A signal
// handler may skip a ud2 or hlt, so these instructions need the jump too.
bool falls_through(const Arch& arch, const Window& window)
{
    const Instruction& last = window.insns.back().insn;
    return last.length == 0 || arch.moving(last).how == Moving::anywhere ||
           last.flow == ControlFlow::stop;
}

bool is_within_2_gib(TargetAddr from, TargetAddr to)
{
    auto d = static_cast<std::int64_t>(to - from);
    return d >= std::numeric_limits<std::int32_t>::min() &&
           d <= std::numeric_limits<std::int32_t>::max();
}

// Returns the size of the i-th copy in bytes.
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

// Returns the index in `moved` of the instruction that the stub leads to.
std::size_t stub_leads_to(const Patch& patch, std::size_t stub)
{
    std::int32_t distance = 0;
    std::memcpy(&distance, &patch.code_of_stub(stub)[stub_bytes - sizeof distance],
                sizeof distance);
    TargetAddr to = patch.stubs[stub] + stub_bytes +
                    static_cast<std::uint64_t>(std::int64_t{distance});
    std::size_t i = 0;
    while (i + 1 < patch.moved.size() && patch.moved[i].head != to)
        ++i;
    return i;
}

} // namespace

std::string_view text_of(PatchForm form)
{
    static constexpr std::array<std::string_view, 4> texts = {
#define X(form, text) text,
        DT_PATCH_FORMS(X)
#undef X
    };
    return texts[static_cast<std::size_t>(form)];
}

std::size_t Window::own_bytes() const
{
    switch (form) {
    case PatchForm::pair:
    case PatchForm::chain:
        return block(1) - at();
    case PatchForm::punned:
        return end() - at();
    case PatchForm::plain:
        break;
    }
    return arch->jump_bytes;
}

bool Window::is_chained(TargetAddr to) const
{
    for (std::size_t k = 1; k < n_jumps(); ++k)
        if (block(k) == to)
            return true;
    return false;
}

void PatchSite::limit_behind(TargetAddr to)
{
    if (beyond >= to) {
        beyond = to;
        further = {};
        return;
    }
    TargetAddr at = beyond;
    for (std::uint8_t& length : further) {
        length = static_cast<std::uint8_t>(
            std::min<std::uint64_t>(length, at < to ? to - at : 0));
        at = at + length;
    }
}

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

static void begin(CodeBuffer& code, TargetAddr at)
{
    code.at = at;
    code.bytes.clear();
}

void PatchBuilder::put_original(const Window& window)
{
    original_.clear();
    auto append = [this](const auto& bytes, std::size_t n) {
        original_.insert(original_.end(), bytes.begin(),
                         bytes.begin() + static_cast<std::ptrdiff_t>(n));
    };
    auto jump = window.chained.begin();
    for (std::size_t i = 0; i < window.insns.size(); ++i) {
        if (jump != window.chained.end() && i == jump->insn) {
            append(jump->gap, jump->n_gap);
            ++jump;
        }
        append(window.insns[i].insn.bytes, window.insns[i].insn.length);
    }
    append(window.padding_text, window.padding);
    append(window.kept, window.n_kept);
}

// Returns the new destination in the trampoline of a branch that leads back to a site
// and ends at or before loop_end. This branch skips the site's head and tail. If two
// heads precede the instruction, the branch skips only the first head. Returns nothing
// for any other branch.
std::optional<TargetAddr> PatchBuilder::past_head(const Window& window,
                                                  const Instruction& branch) const
{
    if (branch.flow != ControlFlow::jump && branch.flow != ControlFlow::branch)
        return std::nullopt;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
        if (moved_[i].from != branch.target || branch.at < moved_[i].from ||
            branch.next() > window.insns[i].loop_end)
            continue;
        if (window.insns[i].insn.length != 0)
            return moved_[i].to;
        if (i + 1 < moved_.size())
            return moved_[i + 1].head;
    }
    return std::nullopt;
}

Result<Ok> PatchBuilder::put_trampoline(const Window& window, TargetAddr at,
                                        TargetAddr area)
{
    const Arch& arch = *window.arch;
    begin(code_, at);
    moved_.clear();
    for (const WindowInsn& w : window.insns) {
        Moved moved;
        moved.from = w.insn.at;
        moved.site = w.site;
        moved.head = moved.tail = code_.here();
        if (w.site) {
            arch.put_head(*w.site, area, code_);
            moved.tail = code_.here();
            arch.put_tail(code_);
        }
        moved.to = code_.here();
        moved_.push_back(moved);
        if (w.insn.length == 0)
            continue;
        Instruction insn = w.insn;
        if (auto past = past_head(window, insn))
            insn.target = *past;
        if (Result<Ok> put = arch.relocate(insn, code_); !put)
            return put.error();
    }
    if (falls_through(arch, window))
        arch.put_jump(window.end(), code_);
    return Ok{};
}

void PatchBuilder::put_jump_over(const Window& window, std::size_t offset,
                                 TargetAddr to)
{
    begin(jump_, window.at() + offset);
    window.arch->put_jump(to, jump_);
    std::copy(jump_.bytes.begin(), jump_.bytes.end(),
              text_.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Writes the k-th jump with its prefixes. Later jumps must be written first, because
// the displacement of this jump may extend into their bytes. Returns Code::invalid if
// this jump would change the later jumps or the kept bytes (Window::kept).
Result<Ok> PatchBuilder::put_jump_of(const Window& window, std::size_t k, TargetAddr to)
{
    std::size_t begin = window.block(k) - window.at();
    std::size_t jump = window.jump(k) - window.at();
    std::size_t own = k == 0                     ? window.own_bytes()
                      : k + 1 < window.n_jumps() ? window.block(k + 1) - window.at()
                                                 : jump + window.arch->jump_bytes;
    std::array<std::byte, 16> behind{};
    std::size_t n_behind = std::min(text_.size() - own, behind.size());
    auto first = text_.begin() + static_cast<std::ptrdiff_t>(own);
    std::copy_n(first, n_behind, behind.begin());
    std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(begin), jump - begin,
                window.arch->jump_prefix);
    put_jump_over(window, jump, to);
    if (!std::equal(behind.begin(),
                    behind.begin() + static_cast<std::ptrdiff_t>(n_behind), first))
        return Error{
            Code::invalid,
            "the trampoline's address is incompatible with the bytes after the window"};
    return Ok{};
}

void PatchBuilder::into_block(const Stubs& stubs, Patch& patch) const
{
    std::size_t n_moved = moved_.size() * sizeof(Moved);
    patch.block = std::make_unique_for_overwrite<std::byte[]>(
        n_moved + stubs.size() * sizeof(TargetAddr) + original_.size() + text_.size() +
        code_.bytes.size() + stub_code_.bytes.size());
    std::byte* at = patch.block.get(); // new[] aligns the block for all types
    auto* moved = reinterpret_cast<Moved*>(at);
    std::uninitialized_copy(moved_.begin(), moved_.end(), moved);
    patch.moved = {moved, moved_.size()};
    at += n_moved;
    auto* stub = reinterpret_cast<TargetAddr*>(at);
    std::uninitialized_copy(stubs.begin(), stubs.end(), stub);
    patch.stubs = {stub, stubs.size()};
    at += stubs.size() * sizeof(TargetAddr);
    auto put = [&at](const std::vector<std::byte>& bytes) {
        std::span<const std::byte> there(at, bytes.size());
        at = std::copy(bytes.begin(), bytes.end(), at);
        return there;
    };
    patch.original = put(original_);
    patch.text = put(text_);
    patch.code = put(code_.bytes);
    patch.stub_code = put(stub_code_.bytes);
}

Result<Patch> PatchBuilder::build(const Window& window, const Placement& place,
                                  TargetAddr area)
{
    const Arch& arch = *window.arch;
    if (!is_within_2_gib(window.origin(), place.trampoline))
        return Error{Code::invalid, "the trampoline is out of the jump's reach"};
    std::size_t n_stubs = window.form == PatchForm::punned ? 1 : window.chained.size();
    if (place.stubs.size() != n_stubs)
        return Error{Code::invalid,
                     "the number of stubs is wrong for this form of window"};
    for (TargetAddr stub : place.stubs)
        if (!is_within_2_gib(window.at(), stub) ||
            !is_within_2_gib(stub, place.trampoline))
            return Error{Code::invalid, "a stub is out of reach of its jumps"};
    if (auto put = put_trampoline(window, place.trampoline, area); !put)
        return put.error();
    put_original(window);
    text_ = original_;
    stub_code_.bytes.clear();
    const bool punned = window.form == PatchForm::punned;
    for (std::size_t i = 0; i < n_stubs; ++i) {
        std::size_t insn = punned ? 0 : window.chained[i].insn;
        stub_code_.at =
            place.stubs[i] - i * stub_bytes; // so that stub_code_.here() is stubs[i]
        arch.put_jump(moved_[insn].head, stub_code_);
    }
    for (std::size_t k = window.n_jumps(); k-- > 0;) {
        TargetAddr to = k > 0    ? place.stubs[k - 1]
                        : punned ? place.stubs[0]
                                 : place.trampoline;
        if (auto put = put_jump_of(window, k, to); !put)
            return put.error();
    }
    Patch patch;
    patch.arch = &arch;
    patch.at = window.at();
    patch.end = window.end();
    patch.trampoline = place.trampoline;
    patch.form = window.form;
    patch.leaves = falls_through(arch, window);
    into_block(place.stubs, patch);
    return patch;
}

Result<Patch> build_patch(const Window& window, const Placement& place, TargetAddr area)
{
    return PatchBuilder().build(window, place, area);
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
    for (std::size_t i = 0; i < patch.stubs.size(); ++i) {
        if (pc != patch.stubs[i])
            continue;
        std::size_t to = stub_leads_to(patch, i);
        return make_place(PatchPlace::head, to, {patch.moved[to].from});
    }
    if (pc - patch.trampoline >= patch.code.size())
        return std::nullopt;
    std::size_t i = patch.moved.size() - 1;
    while (i > 0 && pc < patch.moved[i].head)
        --i;
    TargetAddr behind = patch.moved[i].to + relocated_bytes(*patch.arch, patch, i);
    if (patch.leaves && pc == behind && i + 1 == patch.moved.size())
        return make_place(PatchPlace::leaving, i, {patch.end});
    return place_in_code(patch, i, pc);
}

} // namespace dt
