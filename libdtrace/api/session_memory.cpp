// SPDX-License-Identifier: MIT
// How much memory a session takes: its arena, and the sizes that options ask for.
//
// The arena is sparse: tables are generous, and only what is written takes memory. Buffers
// can all become full though, so what they take then must be there now: with bufresize
// auto the largest sizes are halved until they fit, with manual the session is refused. A
// size above what the engine lays out counts as one that does not fit. The limits of a
// control group are not looked at.
#include "libdtrace/api/session.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace {

dt_u32 n_shards()
{
    // A thread of a target that is preempted while it fires keeps its shard, and as many
    // as there are can be. One that nobody needs is address space and a page.
    long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    return static_cast<dt_u32>(std::clamp(4 * cpus, 128L, long{DT_MAX_SHARDS}));
}

// Those that are likely to become full: the first choice of each CPU, and two more.
std::uint64_t n_busy_shards()
{
    long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
    return static_cast<std::uint64_t>(std::clamp(cpus + 2, 4L, long{DT_MAX_SHARDS}));
}

dt_arena_config arena_config(const dt::Options& options)
{
    dt_arena_config config{};
    config.has_float = 1;
    for (int i = 0; i < DTRACEOPT_N; i++)
        config.options[i] = options.run_time_values()[static_cast<std::size_t>(i)];
    config.n_shards = n_shards();
    config.n_cpus = static_cast<dt_u32>(::sysconf(_SC_NPROCESSORS_CONF));
    config.max_probes = 1u << 20;
    config.max_ecbs = 1u << 21;
    config.max_clauses = 1u << 18;
    config.max_vars = 1u << 16;
    config.heap_bytes = 1ull << 30;
    config.globals_bytes = 64ull << 20;
    config.locals_bytes = 1ull << 20;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    config.walltime = static_cast<dt_u64>(now.tv_sec) * 1'000'000'000 +
                      static_cast<dt_u64>(now.tv_nsec);
    return config;
}

// 0: not known.
std::uint64_t available_bytes()
{
    std::uint64_t kib = 0;
    if (FILE* file = std::fopen("/proc/meminfo", "re")) {
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr)
            if (std::sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
                break;
        std::fclose(file);
    }
    return kib << 10;
}

// A size whose buffers exist `copies` times; the engine lays out at most `limit`.
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

int dtrace_hdl::fit_options()
{
    std::uint64_t cpu = options.run_time(DTRACEOPT_cpu);
    if (cpu != DT_OPT_UNSET &&
        cpu >= static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)))
        return fail(EDT_BADOPTVAL, "there is no CPU " + std::to_string(cpu));

    const std::uint64_t shards = n_busy_shards();
    const std::uint64_t specs =
        std::max<std::uint64_t>(options.run_time(DTRACEOPT_nspec), 1);
    Sized sizes[] = {{DTRACEOPT_bufsize, 1ull << 32, 2 * shards, 0},
                     {DTRACEOPT_aggsize, 1ull << 31, 2 * shards, 0},
                     {DTRACEOPT_specsize, 1ull << 32, specs * shards, 0},
                     {DTRACEOPT_dynvarsize, 1ull << 31, 1, 0}};
    for (Sized& size : sizes)
        size.value = options.run_time(size.option);
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
        if (options.run_time(DTRACEOPT_bufresize) == DT_BUFRESIZE_MANUAL)
            return fail(ENOMEM, "the buffers would take " +
                                    std::to_string(total >> 20) + " MiB, of which " +
                                    std::to_string(available >> 20) +
                                    " MiB are available");
        if (largest->value <= smallest_halved)
            return fail(ENOMEM, "there is no memory for buffers of 64 KiB");
        largest->value /= 2;
    }
    for (const Sized& size : sizes)
        options.adjust(size.option, size.value);

    constexpr std::uint64_t slowest_ns = 60'000'000'000, fastest_ns = 200'000;
    options.adjust(
        DTRACEOPT_cleanrate,
        std::clamp(options.run_time(DTRACEOPT_cleanrate), fastest_ns, slowest_ns));
    return 0;
}

int dtrace_hdl::make_arena()
{
    if (in_kernel)
        return make_kernel_arena();
    auto made = dt::ArenaMemory::create(arena_config(options));
    if (!made)
        return fail(made.error());
    arena.emplace(std::move(*made));
    return 0;
}
