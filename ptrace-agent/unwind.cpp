// SPDX-License-Identifier: MIT
#include "ptrace-agent/unwind.hpp"

#include "ptrace-agent/proc_files.hpp"

#include <array>
#include <cstring>
#include <libunwind-ptrace.h>

namespace dt::agent {

constexpr std::uint64_t page_bytes = 4096;

// A few pages of the target as they are now: a walk reads the same ones word by word.
class PageCache {
public:
    explicit PageCache(AddressSpace& space) : space_(space) {}

    bool read(std::uint64_t addr, void* to, std::size_t n)
    {
        std::uint64_t page = addr & ~(page_bytes - 1);
        if (addr - page + n > page_bytes)
            return space_.read({addr}, {static_cast<std::byte*>(to), n});
        Page& slot = pages_[(addr / page_bytes) % pages_.size()];
        if (slot.at != page) {
            slot.at = 1;
            if (!space_.read({page}, slot.bytes))
                return false;
            slot.at = page;
        }
        std::memcpy(to, slot.bytes.data() + (addr - page), n);
        return true;
    }

private:
    struct Page {
        std::uint64_t at = 1; // no page's address
        std::array<std::byte, page_bytes> bytes;
    };
    AddressSpace& space_;
    std::array<Page, 16> pages_;
};

// libunwind hands its own argument to the accessors, not ours, when it searches unwind
// tables. The agent has one thread: what is being walked is a variable.
struct Walk {
    const Registers* regs;
    PageCache memory;
};
static Walk* walk;

static int access_mem(unw_addr_space_t, unw_word_t addr, unw_word_t* value, int write,
                      void*)
{
    if (write != 0 || !walk->memory.read(addr, value, sizeof *value))
        return -UNW_EINVAL;
    return 0;
}

// libunwind counts by DWARF numbers: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
static int access_reg(unw_addr_space_t, unw_regnum_t number, unw_word_t* value,
                      int write, void*)
{
    static constexpr Reg by_dwarf[] = {
        Reg::rax, Reg::rdx, Reg::rcx, Reg::rbx, Reg::rsi, Reg::rdi, Reg::rbp, Reg::rsp,
        Reg::r8,  Reg::r9,  Reg::r10, Reg::r11, Reg::r12, Reg::r13, Reg::r14, Reg::r15};
    if (write != 0)
        return -UNW_EREADONLYREG;
    if (number == UNW_X86_64_RIP)
        *value = walk->regs->rip;
    else if (number >= 0 && number < 16)
        *value = (*walk->regs)[by_dwarf[number]];
    else
        return -UNW_EBADREG;
    return 0;
}

static int access_fpreg(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*)
{
    return -UNW_EBADREG;
}

static int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*)
{
    return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t, unw_cursor_t*, void*)
{
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*)
{
    return -UNW_ENOINFO;
}

struct UnwindState {
    unw_addr_space_t space;
    void* files; // libunwind's view of the process' mapped files
};

static UnwindState* state_of(Process& process)
{
    AddressSpace& space = *process.space;
    if (space.unwind == nullptr) {
        static unw_accessors_t accessors = {
            _UPT_find_proc_info, _UPT_put_unwind_info, no_dynamic_info, access_mem,
            access_reg,          access_fpreg,         no_resume,       no_name};
        unw_addr_space_t made = unw_create_addr_space(&accessors, 0);
        if (made == nullptr)
            return nullptr;
        unw_set_caching_policy(made, UNW_CACHE_GLOBAL);
        space.unwind = new UnwindState{made, _UPT_create(space.speaker())};
    }
    return static_cast<UnwindState*>(space.unwind);
}

void forget_unwind(AddressSpace& space)
{
    auto* state = static_cast<UnwindState*>(space.unwind);
    if (state == nullptr)
        return;
    _UPT_destroy(state->files);
    unw_destroy_addr_space(state->space);
    delete state;
    space.unwind = nullptr;
}

static std::uint32_t walk_frames(UnwindState& state, std::uint64_t* pcs,
                                 std::uint32_t max)
{
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, state.space, state.files) != 0)
        return 0;
    std::uint32_t n = 0;
    unw_word_t last_sp = 0;
    while (n < max) {
        unw_word_t pc = 0, sp = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0 ||
            unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0)
            break;
        if (n != 0 && sp <= last_sp && unw_is_signal_frame(&cursor) <= 0)
            break; // not up the stack: it would never end
        last_sp = sp;
        pcs[n++] = pc;
        if (unw_step(&cursor) <= 0)
            break;
    }
    return n;
}

std::int64_t unwind_user_stack(Process& process, const Registers& regs,
                               std::uint64_t* pcs, std::uint32_t max)
{
    if (max == 0)
        return 0;
    Walk current{&regs, PageCache(*process.space)};
    walk = &current;
    UnwindState* state = state_of(process);
    std::uint32_t n = state == nullptr ? 0 : walk_frames(*state, pcs, max);
    walk = nullptr;
    if (n == 0)
        pcs[n++] = regs.rip;
    std::uint64_t caller = 0;
    if (n == 1 && max > 1 &&
        process.space->read_value(TargetAddr{regs[Reg::rsp]}, caller)) {
        // No frame was found. At a function's entry this is its caller.
        auto all = mappings_of(process.space->speaker());
        const Mapping* text = find_mapping(all, {caller});
        if (text != nullptr && text->execute)
            pcs[n++] = caller;
    }
    return n;
}

} // namespace dt::agent
