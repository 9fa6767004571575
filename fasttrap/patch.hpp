// SPDX-License-Identifier: MIT
// Patches: jumps that replace instructions, and the copies that run in their place.
//
//   PatchSite ─plan_windows()─▶ Window ─TrampolineSpace─▶ Placement ─PatchBuilder─▶ Patch
//
// Usually one `jmp rel32` replaces a window of five bytes or more. The trampoline
// contains a relocated copy of each instruction, in order. A head and a tail precede
// the copy of a site. At the end, the trampoline jumps back to the end of the window.
//
//   at:  push %rbp          jmp T          T:  head(site 7) tail
//        mov %rsp,%rbp   ──▶                   push %rbp; mov %rsp,%rbp; sub $16,%rsp
//        sub $16,%rsp                          jmp at+8
//   at+8:
//
// Glossary
//
//   site          an instruction where a probe fires; also the number that its head passes
//                 to the runtime
//   extent        the bytes around a site that may be moved
//   block         the code from one branch target to the next
//   window        the instructions that a patch replaces; at least one is a site
//   trampoline    the code that runs instead of the window
//   head, tail    the code before the copy of a site: the head calls the runtime, which
//                 fires the probe and returns to the tail; the tail restores the
//                 registers
//   stub          a jump of five bytes into the trampoline; the destination of a jump
//                 whose displacement is partly fixed
//   own bytes     the bytes that the first jump shares with no other code
//   kept bytes    the bytes after a punned window that are also the last bytes of the
//                 jump's displacement
//   gap           padding between two blocks of a pair or chain
//   reach         the addresses that a jump can reach, relative to the jump's end
//   plain window  a window of five bytes or more with one jump
//   short window  any other window, for a site with fewer than five bytes before the
//                 next branch target; it is a pair, a chain or a punned jump
//
// Forms of short windows
//
//   pair    The first jump has 1 to 4 own bytes. The rest of it overlaps a second jump,
//           at the start of the next block. The second jump leads to a stub.
//
//           at:    ret              e9          jmp T
//           at+1:  mov %rax,%rdi    e9 ...      jmp S     S: jmp T+9, where the mov's copy is
//
//   chain   Like a pair, but with three to eight jumps, each of which overlaps the next
//           one.
//
//   punned  The last bytes of the jump's displacement are the kept bytes, so the jump
//           can reach only a few addresses. A stub is placed at one of them, and the
//           trampoline may be anywhere. No other patch and no breakpoint may change the
//           kept bytes. `original` and `text` of the patch contain them, with equal
//           values.
//
// The jumps of a short window are written and removed together. Redundant prefixes
// before a jump change which byte becomes the most significant byte of its
// displacement. The prefixes are chosen so that the destination is in user space and
// near the window.
//
// Invariants
//   - While the jump exists, a trap byte (int3, or an opcode that is undefined or
//     privileged in 64-bit mode) is at the start of each instruction that the jump
//     overwrites, except the first. If the program jumps to such an instruction, the
//     thread traps and continues in the copy.
//   - No known branch target is inside a window, except the starts of the blocks of a
//     pair or chain.
//   - A copy never pushes an address inside the trampoline. A moved call pushes the
//     original return address.
//   - A window contains no system call, and a call only as its last instruction. So no
//     saved pc on a stack points into a window.
//   - endbr64 is never moved. If it is a site, its head precedes the copy of the next
//     instruction.
//   - If a system call is a site, its window ends before it. Its head is at the end of
//     the trampoline, which then jumps to the system call.
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

// The address of a probe, and the bytes around it that may be moved.
//
// [first, end) is the extent. [end, beyond) is the next block, which a pair may move.
// beyond is 0 if that block is unknown. `further` contains the blocks after it, for a
// chain.
//
// The first n_steady bytes after `end` do not change while a patch of this site exists.
// They may become kept bytes.
struct PatchSite {
    TargetAddr at;
    TargetAddr first, end;
    std::uint32_t site = 0; // the number that the head passes to the runtime
    TargetAddr beyond;
    std::uint8_t n_steady = 4;
    FurtherBlocks further{};
    // The end of the function's last branch to its own entry, or 0. If the window
    // contains all branches to the entry, their copies skip the site's head and do not
    // fire the probe. If loop_end is 0, these branches fire the probe.
    TargetAddr loop_end;
    // If bit k is set, plan_windows() does not try windows whose Window::way is k,
    // because no space was found for them.
    std::uint32_t avoid = 0;

    // Shortens the blocks after `end` so that none of them extends beyond `to`, which
    // is at or after `end`.
    void limit_behind(TargetAddr to);
};

// clang-format off
#define DT_PATCH_FORMS(X)                                                        \
    X(plain,  "a jump")                                                          \
    X(pair,   "a jump, and a second jump that replaces the instructions after it") \
    X(chain,  "a jump, and several more that replace the instructions after it") \
    X(punned, "a jump whose last bytes belong to the instructions after it")
// clang-format on
enum class PatchForm : std::uint8_t {
#define X(form, text) form,
    DT_PATCH_FORMS(X)
#undef X
};
std::string_view text_of(PatchForm form);

// An instruction of a window. If an endbr64 and the next instruction are both sites,
// two heads precede the copy of the next instruction. The site at the endbr64 is then a
// WindowInsn whose insn has length 0. So is the site at a system call, which is the last
// WindowInsn of its window.
struct WindowInsn {
    Instruction insn;
    std::optional<std::uint32_t> site; // set if the instruction is a site
    // Branches to this instruction skip the head if they end at or before loop_end. If
    // loop_end is 0, all branches fire the probe.
    TargetAddr loop_end;
};

// The second or a later jump of a pair or chain.
struct ChainedJump {
    std::size_t insn = 0;      // index of the first instruction that the jump replaces
    std::uint8_t n_prefix = 0; // number of prefixes before the jump
    // The padding between the last instruction of the previous block and this block.
    std::uint8_t n_gap = 0;
    std::array<std::byte, 4> gap{};
};
constexpr std::size_t max_jumps = 8; // in one window

// The values that are permitted for the trap bytes of a jump.
enum class TrapBytes : std::uint8_t {
    any,
    // Only int3. A debugger that sets a breakpoint at an instruction that the jump
    // overwrites then changes nothing. Such a jump is often not possible.
    int3,
};

struct Window {
    const Arch* arch = &x86_64;
    TrapBytes trap_bytes = TrapBytes::any; // of a plain window
    std::vector<WindowInsn> insns;
    // Number of bytes of padding at the end of the window. They follow an instruction
    // such as ret or jmp.
    std::uint8_t padding = 0;
    std::array<std::byte, 15> padding_text{};
    PatchForm form = PatchForm::plain;
    std::vector<ChainedJump> chained; // in ascending order
    std::uint8_t n_kept = 0;          // number of kept bytes after a punned window
    std::array<std::byte, 4> kept{};
    std::uint8_t n_prefix = 0; // number of prefixes before the first jump
    // Identifies one of the ways in which patch_short.cpp can make a short window. It
    // is below 32, and 0 for plain windows.
    std::uint8_t way = 0;
    // Returns how many bytes of the first jump are its own bytes (see the glossary above).
    std::size_t own_bytes() const;
    TargetAddr at() const { return insns.front().insn.at; }
    // Returns the end of the first jump, which is the origin of its displacement.
    TargetAddr origin() const { return at() + n_prefix + arch->jump_bytes; }
    std::size_t n_jumps() const { return 1 + chained.size(); }
    // block() returns the address of the block that the k-th jump replaces. jump()
    // returns the address of the jump's opcode, after its prefixes.
    TargetAddr block(std::size_t k) const
    {
        return k == 0 ? at() : insns[chained[k - 1].insn].insn.at;
    }
    TargetAddr jump(std::size_t k) const
    {
        return block(k) + (k == 0 ? n_prefix : chained[k - 1].n_prefix);
    }
    // Returns whether a jump other than the first one is at `to`.
    bool is_chained(TargetAddr to) const;
    TargetAddr end() const { return insns.back().insn.next() + padding; }
};

struct Refused {
    std::uint32_t site = 0;
    std::string_view reason; // a string literal
};

struct WindowPlan {
    std::vector<Window> windows; // ascending; disjoint, including their kept bytes
    std::vector<Refused> refused;
};

// Reads n bytes of original text at an address. Returns fewer bytes if the text ends
// earlier.
using ReadText =
    std::function<std::span<const std::byte>(TargetAddr at, std::size_t n)>;

// Plans windows for sites, which must be in ascending order of addresses. Each site
// ends up in a window or in `refused`. Sites with the same address must have the same
// number (PatchSite::site).
//
// A window extends forward from its site over complete instructions. After a ret or
// jump, it may include padding up to PatchSite::end. If the window is still too short,
// it also extends to instructions before the site. If this is not enough, the window
// becomes a pair, a chain or a punned jump.
WindowPlan plan_windows(const Arch& arch, std::span<const PatchSite> sites,
                        const ReadText& read);

// The addresses of a window's stubs. A pair or chain has one stub for each jump except
// the first. A punned window has one stub.
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

// The addresses of a window's trampoline and of its stubs. Plain windows have no stubs.
struct Placement {
    TargetAddr trampoline;
    Stubs stubs;
};
constexpr std::size_t stub_bytes = 5;

// Allocates addresses for trampolines and stubs near text, under the constraints of
// each window.
//
// An area is memory of the target that the caller mapped, or will map. In an area for
// trampolines, the first 16 bytes are reserved for the address of dt_rt_enter. The
// heads read this address.
class TrampolineSpace {
public:
    TrampolineSpace();
    ~TrampolineSpace();
    TrampolineSpace(TrampolineSpace&&) noexcept;
    TrampolineSpace& operator=(TrampolineSpace&&) noexcept;

    // Adds an area. start and bytes are multiples of the page size. Areas do not
    // overlap. An area of at most four pages is used only for stubs of punned windows.
    void add_area(TargetAddr start, std::uint64_t bytes);
    // Allocates n_bytes for a trampoline, and the window's stubs, at addresses that
    // give the displacements the necessary trap bytes. Returns nothing if no area has
    // space at such addresses.
    std::optional<Placement> take(const Window& window, std::size_t n_bytes);
    void give_back(const Placement& place, std::size_t n_bytes);
    // Frees any part of an allocation, for example the bytes that build_patch() did not
    // use.
    void give_back(TargetAddr at, std::size_t n_bytes);
    // Returns the start of the area that contains `at`, or nothing.
    std::optional<TargetAddr> area_of(TargetAddr at) const;

private:
    struct Area;
    // Calls `find` for each area until it returns an address. Starts with the most
    // recently used area.
    template <class Find> std::optional<TargetAddr> in_areas(Find find);
    std::optional<TargetAddr> take_plain(const Window& window, std::size_t n_bytes,
                                         std::optional<TargetAddr> stub);
    std::optional<Placement> take_chain(const Window& window, std::size_t n_bytes);
    bool take_stubs(const Window& window, Placement& place, int& n_tries);
    std::optional<Placement> take_punned(const Window& window, std::size_t n_bytes);
    std::optional<TargetAddr> take_stub(const Window& window);
    Area* holding(TargetAddr at) const;

    using Areas = std::vector<std::unique_ptr<Area>>; // in ascending order
    Areas areas_;
    Areas stub_areas_;       // small areas, for the stubs of punned windows
    std::size_t recent_ = 0; // index in areas_ of the area that was used last
};

// A range of addresses, relative to the end of a jump.
struct Reach {
    std::int64_t from, to; // half-open: [from, to)
};
// Returns the ranges that may contain the window's trampoline, relative to
// window.origin(), nearest first. The caller maps an area in one of them. For a punned
// window, returns one range, in which the stub must start. That range may be a single
// byte.
std::vector<Reach> reach_of(const Window& window);
// Returns the reach of the k-th jump of a pair or chain, if the most significant byte
// of its displacement is also a prefix or the opcode of a later jump. Otherwise returns
// nothing.
std::optional<Reach> far_reach_of(const Window& window, std::size_t k);
// Returns the ranges of 16 MiB that the k-th jump (k > 0) of a pair or chain can reach,
// nearest first. Returns an empty vector if the most significant byte of the
// displacement is not restricted.
std::vector<Reach> stub_reach_of(const Window& window, std::size_t k);

// Returns the ranges that jumps from all windows in [begin, end) can reach, relative to
// `begin`, nearest first. Each of these jumps has a trap byte as the most significant
// byte of its displacement. An area of 4 MiB in one range contains suitable addresses
// for the trampolines of all these windows. Returns an empty vector if [begin, end) is
// too large. In that case the caller must divide it.
std::vector<Reach> common_reach(const Arch& arch, TargetAddr begin, TargetAddr end);

// Returns a mask in which bit k is set if byte k of the first jump's displacement must
// be a trap byte.
unsigned trapping_bytes(const Window& window);

// An instruction of the window, and the address of its copy.
struct Moved {
    TargetAddr from, to; // address in the original text, and address of the copy
    TargetAddr head;     // start of the head; equals `to` if this is not a site
    TargetAddr tail;     // start of the tail, to which dt_rt_enter returns
    std::optional<std::uint32_t> site;
};

struct Patch {
    const Arch* arch = &x86_64;
    TargetAddr at;
    TargetAddr end; // end of the window, without the kept bytes
    TargetAddr trampoline;
    std::unique_ptr<std::byte[]> block;  // holds the data of the spans below
    std::span<const TargetAddr> stubs;   // in the order of Placement::stubs
    std::span<const Moved> moved;        // in the order of the instructions
    std::span<const std::byte> original; // the window and the kept bytes
    // The jumps and the unchanged bytes after them, with the same length as `original`.
    std::span<const std::byte> text;
    std::span<const std::byte> code;      // the trampoline
    std::span<const std::byte> stub_code; // stub_bytes for each stub
    std::span<const std::byte> code_of_stub(std::size_t i) const
    {
        return stub_code.subspan(i * stub_bytes, stub_bytes);
    }
    PatchForm form = PatchForm::plain;
    bool leaves = false; // whether the trampoline ends with a jump to the window's end
};

// Returns an upper bound of the trampoline's size in bytes, for take().
std::size_t trampoline_bytes(const Window& window);

// Builds patches. One builder can build many patches and reuses its buffers.
class PatchBuilder {
public:
    // Builds the patch of a window. area is the start of the trampoline's area. Returns
    // Code::invalid if the placement does not fit the window, or the error of
    // Arch::relocate().
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

// Describes where a thread has stopped in patched text or in a trampoline. Also says
// how to move the thread back to the original text. After an int3, the caller subtracts
// 1 from the pc before it calls place_of().
//
// The thread can always be moved back immediately:
//
//   1. If rbx_on_stack is set, load rbx from the word at rsp.
//   2. Add rsp_add to rsp.
//   3. Set rip to `on`, an address in the original text.
//
// If the thread was in the head, the probe has not fired, and `on` is the probed
// instruction.
struct PatchPlace {
    enum Kind : std::uint8_t {
        window, // at an instruction of the window; moved[index] describes its copy
        head,   // in the head or in the stub, before dt_rt_enter
        tail,   // in the tail, before the copy
        moved,  // at the first byte of a copy, before it runs
        // inside the code that replaces one instruction (a call, branch or loop)
        inside,
        leaving, // at the jump to the window's end
    } kind;
    std::size_t index; // index in Patch::moved
    TargetAddr on;
    std::uint8_t rsp_add = 0;
    bool rbx_on_stack = false;
};
// Returns where in the patch `pc` is. Returns nothing if no thread can stop at `pc`.
std::optional<PatchPlace> place_of(const Patch& patch, TargetAddr pc);

} // namespace dt
