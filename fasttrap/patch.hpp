// SPDX-License-Identifier: MIT
// Jumps over instructions: windows, their moved copies, and where those may stand.
//
//   site ── plan_windows() ──▶ Window ── place() ──▶ address ── build() ──▶ Patch
//
// A window is a run of whole instructions, five bytes or more, that one `jmp rel32`
// replaces. It has one or more probed instructions. Its moved copy (the trampoline)
// holds, for each of its instructions in order, the probe's head and tail if it is probed, then the
// instruction itself, relocated; behind the last one a jump to the window's end.
//
//   at:  push %rbp          jmp T          T:  head(site 7) tail
//        mov %rsp,%rbp   ──▶                   push %rbp; mov %rsp,%rbp; sub $16,%rsp
//        sub $16,%rsp                          jmp at+8
//   at+8:
//
// Where fewer than five bytes stand before the next branch target, two other forms:
//
//   pair    the jump over 1..4 bytes overlaps that of the window behind it. The two are one
//           Window and one Patch, so nobody can take one away. Their displacements share
//           bytes; the second jump leads to a stub, a jump into the same trampoline.
//
//           at:    ret              e9          jmp T
//           at+1:  mov %rax,%rdi    e9 ...      jmp S     S: jmp T+9, where the mov's copy is
//
//   chain   a pair with more jumps, each over the first bytes of the next one. It serves
//           where several short blocks follow each other, as -Os packs short functions.
//
//   punned  the jump's displacement ends in bytes of the instructions behind the window,
//           which stay as they are: `kept`. The jump leads to a stub at one of few
//           places; the trampoline is anywhere. Nobody may change what is kept, so it counts as
//           the patch's: `original` and `text` hold it, alike.
//
// Where that leads out of user space, prefixes without a meaning stand before such a jump,
// or before the others of a pair or chain. Other bytes are then the highest of its
// displacement. (A pair of four own bytes would have the second jump's opcode there.)
//
// Invariants
//   - The first byte of every instruction of the window but the first is, while the jump
//     stands, a byte that traps (int3, or an opcode that is undefined or privileged in
//     64-bit mode). The jump's displacement is chosen for that, so it limits where the
//     trampoline may stand. A stray jump there is caught, and goes on in the copy.
//   - No known branch target lies inside a window behind its first byte, but the places
//     of the other jumps of a pair or chain.
//   - No instruction of a window pushes an address of ours: a moved call pushes the
//     original return address.
//   - A window has no system call, and a call only as its last instruction: nobody's saved pc lies inside it.
//   - endbr64 stays in place: it may be a site, whose head then belongs to the instruction
//     behind it, but no window holds one.
#pragma once

#include "base/result.hpp"
#include "fasttrap/arch/arch.hpp"
#include "fasttrap/further_blocks.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dt {

// Where a probe wants to be, and how far the bytes around it may be moved: [first, end)
// holds no branch target but first itself and `at` when at == first. first is the start of an instruction.
// Nor does [end, beyond) behind `end`: that is what a pair may move. Not known: beyond is 0.
// Behind that are more such blocks, which a chain may move.
// Of the bytes behind `end`, n_steady are not patched and will not be, but by who takes
// what stands here out before: what a punned jump may end in.
struct PatchSite {
    TargetAddr at;
    TargetAddr first, end;
    std::uint32_t site = 0; // what the head says; any number
    TargetAddr beyond;
    std::uint8_t n_steady = 4;
    FurtherBlocks further{};
    // For a function's entry that is also the head of a loop: the end of the last
    // branch that leads back to it from its own function. If the window contains all
    // such branches, their copies continue after the site's head. 0 if there are none,
    // or if they should fire.
    TargetAddr loop_end;
    // Ways to make a short window that found no room: bits of Window::way.
    std::uint32_t avoid = 0;

    // Forgets what is known of the bytes at and behind `to`, which is at or behind `end`.
    void limit_behind(TargetAddr to);
};

// clang-format off
#define DT_PATCH_FORMS(X)                                            \
    X(plain,  "a jump")                                              \
    X(pair,   "a jump, and one over the instructions behind it")     \
    X(chain,  "a jump, and several over the instructions behind it") \
    X(punned, "a jump that ends in the instructions behind it")
// clang-format on
enum class PatchForm : std::uint8_t {
#define X(form, text) form,
    DT_PATCH_FORMS(X)
#undef X
};
std::string_view text_of(PatchForm form);

// An insn of length 0 is a head without an instruction: an endbr64 and the instruction
// behind it are both sites, and both heads stand before the latter.
struct WindowInsn {
    Instruction insn;
    std::optional<std::uint32_t> site; // probed
    // Branches to this instruction from the bytes between it and loop_end skip the head.
    // 0 if all branches fire it.
    TargetAddr loop_end;
};

// A jump of a pair or chain after the first one.
struct ChainedJump {
    std::size_t insn = 0;      // the index of the instruction that it stands for
    std::uint8_t n_prefix = 0; // before it
    std::uint8_t n_gap = 0;    // padding before that instruction
    std::array<std::byte, 4> gap{};
};
constexpr std::size_t max_jumps = 8; // of a window

struct Window {
    const Arch* arch = &x86_64;
    std::vector<WindowInsn> insns;
    // Bytes that belong to the window behind an instruction that never goes on to them.
    std::uint8_t padding = 0;
    std::array<std::byte, 15> padding_text{};
    PatchForm form = PatchForm::plain;
    std::vector<ChainedJump> chained; // ascending
    std::uint8_t n_kept = 0;          // punned: of the bytes after the window
    std::array<std::byte, 4> kept{};
    std::uint8_t n_prefix = 0; // before the first jump
    std::uint8_t way = 0;      // below 32; not 0 in a short window
    // Bytes from one jump to the next, or of the jump's own.
    std::size_t own_bytes() const;
    TargetAddr at() const { return insns.front().insn.at; }
    // What the first jump's displacement counts from.
    TargetAddr origin() const { return at() + n_prefix + arch->jump_bytes; }
    std::size_t n_jumps() const { return 1 + chained.size(); }
    // The address that the k-th jump replaces, and that of its opcode, after its prefixes.
    TargetAddr block(std::size_t k) const
    {
        return k == 0 ? at() : insns[chained[k - 1].insn].insn.at;
    }
    TargetAddr jump(std::size_t k) const
    {
        return block(k) + (k == 0 ? n_prefix : chained[k - 1].n_prefix);
    }
    bool is_chained(TargetAddr to) const; // a jump behind the first one stands there
    TargetAddr end() const { return insns.back().insn.next() + padding; }
};

struct Refused {
    std::uint32_t site = 0;
    std::string_view reason; // a literal
};

struct WindowPlan {
    std::vector<Window> windows; // ascending, disjoint, what is kept included
    std::vector<Refused> refused;
};

// Reads original text at an address; fewer bytes than asked for where it ends.
using ReadText =
    std::function<std::span<const std::byte>(TargetAddr at, std::size_t n)>;

// Sites ascending by address; several may have one address (the first's head stands for
// all of them: the caller gives such sites one number). Every site ends up in a window or in refused.
//
// A window reaches forward from its site: whole instructions, and behind a ret or jump
// the padding (nops, int3) up to `end`; a caller that wants such padding used lets `end`
// be the next function's start. Only where that is too short it begins before the site.
// If that is too short as well, it becomes a pair or chain, or is punned.
WindowPlan plan_windows(const Arch& arch, std::span<const PatchSite> sites,
                        const ReadText& read);

// The places of a window's stubs: a pair or chain has one for each jump but the first, of
// a punned window one.
class Stubs {
public:
    Stubs() = default;
    Stubs(TargetAddr only) { push_back(only); }
    explicit Stubs(std::span<const TargetAddr> all)
    {
        for (TargetAddr each : all)
            push_back(each);
    }
    void push_back(TargetAddr at) { at_[n_++] = at; }
    void pop_back() { --n_; }
    std::size_t size() const { return n_; }
    bool empty() const { return n_ == 0; }
    TargetAddr operator[](std::size_t i) const { return at_[i]; }
    const TargetAddr* begin() const { return at_.data(); }
    const TargetAddr* end() const { return at_.data() + n_; }

private:
    std::array<TargetAddr, max_jumps - 1> at_{};
    std::size_t n_ = 0;
};

// The places of a window's trampoline, and of the stubs that all but plain windows have.
struct Placement {
    TargetAddr trampoline;
    Stubs stubs;
};
constexpr std::size_t stub_bytes = 5;

// Free addresses near text, handed out under the constraints of windows.
//
// An area is memory of the target that the caller mapped (or will map) for trampolines. The first
// 16 bytes of each area hold the address of dt_rt_enter, for the heads' indirect jump.
class TrampolineSpace {
public:
    TrampolineSpace();
    ~TrampolineSpace();
    TrampolineSpace(TrampolineSpace&&) noexcept;
    TrampolineSpace& operator=(TrampolineSpace&&) noexcept;

    // start and bytes are page multiples. Areas do not overlap. One of four pages or less
    // serves stubs alone: the caller maps such areas for a punned window.
    void add_area(TargetAddr start, std::uint64_t bytes);
    // An address for n bytes whose distance to the window gives trapping bytes; none:
    // no area has one.
    std::optional<Placement> take(const Window& window, std::size_t n_bytes);
    void give_back(const Placement& place, std::size_t n_bytes);
    // Any part of what was taken: what build_patch() left over can go back at once.
    void give_back(TargetAddr at, std::size_t n_bytes);
    // The area that at lies in.
    std::optional<TargetAddr> area_of(TargetAddr at) const;

private:
    struct Area;
    // The first area that has a place, the recent one first.
    template <class Find> std::optional<TargetAddr> in_areas(Find find);
    std::optional<TargetAddr> take_plain(const Window& window, std::size_t n_bytes,
                                         std::optional<TargetAddr> stub);
    std::optional<Placement> take_chain(const Window& window, std::size_t n_bytes);
    bool take_stubs(const Window& window, Placement& place, int& n_tries);
    std::optional<Placement> take_punned(const Window& window, std::size_t n_bytes);
    std::optional<TargetAddr> take_stub(const Window& window);
    Area* holding(TargetAddr at) const;

    using Areas = std::vector<std::unique_ptr<Area>>; // ascending
    Areas areas_;
    Areas stub_areas_;       // small: for stubs of punned windows
    std::size_t recent_ = 0; // of areas_: the one that was taken from last
};

// The highest byte of the jump's displacement must trap for some windows: the address
// ranges, relative to the window's origin(), in which the window's trampoline may stand, nearest
// first. What the caller uses to choose where to map an area. Of a punned window it is one
// range, perhaps of one byte, for the start of its stub.
struct Reach {
    std::int64_t from, to; // [from, to)
};
std::vector<Reach> reach_of(const Window& window);
// Returns where the k-th jump of a pair or chain leads, counted from its end, if a later
// jump's bytes give the highest byte of its displacement.
std::optional<Reach> far_reach_of(const Window& window, std::size_t k);
// Returns the ranges of 16 MiB to which the k-th jump (k > 0) of a pair or chain can lead,
// counted from its end, nearest first. They are limited if a later jump gives the highest
// byte of its displacement, or if that byte must trap. Returns nothing if it is free.
std::vector<Reach> stub_reach_of(const Window& window, std::size_t k);

// Addresses relative to begin, nearest first, from which the highest byte of the
// displacement traps for every window in [begin, end): one area there serves a whole module.
// 4 MiB of it have places for every second-highest byte as well, and only the pages that
// are written to cost anything. Empty when the text is longer than 32 MiB less the area: cut it.
std::vector<Reach> common_reach(const Arch& arch, TargetAddr begin, TargetAddr end);

// A set bit k says that byte k of the jump's displacement must trap.
unsigned trapping_bytes(const Window& window);

// An instruction of the window, and where its copy is.
struct Moved {
    TargetAddr from, to; // to: the relocated instruction itself, behind the tail
    TargetAddr head;     // of a probed one: where its head begins; else equal to `to`
    TargetAddr tail;     // of a probed one: where dt_rt_enter comes back to
    std::optional<std::uint32_t> site;
};

struct Patch {
    const Arch* arch = &x86_64;
    TargetAddr at;
    TargetAddr end; // of the window, without what it keeps
    TargetAddr trampoline;
    std::unique_ptr<std::byte[]> block;  // what the following lie in
    std::span<const TargetAddr> stubs;   // as Placement has them
    std::span<const Moved> moved;        // in order
    std::span<const std::byte> original; // of the whole window and what it keeps
    // The same length: the jumps, then the original bytes behind them.
    std::span<const std::byte> text;
    std::span<const std::byte> code;      // of the trampoline
    std::span<const std::byte> stub_code; // stub_bytes for each
    std::span<const std::byte> code_of_stub(std::size_t i) const
    {
        return stub_code.subspan(i * stub_bytes, stub_bytes);
    }
    PatchForm form = PatchForm::plain;
    bool leaves = false; // the code ends in a jump to the window's end
};

// An upper bound of the trampoline's size, for take().
std::size_t trampoline_bytes(const Window& window);

// Builds tens of thousands one after the other, in the same memory.
class PatchBuilder {
public:
    // area: the start of the trampoline's area, where the address of dt_rt_enter is.
    Result<Patch> build(const Window& window, const Placement& place, TargetAddr area);

private:
    Result<Ok> put_trampoline(const Window& window, TargetAddr at, TargetAddr area);
    std::optional<TargetAddr> past_head(const Window& window,
                                        const Instruction& branch) const;
    void put_original(const Window& window);
    void put_jump_over(const Window& window, std::size_t offset, TargetAddr to);
    Result<Ok> put_jump_of(const Window& window, std::size_t k, TargetAddr to);
    void into_block(const Stubs& stubs, Patch& patch) const;

    std::vector<Moved> moved_;
    std::vector<std::byte> original_, text_;
    CodeBuffer code_, stub_code_, jump_;
};
Result<Patch> build_patch(const Window& window, const Placement& place,
                          TargetAddr area);

// Where a thread is that stopped at pc in patched text or in a trampoline. A trap of an
// int3 leaves the pc one behind it: subtract that first.
//
// The thread can leave at once, whatever the kind: when rbx_on_stack, rbx is the word at
// rsp; then add rsp_add to rsp; then it goes on at `on`. This is exact: what the program
// sees is the state before or after an instruction of its own, and `on` is that place in
// the original text. (Leaving from the head, the probe has not fired; `on` is the probed
// instruction, so that a jump that is still there fires it.)
struct PatchPlace {
    enum Kind : std::uint8_t {
        window, // at an instruction in the window: go on at moved[index].head
        head,   // in the head or the stub, before dt_rt_enter
        tail,   // in the tail, before the moved instruction
        moved, // at the first byte of a relocated instruction, nothing of which has run
        inside,  // in the middle of a relocated sequence (a moved call or loop)
        leaving, // at the jump back to the window's end
    } kind;
    std::size_t index; // in Patch::moved
    TargetAddr on;
    std::uint8_t rsp_add = 0;
    bool rbx_on_stack = false;
};
// Nothing when pc is no place where a thread can be.
std::optional<PatchPlace> place_of(const Patch& patch, TargetAddr pc);

} // namespace dt
