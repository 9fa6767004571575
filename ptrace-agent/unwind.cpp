// SPDX-License-Identifier: MIT
#include "ptrace-agent/unwind.hpp"

#include "base/page_bytes.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/unwind_objects.hpp"
#include "ptrace-agent/unwind_rules.hpp"

#include <array>
#include <cstring>
#include <libunwind-x86_64.h>
#include <optional>

// Searches a sorted unwind table. libunwind exports this function, but no header
// declares it.
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip,
                                                  unw_dyn_info_t* where,
                                                  unw_proc_info_t* info,
                                                  int need_unwind_info, void* arg);

namespace dt::agent {

// Caches a few of the target's pages during one stack walk.
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
        std::uint64_t at = 1; // the page's address; 1 if there is no page yet
        std::array<std::byte, page_bytes> bytes;
    };
    AddressSpace& space_;
    std::array<Page, 16> pages_;
};

// The state of one stack walk. The static variable `walk` points to it, because
// libunwind does not pass our argument to all accessors. Only one thread of the agent
// walks stacks.
//
// Call frame information is an untrusted program, which may contain loops. libunwind
// reads its instructions through read(), so reads_left bounds the walk.
struct Walk {
    const Registers* regs;
    PageCache memory;
    std::uint64_t reads_left;

    bool read(std::uint64_t addr, void* to, std::size_t n)
    {
        if (reads_left == 0)
            return false;
        --reads_left;
        return memory.read(addr, to, n);
    }
};
static Walk* walk;
// Reads the rules for the files of all targets. Only this thread uses it.
static std::optional<RuleReader> rule_reader;

static int access_mem(unw_addr_space_t, unw_word_t addr, unw_word_t* value, int write,
                      void*)
{
    if (write != 0 || !walk->read(addr, value, sizeof *value))
        return -UNW_EINVAL;
    return 0;
}

// libunwind uses DWARF's register numbers: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
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
    UnwindObjects objects;
    std::unique_ptr<UnwindRules> rules; // null until add_rules() is called
};

// Passes the address of the unwind table to libunwind, which reads the table through
// access_mem(). libunwind's own accessor (_UPT_find_proc_info) is not used, because it
// maps the target's files and does not check their offsets.
static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info,
                          int need_unwind_info, void* state)
{
    auto read = [](std::uint64_t at, void* to, std::size_t n) {
        return walk->read(at, to, n);
    };
    const FrameTable* table =
        static_cast<UnwindState*>(state)->objects.table_at(TargetAddr{ip}, read);
    if (table == nullptr)
        return -UNW_ENOINFO;
    unw_dyn_info_t where{};
    where.start_ip = table->begin.value;
    where.end_ip = table->end.value;
    where.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    where.u.rti.segbase = table->header;
    where.u.rti.table_data = table->entries;
    where.u.rti.table_len = table->n_entries * 8 / sizeof(unw_word_t);
    return _Ux86_64_dwarf_search_unwind_table(space, ip, &where, info, need_unwind_info,
                                              state);
}

// Does nothing, because libunwind itself frees data from a table with the format
// UNW_INFO_FORMAT_REMOTE_TABLE.
static void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}

static UnwindState* state_of(Process& process)
{
    AddressSpace& space = *process.space;
    if (space.unwind == nullptr) {
        static unw_accessors_t accessors = {
            find_proc_info, put_unwind_info, no_dynamic_info, access_mem,
            access_reg,     access_fpreg,    no_resume,       no_name};
        unw_addr_space_t made = unw_create_addr_space(&accessors, 0);
        if (made == nullptr)
            return nullptr;
        unw_set_caching_policy(made, UNW_CACHE_GLOBAL);
        space.unwind.reset(
            new UnwindState{made, UnwindObjects(space.proc_tid()), nullptr});
    }
    return space.unwind.get();
}

void forget_unwind(AddressSpace& space)
{
    space.runtime.forget_rules();
    space.unwind.reset();
}

void end_rule_reader()
{
    rule_reader.reset();
}

void DestroyUnwind::operator()(UnwindState* state) const
{
    unw_destroy_addr_space(state->space);
    delete state;
}

struct Walked {
    std::vector<StackPlace> places;
    std::size_t n_calls = 0; // the number of frames before the first signal frame
    bool to_end = false;     // the last frame has no caller
};

static Walked walk_frames(UnwindState& state, std::uint32_t max, bool want_signals)
{
    Walked walked;
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, state.space, &state) != 0)
        return walked;
    std::vector<StackPlace>& places = walked.places;
    bool signal = false;
    while (places.size() < max) {
        unw_word_t pc = 0, sp = 0, bp = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 ||
            unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0)
            break;
        walked.to_end = pc == 0;
        bool up = places.empty() || sp > places.back().sp;
        if (pc == 0 || (!up && unw_is_signal_frame(&cursor) <= 0))
            break; // if the stack pointer does not increase, the walk might not end
        signal = signal || (want_signals && unw_is_signal_frame(&cursor) > 0);
        unw_get_reg(&cursor, UNW_X86_64_RBP, &bp);
        places.push_back({pc, sp, bp});
        walked.n_calls += signal ? 0 : 1;
        int step = unw_step(&cursor);
        walked.to_end = step == 0;
        if (step <= 0)
            break;
    }
    return walked;
}

// Adds a rule to the runtime for each frame before the first signal frame. Omits a rule
// if it finds another caller than libunwind. A rule that is not known yet is requested,
// and a later walk adds it.
static void add_rules(UnwindState& state, AddressSpace& space, const Walked& walked)
{
    if (!rule_reader)
        rule_reader.emplace();
    RuleReader& reader = *rule_reader;
    if (state.rules == nullptr)
        state.rules = std::make_unique<UnwindRules>(space.proc_tid(), reader);
    reader.exchange();
    auto read = [](std::uint64_t at, std::uint64_t& value) {
        return walk->read(at, &value, sizeof value);
    };
    const std::vector<StackPlace>& places = walked.places;
    for (std::size_t i = 0; i < walked.n_calls; ++i) {
        bool last = i + 1 == places.size();
        TargetAddr at{places[i].pc - (i == 0 ? 0 : 1)};
        if ((last && !walked.to_end) || space.runtime.has_rule(at))
            continue;
        auto rule = state.rules->rule_at(at);
        auto caller = rule ? caller_by(*rule, places[i], read) : std::nullopt;
        if (caller && (last ? caller->pc == 0 : *caller == places[i + 1]))
            space.runtime.add_rule(*rule);
    }
    reader.exchange();
}

// Returns the word at the top of the stack, or 0 if the word does not point into
// executable memory. At the first instruction of a function, this word is the return
// address.
static std::uint64_t top_of_stack(AddressSpace& space, const Registers& regs)
{
    std::uint64_t caller = 0;
    if (!space.read_value(TargetAddr{regs[Reg::rsp]}, caller))
        return 0;
    auto all = mappings_of(space.proc_tid());
    const Mapping* text = find_mapping(all, {caller});
    return text != nullptr && text->executable ? caller : 0;
}

std::int64_t unwind_user_stack(Process& process, const Registers& regs,
                               std::uint64_t* pcs, std::uint32_t max)
{
    if (max == 0)
        return 0;
    AddressSpace& space = *process.space;
    bool runtime = space.runtime.image.value != 0;
    constexpr std::uint64_t reads_of_walk = 1 << 20, reads_of_frame = 1 << 12;
    Walk current{&regs, PageCache(space), reads_of_walk + reads_of_frame * max};
    walk = &current;
    UnwindState* state = state_of(process);
    Walked walked;
    if (state != nullptr)
        walked = walk_frames(*state, max, runtime);
    if (state != nullptr && runtime)
        add_rules(*state, space, walked);
    walk = nullptr;
    std::uint32_t n = 0;
    for (const StackPlace& place : walked.places)
        pcs[n++] = place.pc;
    if (n == 0)
        pcs[n++] = regs.rip;
    if (n == 1 && max > 1) {
        pcs[n] = top_of_stack(space, regs);
        n += pcs[n] != 0 ? 1 : 0;
    }
    return n;
}

} // namespace dt::agent
