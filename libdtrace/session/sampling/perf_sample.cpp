// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/perf_sample.hpp"

#include <algorithm>
#include <asm/perf_regs.h>
#include <cstring>
#include <linux/perf_event.h>
#include <type_traits>

namespace dt {

namespace {

struct Row {
    unsigned number; // PERF_REG_X86_*
    Reg reg;
};
// Rows in the order in which a sample contains the registers.
constexpr Row general_rows[] = {
    {PERF_REG_X86_AX, Reg::rax},  {PERF_REG_X86_BX, Reg::rbx},
    {PERF_REG_X86_CX, Reg::rcx},  {PERF_REG_X86_DX, Reg::rdx},
    {PERF_REG_X86_SI, Reg::rsi},  {PERF_REG_X86_DI, Reg::rdi},
    {PERF_REG_X86_BP, Reg::rbp},  {PERF_REG_X86_SP, Reg::rsp},
    {PERF_REG_X86_R8, Reg::r8},   {PERF_REG_X86_R9, Reg::r9},
    {PERF_REG_X86_R10, Reg::r10}, {PERF_REG_X86_R11, Reg::r11},
    {PERF_REG_X86_R12, Reg::r12}, {PERF_REG_X86_R13, Reg::r13},
    {PERF_REG_X86_R14, Reg::r14}, {PERF_REG_X86_R15, Reg::r15}};

constexpr std::uint64_t mask_of_all()
{
    std::uint64_t mask =
        std::uint64_t{1} << PERF_REG_X86_IP | std::uint64_t{1} << PERF_REG_X86_FLAGS;
    for (const Row& row : general_rows)
        mask |= std::uint64_t{1} << row.number;
    return mask;
}

// Reads values of a record one after the other.
class Fields {
public:
    explicit Fields(std::span<const std::byte> record) : rest_(record) {}

    template <class T> T get()
    {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const auto from = bytes(sizeof value);
        if (from.size() == sizeof value)
            std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    std::span<const std::byte> bytes(std::uint64_t n)
    {
        ok_ = ok_ && n <= rest_.size();
        if (!ok_)
            return {};
        const auto taken = rest_.first(n);
        rest_ = rest_.subspan(n);
        return taken;
    }
    bool ok() const { return ok_; }
    std::size_t n_left() const { return rest_.size(); }

private:
    std::span<const std::byte> rest_;
    bool ok_ = true;
};

// The end of each record that is not a sample (sample_id_all).
struct Trailer {
    std::uint32_t pid, tid;
    std::uint64_t time_ns;
    std::uint32_t cpu, reserved;
    std::uint64_t id;
};

std::optional<Registers> registers_in(Fields& in)
{
    const auto abi = in.get<std::uint64_t>();
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return std::nullopt;
    Registers regs;
    for (unsigned number = 0; number < 64; number++) {
        if ((sampled_registers >> number & 1) == 0)
            continue;
        const auto value = in.get<std::uint64_t>();
        if (number == PERF_REG_X86_IP)
            regs.rip = value;
        else if (number == PERF_REG_X86_FLAGS)
            regs.rflags = value;
        for (const Row& row : general_rows)
            if (row.number == number)
                regs[row.reg] = value;
    }
    return abi == PERF_SAMPLE_REGS_ABI_64 ? std::optional(regs) : std::nullopt;
}

} // namespace

constinit const std::uint64_t sampled_registers = mask_of_all();

std::uint64_t sample_type(const PerfContents& contents)
{
    std::uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                         PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    if (contents.registers)
        type |= PERF_SAMPLE_REGS_USER;
    if (contents.kernel_stack)
        type |= PERF_SAMPLE_CALLCHAIN;
    if (contents.record)
        type |= PERF_SAMPLE_RAW;
    if (contents.stack_bytes != 0)
        type |= PERF_SAMPLE_STACK_USER;
    return type;
}

std::uint64_t record_time(std::span<const std::byte> record)
{
    Fields in(record);
    const auto header = in.get<perf_event_header>();
    if (header.type == PERF_RECORD_SAMPLE) {
        (void)in.bytes(3 * sizeof(std::uint64_t)); // the event, the pc, and the ids
        return in.get<std::uint64_t>();
    }
    if (in.n_left() < sizeof(Trailer))
        return 0;
    (void)in.bytes(in.n_left() - sizeof(Trailer));
    return in.get<Trailer>().time_ns;
}

std::optional<std::uint64_t> event_in(std::span<const std::byte> record)
{
    Fields in(record);
    if (in.get<perf_event_header>().type != PERF_RECORD_SAMPLE)
        return std::nullopt;
    const auto event = in.get<std::uint64_t>();
    return in.ok() ? std::optional(event) : std::nullopt;
}

std::optional<PerfSample> sample_in(std::span<const std::byte> record,
                                    const PerfContents& contents)
{
    Fields in(record);
    const auto header = in.get<perf_event_header>();
    if (header.type != PERF_RECORD_SAMPLE)
        return std::nullopt;
    PerfSample sample;
    sample.in_kernel =
        (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    sample.event = in.get<std::uint64_t>();
    sample.pc = in.get<std::uint64_t>();
    sample.pid = in.get<pid_t>();
    sample.tid = in.get<pid_t>();
    sample.time_ns = in.get<std::uint64_t>();
    sample.cpu = in.get<std::uint32_t>();
    (void)in.get<std::uint32_t>();
    if (contents.kernel_stack) {
        const auto n = in.get<std::uint64_t>();
        for (std::uint64_t i = 0; i < n && in.ok(); i++)
            if (const auto pc = in.get<std::uint64_t>(); pc < PERF_CONTEXT_MAX)
                sample.kernel_stack.push_back(pc);
    }
    if (contents.record)
        sample.record = in.bytes(in.get<std::uint32_t>());
    if (contents.registers)
        sample.user = registers_in(in);
    if (contents.stack_bytes != 0)
        if (const auto n = in.get<std::uint64_t>(); n != 0) {
            const auto stack = in.bytes(n);
            sample.user_stack = stack.first(
                std::min<std::uint64_t>(in.get<std::uint64_t>(), stack.size()));
        }
    return in.ok() ? std::optional(std::move(sample)) : std::nullopt;
}

std::optional<PerfTaskEvent> task_event_in(std::span<const std::byte> record)
{
    Fields in(record);
    const auto header = in.get<perf_event_header>();
    PerfTaskEvent event;
    event.pid = in.get<pid_t>();
    switch (header.type) {
    case PERF_RECORD_COMM: {
        event.kind = (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0
                         ? PerfTaskEvent::execed
                         : PerfTaskEvent::named;
        event.tid = in.get<pid_t>();
        if (in.n_left() < sizeof(Trailer))
            return std::nullopt;
        const auto name = in.bytes(in.n_left() - sizeof(Trailer));
        const auto* text = reinterpret_cast<const char*>(name.data());
        event.name.assign(text, ::strnlen(text, name.size()));
        break;
    }
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        event.kind = header.type == PERF_RECORD_FORK ? PerfTaskEvent::forked
                                                     : PerfTaskEvent::exited;
        event.parent = in.get<pid_t>();
        event.tid = in.get<pid_t>();
        break;
    default:
        return std::nullopt;
    }
    return in.ok() ? std::optional(std::move(event)) : std::nullopt;
}

std::uint64_t lost_in(std::span<const std::byte> record)
{
    Fields in(record);
    if (in.get<perf_event_header>().type != PERF_RECORD_LOST)
        return 0;
    (void)in.get<std::uint64_t>(); // the event
    return in.get<std::uint64_t>();
}

} // namespace dt
