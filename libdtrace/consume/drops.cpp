// SPDX-License-Identifier: MIT
// Reports drops.
#include "libdtrace/consume/drops.hpp"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

// If the count is not 1, an "s" is added after the third column, and each "*" in the
// fourth column becomes an "s". If the count is 1, each "*" is removed.
// clang-format off
#define DT_DROP_TEXTS(X) /* X(kind, per CPU?, text, rest of the text) */ \
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
    X(LEASE,          false, "drop", " (the consumer did not run)")             \
    X(NMI,            false, "drop", " (an interrupt arrived during a probe)")       \
    X(RETURN,         false, "drop", " (the function's return could not be traced)")  \
    X(TIME,           false, "firing", " aborted after 0.5 s, before all clauses were finished") \
    X(THROTTLE,       false, "drop", " (the kernel stopped a cpc counter until its next tick)")
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

// The rows must be in the order of DIF_DROPS in dif/faults.h.
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

// Adds `more` to `to`. Saturates, because sums of forged counts can exceed 64 bits.
void add(std::uint64_t& to, std::uint64_t more)
{
    if (__builtin_add_overflow(to, more, &to))
        to = ~std::uint64_t{0};
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

std::string drop_text(std::uint32_t kind, std::uint64_t count, std::string_view where,
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
        text += " on " + std::string(where);
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
    if (lost_in_shard_.size() <= shard)
        lost_in_shard_.resize(shard + 1);
    add(lost_in_shard_[shard][DTRACEDROP_AGGREGATION], 1);
}

void DropCounts::add_arena(const dt_arena* arena)
{
    const std::size_t n_shards =
        std::min<std::uint32_t>(arena->n_shards, DT_MAX_SHARDS);
    Known known{arena};
    known.shards.resize(n_shards);
    arenas_.push_back(std::move(known));
    lost_in_shard_.resize(std::max(lost_in_shard_.size(), n_shards));
}

void DropCounts::remove_arena(const dt_arena* arena)
{
    std::erase_if(arenas_, [&](Known& known) {
        if (known.arena == arena)
            read(known);
        return known.arena == arena;
    });
}

void DropCounts::read(Known& known)
{
    const dt_arena* arena = known.arena;
    const std::size_t n_shards = known.shards.size();
    const auto* session = static_cast<const dt_session*>(dt_at(arena, arena->session));
    for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++)
        add(texts[kind].by_cpu && n_shards > 0 ? lost_in_shard_[0][kind] : lost_[kind],
            advance(known.session[kind], read_count(session->drops[kind])));
    for (std::size_t i = 0; i < n_shards; i++) {
        const auto* shard = static_cast<const dt_shard*>(
            dt_at(arena, arena->shards + i * arena->shard_bytes));
        for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++)
            add(texts[kind].by_cpu ? lost_in_shard_[i][kind] : lost_[kind],
                advance(known.shards[i][kind], read_count(shard->drops[kind])));
    }
}

bool DropCounts::tell(const DropEvent& event, Events& events)
{
    if (event.count == 0)
        return true;
    DropEvent told = event;
    add(totals_[event.kind], event.count);
    told.total = totals_[event.kind];
    return events.drop(told);
}

bool DropCounts::tell_by_cpu(std::uint32_t kind, bool tags, Events& events)
{
    constexpr std::uint32_t most_lines = 16;
    std::uint32_t n_lines = 0, n_others = 0;
    DropEvent others;
    others.kind = kind;
    for (std::uint32_t i = 0; i < lost_in_shard_.size(); i++) {
        const std::uint64_t lost = std::exchange(lost_in_shard_[i][kind], 0);
        if (lost == 0)
            continue;
        if (n_lines == most_lines) {
            add(others.count, lost);
            n_others++;
            continue;
        }
        n_lines++;
        DropEvent event;
        event.kind = kind;
        event.cpu = i;
        event.count = lost;
        event.text = drop_text(kind, lost, "CPU " + std::to_string(i), tags);
        if (!tell(event, events))
            return false;
    }
    others.text = drop_text(
        kind, others.count,
        std::to_string(n_others) + (n_others == 1 ? " more CPU" : " more CPUs"), tags);
    return tell(others, events);
}

bool DropCounts::report(bool tags, Events& events, std::uint64_t now, When when)
{
    constexpr std::uint64_t interval_ns = 1'000'000'000;
    for (Known& known : arenas_)
        read(known);
    if (when == When::OncePerSecond && now < next_report_)
        return true;
    const Counts before = totals_;
    for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++) {
        if (texts[kind].by_cpu && !tell_by_cpu(kind, tags, events))
            return false;
        if (texts[kind].by_cpu)
            continue;
        DropEvent event;
        event.kind = kind;
        event.count = std::exchange(lost_[kind], 0);
        event.text = drop_text(kind, event.count, "", tags);
        if (!tell(event, events))
            return false;
    }
    if (totals_ != before)
        next_report_ = now + interval_ns;
    return true;
}

} // namespace dt
