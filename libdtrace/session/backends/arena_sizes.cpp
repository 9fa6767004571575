// SPDX-License-Identifier: MIT
// Determines the size of a session's arena, and adjusts the options that set buffer
// sizes.
//
// The arena is sparse: only pages that are written use memory. But all buffers can
// become full, so memory for all of them must be available at the start. If it is not,
// bufresize=auto halves the largest sizes until they fit, and bufresize=manual refuses
// the session. The limits on file sizes (RLIMIT_FSIZE) and on address space (RLIMIT_AS)
// also apply.
//
// If a target's control group has little free memory, the arena is made small. This
// process then touches the pages first, so that they are charged to this process and
// not to the target.
#include "libdtrace/session/backends/arena_sizes.hpp"

#include "dif/actions.h"
#include "dif/vars.h"
#include "libdtrace/session/backends/memory_budget.hpp"
#include "libdtrace/session/debug.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace dt {

namespace {

// private shards: for BEGIN and END, for tick and profile, for the agent, for draining
constexpr dt_u32 n_private = 4;

dt_u32 n_shards()
{
    // A thread that is preempted while it fires keeps its shard, so there are more
    // shards than CPUs. An unused shard costs only address space and a page.
    long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    return static_cast<dt_u32>(
        std::clamp(4 * cpus, 128L, long{DT_MAX_SHARDS - n_private}));
}

} // namespace

std::uint64_t n_busy_shards()
{
    long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    return static_cast<std::uint64_t>(std::clamp(cpus + 2, 4L, long{DT_MAX_SHARDS}));
}

namespace {

// The sizes of a session's programs.
struct Needs {
    std::size_t n_clauses = 0, n_descriptions = 0, n_difos = 0, n_matched = 0;
    std::size_t dof_bytes = 0, local_bytes = 0;
    bool aggregates = false, speculates = false;

    void add(const Difo* difo)
    {
        if (difo == nullptr)
            return;
        n_difos++;
        for (const dif_varinfo& variable : difo->vars)
            if (variable.scope == DIFV_SCOPE_LOCAL)
                local_bytes += 16 + variable.type.size;
    }
    void add(const Enabling& enabling)
    {
        const Program& program = *enabling.prog->program;
        dof_bytes += write_dof(program, 0).size();
        for (const CompiledClause& clause : program.clauses) {
            n_clauses++;
            n_descriptions += clause.probes.size();
            add(clause.predicate.get());
            for (const Action& action : clause.actions) {
                add(action.difo.get());
                aggregates = aggregates || DTRACEACT_ISAGG(action.kind);
                speculates = speculates || action.kind == DTRACEACT_SPECULATE;
            }
        }
        for (const auto& ids : enabling.prog->matched)
            n_matched += ids.size();
    }
};

constexpr std::uint64_t name_bytes = 256; // space in the heap for one probe's names

dt_arena_config arena_config(const Options& options, const Needs& needs)
{
    dt_arena_config config{};
    config.has_float = 1;
    for (int i = 0; i < DTRACEOPT_N; i++)
        config.options[i] = options.run_time_values()[static_cast<std::size_t>(i)];
    constexpr std::uint64_t unused = 4096;
    if (!needs.aggregates)
        config.options[DTRACEOPT_aggsize] = unused;
    if (!needs.speculates)
        config.options[DTRACEOPT_specsize] = unused;
    config.n_shards = n_shards();
    config.n_private = n_private;
    config.n_cpus = static_cast<dt_u32>(::sysconf(_SC_NPROCESSORS_CONF));
    // The maximums leave space for probes of libraries and programs that are loaded
    // later.
    config.max_probes = 1u << 20;
    config.max_ecbs = static_cast<dt_u32>(
        std::clamp<std::size_t>(4 * needs.n_matched, 1u << 21, 1u << 26));
    // The engine has space for 16 DIFOs and 4 descriptions per clause.
    config.max_clauses = static_cast<dt_u32>(
        std::max({needs.n_clauses, needs.n_difos / 16, needs.n_descriptions / 4}) + 64);
    config.max_vars = 1u << 16;
    config.heap_bytes =
        (1 << 20) + 4 * needs.dof_bytes + config.max_probes * name_bytes;
    config.globals_bytes = 64ull << 20;
    config.locals_bytes =
        std::clamp<std::uint64_t>(2 * needs.local_bytes, 64 << 10, 1 << 20);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    config.walltime = static_cast<dt_u64>(now.tv_sec) * 1'000'000'000 +
                      static_cast<dt_u64>(now.tv_nsec);
    return config;
}

// The size that an option sets, and how many buffers have this size. `limit` is the
// engine's maximum.
struct Sized {
    int option;
    std::uint64_t limit, copies;
    std::uint64_t value;

    std::uint64_t total() const
    {
        return value > UINT64_MAX / copies ? UINT64_MAX : value * copies;
    }
};

constexpr std::uint64_t smallest_halved = 64 << 10;

} // namespace

int fit_options(SessionState& state, std::uint64_t default_aggsize)
{
    std::uint64_t cpu = state.options.run_time(DTRACEOPT_cpu);
    if (cpu != DT_OPT_UNSET &&
        cpu >= static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)))
        return state.fail(EDT_BADOPTVAL, "there is no CPU " + std::to_string(cpu));

    const std::uint64_t shards = n_busy_shards();
    const std::uint64_t specs =
        std::max<std::uint64_t>(state.options.run_time(DTRACEOPT_nspec), 1);
    Sized sizes[] = {{DTRACEOPT_bufsize, 1ull << 32, 2 * shards, 0},
                     {DTRACEOPT_aggsize, 1ull << 31, 2 * shards, 0},
                     {DTRACEOPT_specsize, 1ull << 32, specs * shards, 0},
                     {DTRACEOPT_dynvarsize, 1ull << 31, 1, 0}};
    if (default_aggsize != 0 && !state.options.by_user(DTRACEOPT_aggsize))
        state.options.adjust(DTRACEOPT_aggsize, default_aggsize);
    for (Sized& size : sizes)
        size.value = state.options.run_time(size.option);
    const std::uint64_t available = available_bytes();
    for (;;) {
        Sized* largest = nullptr;
        std::uint64_t total = 0;
        bool fits = true;
        for (Sized& size : sizes) {
            fits = fits && size.value <= size.limit;
            total += std::min(size.total(), UINT64_MAX - total);
            if (largest == nullptr || size.total() > largest->total() ||
                (size.value > size.limit && largest->value <= largest->limit))
                largest = &size;
        }
        if (fits && (available == 0 || total <= available))
            break;
        if (state.options.run_time(DTRACEOPT_bufresize) == DT_BUFRESIZE_MANUAL)
            return state.fail(ENOMEM,
                              "the buffers would take " + std::to_string(total >> 20) +
                                  " MiB, but only " + std::to_string(available >> 20) +
                                  " MiB are available");
        if (largest->value <= smallest_halved)
            return state.fail(ENOMEM,
                              "there is not enough memory for buffers of 64 KiB");
        largest->value /= 2;
    }
    for (const Sized& size : sizes)
        state.options.adjust(size.option, size.value);

    constexpr std::uint64_t slowest_ns = 60'000'000'000, fastest_ns = 200'000;
    state.options.adjust(DTRACEOPT_cleanrate,
                         std::clamp(state.options.run_time(DTRACEOPT_cleanrate),
                                    fastest_ns, slowest_ns));
    return 0;
}

namespace {

struct Layout {
    std::uint64_t program = 0, data = 0;
};

Layout layout_of(const dt_arena_config& config)
{
    dt_u64 program = 0, total = 0;
    dt_arena_layout(&config, &program, &total);
    return {program, total - program};
}

// Limits in bytes.
struct Room {
    std::uint64_t file = no_limit;    // maximum size of each part
    std::uint64_t address = no_limit; // maximum size of all parts together
    // maximum size of the memory that this process must touch: the data part without
    // the global variables
    std::uint64_t touched = no_limit;
};

// Returns the first limit that the layout exceeds, as text, or "".
std::string excess(const Layout& layout, const dt_arena_config& config,
                   const Room& room)
{
    auto mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    const std::uint64_t larger = std::max(layout.program, layout.data);
    if (larger > room.file)
        return "an in-memory file of " + mib(larger) + ", but files are limited to " +
               mib(room.file) + " (ulimit -f)";
    if (layout.program + layout.data > room.address)
        return mib(layout.program + layout.data) +
               " of address space, but dtrace's or a target's limit (ulimit -v) "
               "leaves only " +
               mib(room.address);
    if (room.touched != no_limit && layout.data - config.globals_bytes > room.touched)
        return mib(layout.data - config.globals_bytes) + " of memory, but only " +
               mib(room.touched) +
               " are available (limited by control groups or free memory)";
    return {};
}

// Makes the arena smaller by one step. If only_program is true, halves the numbers of
// probes and ECBs. Otherwise halves the buffers first, then reduces shards and global
// variables. Returns false if no further step is possible.
bool shrink(dt_arena_config& config, bool only_program)
{
    if (only_program) {
        constexpr dt_u32 fewest = 16384;
        if (config.max_probes <= fewest)
            return false;
        const std::uint64_t rest = config.heap_bytes - config.max_probes * name_bytes;
        config.max_probes /= 2;
        config.max_ecbs = std::max(config.max_ecbs / 2, fewest);
        config.heap_bytes = rest + config.max_probes * name_bytes;
        return true;
    }
    struct Stage {
        std::uint64_t smallest_buffer;
        dt_u32 fewest_shards;
    };
    for (Stage stage : {Stage{512 << 10, 32}, Stage{smallest_halved, 4}}) {
        dt_u64* largest = &config.options[DTRACEOPT_bufsize];
        for (int option : {DTRACEOPT_aggsize, DTRACEOPT_specsize})
            if (config.options[option] > *largest)
                largest = &config.options[option];
        if (*largest > stage.smallest_buffer) {
            *largest /= 2;
            return true;
        }
        if (config.n_shards > stage.fewest_shards) {
            config.n_shards = std::max(config.n_shards / 2, stage.fewest_shards);
            return true;
        }
        constexpr std::uint64_t few_globals = 4 << 20;
        if (config.globals_bytes > few_globals) {
            config.globals_bytes = few_globals;
            return true;
        }
    }
    return false;
}

} // namespace

static std::uint64_t smallest_arena_bytes(dt_arena_config config)
{
    while (shrink(config, true) || shrink(config, false))
        ;
    const Layout layout = layout_of(config);
    return layout.program + layout.data;
}

// Returns the targets and other processes with matched probes.
static std::set<pid_t> pids_of_targets(const SessionState& state)
{
    std::set<pid_t> pids = state.found_by_probes();
    for (const auto& process : state.processes.all())
        if (process->is_held())
            pids.insert(process->pid);
    return pids;
}

constexpr std::uint64_t smallest_parked = 1 << 20;

// Returns how many shards may be parked: one for each CPU, and more if the memory
// allows. `group` is the number of bytes that the targets' control groups still allow.
static dt_u32 n_parkable(const SessionState& state, const dt_arena_config& config,
                         std::uint64_t group)
{
    // A user who sets a small size wants to use little memory.
    if (state.options.by_user(DTRACEOPT_aggsize) &&
        config.options[DTRACEOPT_aggsize] < smallest_parked)
        return 0;
    // With aggpercpu, a value's shard determines its CPU. This would be wrong with
    // parked shards, because the threads of their CPUs then use other shards.
    if (state.options.flags.aggpercpu)
        return 0;
    constexpr std::uint64_t most = 1 << 30;
    const std::uint64_t both_buffers = 2 * config.options[DTRACEOPT_aggsize];
    const std::uint64_t left = std::min(group, memory_left());
    return config.n_cpus + static_cast<dt_u32>(std::min(most, left / 8) / both_buffers);
}

int make_shared_arena(SessionState& state, bool& charged_to_us)
{
    Needs needs;
    for (const Enabling& each : state.enabled)
        needs.add(each);
    dt_arena_config config = arena_config(state.options, needs);
    config.has_stack = state.samples_in_consumer();
    Layout layout = layout_of(config);

    Room room;
    room.file = file_size_limit();
    std::uint64_t group = no_limit;
    room.address = address_space_left(0) / 2;
    const std::uint64_t smallest = smallest_arena_bytes(config);
    for (pid_t pid : pids_of_targets(state)) {
        // A target that cannot map even the smallest arena is traced with breakpoints.
        // Its limit is ignored.
        const std::uint64_t left = address_space_left(pid) / 2;
        if (left >= smallest)
            room.address = std::min(room.address, left);
        group = std::min(group, control_group_left(pid));
    }
    // If a group allows less than eight times the size of the busy shards, the arena is
    // charged to this process.
    const std::uint64_t busy = layout.data / config.n_shards * n_busy_shards();
    charged_to_us = group / 8 < busy;
    if (charged_to_us) {
        constexpr std::uint64_t most = 128 << 20;
        room.touched = std::min(most, control_group_left(0) / 4);
        if (std::uint64_t available = available_bytes(); available != 0)
            room.touched = std::min(room.touched, available / 8);
        debug(
            "targets may use only %llu KiB more memory, so the arena's size is limited",
            static_cast<unsigned long long>(group >> 10));
    }
    for (std::string why; !(why = excess(layout, config, room)).empty();
         layout = layout_of(config)) {
        const int error =
            std::max(layout.program, layout.data) > room.file ? EFBIG : ENOMEM;
        if (state.options.run_time(DTRACEOPT_bufresize) == DT_BUFRESIZE_MANUAL)
            return state.fail(error, "the buffers need " + why);
        const bool only_program = layout.program > room.file ||
                                  (layout.program > layout.data &&
                                   why.find("address space") != std::string::npos);
        if (!shrink(config, only_program) && !shrink(config, !only_program)) {
            if (error == ENOMEM && room.touched != no_limit)
                break; // uses the smallest arena, although it exceeds the limit
            return state.fail(error, "the smallest buffers need " + why);
        }
    }
    for (int option : {DTRACEOPT_bufsize, DTRACEOPT_aggsize, DTRACEOPT_specsize})
        if (config.options[option] < state.options.run_time(option) &&
            (option != DTRACEOPT_aggsize || needs.aggregates) &&
            (option != DTRACEOPT_specsize || needs.speculates))
            state.options.adjust(option, config.options[option]);

    if (needs.aggregates)
        config.n_parkable = n_parkable(state, config, group);
    auto made = ArenaMemory::create(config);
    if (!made)
        return state.fail(made.error());
    state.arena.emplace(std::move(*made));
    return 0;
}

} // namespace dt
