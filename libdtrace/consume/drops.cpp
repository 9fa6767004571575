// SPDX-License-Identifier: MIT
// Drop reports: one row per kind, its text in two halves around the plural's s; a star
// stands for another one.
#include "libdtrace/consume/drops.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// clang-format off
#define DT_DROP_TEXTS(X) /* X(kind, by CPU, before the s, after it) */ \
    X(PRINCIPAL,      true,  "drop", "")                                          \
    X(AGGREGATION,    true,  "aggregation drop", "")                              \
    X(DYNAMIC,        false, "dynamic variable drop", "")                         \
    X(DYNRINSE,       false, "dynamic variable drop", " with non-empty rinsing list") \
    X(DYNDIRTY,       false, "dynamic variable drop", " with non-empty dirty list") \
    X(SPEC,           false, "speculative drop", "")                              \
    X(SPECBUSY,       false, "failed speculation", " (available buffer* still busy)") \
    X(SPECUNAVAIL,    false, "failed speculation", " (no speculative buffer available)") \
    X(STKSTROVERFLOW, false, "jstack()/ustack() string table overflow", "")       \
    X(DBLERROR,       false, "error", " in ERROR probe enabling")                 \
    X(NOSHARD,        false, "drop", " (every buffer was busy)")               \
    X(LEASE,          false, "drop", " (the consumer stood still)")             \
    X(NMI,            false, "drop", " (an interrupt came into a probe)")       \
    X(RETURN,         false, "drop", " (the return could not be awaited)")     \
    X(TIME,           false, "firing", " ended after 0.5 s, before the last clause") \
    X(THROTTLE,       false, "drop", " (the kernel stopped a counter of cpc until its next tick)")
// clang-format on

struct DropText {
    const char* name;
    bool by_cpu;
    const char* before;
    const char* after;
};

constexpr DropText texts[DTRACEDROP_N] = {
#define X(kind, by_cpu, before, after) {#kind, by_cpu, before, after},
    DT_DROP_TEXTS(X)
#undef X
};

// The rows stand in the order of dif/faults.h.
#define X(kind, by_cpu, before, after) kind,
enum class Order { DT_DROP_TEXTS(X) };
#undef X
#define X(kind)                                                                        \
    static_assert(static_cast<int>(Order::kind) == static_cast<int>(DTRACEDROP_##kind));
DIF_DROPS(X)
#undef X

std::uint64_t read_count(const dt_u64& count)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

std::uint64_t advance(std::uint64_t& known, std::uint64_t now)
{
    std::uint64_t lost = now > known ? now - known : 0;
    known = now;
    return lost;
}

} // namespace

std::string_view drop_name(std::uint32_t kind)
{
    return kind < DTRACEDROP_N ? texts[kind].name : "";
}

std::string drop_text(std::uint32_t kind, std::uint64_t count, std::uint32_t cpu,
                      bool tags)
{
    if (kind >= DTRACEDROP_N)
        return {};
    const DropText& row = texts[kind];
    std::string text;
    if (tags)
        text = std::string("[DTRACEDROP_") + row.name + "] ";
    text += std::to_string(count) + " " + row.before + (count == 1 ? "" : "s");
    if (row.by_cpu)
        text += " on CPU " + std::to_string(cpu);
    for (char c : std::string_view(row.after)) {
        if (c != '*')
            text.push_back(c);
        else if (count != 1)
            text.push_back('s');
    }
    return text;
}

void DropCounts::lose_aggregated(std::uint32_t shard)
{
    if (not_kept_.size() <= shard)
        not_kept_.resize(shard + 1);
    not_kept_[shard]++;
}

bool DropCounts::report(const dt_arena* arena, bool tags, Events& events)
{
    auto tell = [&](std::uint32_t kind, std::uint64_t lost, std::uint32_t shard) {
        if (lost == 0)
            return true;
        totals_[kind] += lost;
        DropEvent event;
        event.kind = kind;
        if (texts[kind].by_cpu)
            event.cpu = shard;
        event.count = lost;
        event.total = totals_[kind];
        event.text = drop_text(kind, lost, shard, tags);
        return events.drop(event);
    };
    const std::uint32_t n_shards =
        std::min<std::uint32_t>(arena->n_shards, DT_MAX_SHARDS);
    shards_.resize(n_shards);
    not_kept_.resize(n_shards);
    const auto* session = static_cast<const dt_session*>(dt_at(arena, arena->session));
    Counts lost{}; // of kinds that are not counted by CPU
    for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++)
        lost[kind] = advance(session_[kind], read_count(session->drops[kind]));
    for (std::uint32_t i = 0; i < n_shards; i++) {
        const auto* shard = static_cast<const dt_shard*>(
            dt_at(arena, arena->shards + i * arena->shard_bytes));
        for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++) {
            std::uint64_t here =
                advance(shards_[i][kind], read_count(shard->drops[kind]));
            if (!texts[kind].by_cpu)
                lost[kind] += here;
            else if (!tell(kind, here + (kind == DTRACEDROP_AGGREGATION
                                             ? std::exchange(not_kept_[i], 0)
                                             : 0),
                           i))
                return false;
        }
    }
    for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++)
        if (!tell(kind, lost[kind], 0))
            return false;
    return true;
}

} // namespace dt
