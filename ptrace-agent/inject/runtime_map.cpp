// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/runtime_map.hpp"

#include "dif/slots.h"
#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <cstddef>

namespace dt::agent {

// The table of stack-walking rules is at most three quarters full, because searches in
// a fuller table are slow.
constexpr std::size_t max_rules = DT_RT_MAX_RULES / 4 * 3;

void RuntimeMap::forget()
{
    config_.forget();
    doorbells.disarm();
    image = {};
    image_bytes = region_bytes = 0;
    has_links = false;
    sessions_.clear();
    written_links_.clear();
    retired_.clear();
    n_sites_ = n_firings_ = n_threads_ = 0;
    n_operands_ = 0;
    free_sites_.clear();
    n_listed_.clear();
    free_lists_.clear();
    call_tables_.clear();
    behind_.clear();
    rules_.clear();
    shared_bases.clear();
}

bool RuntimeMap::let_fire(AddressSpace& space, bool on) const
{
    const std::uint32_t word = on ? 1 : 0;
    return space.write_text(image + DT_RT_LIVE, std::as_bytes(std::span(&word, 1)));
}

void RuntimeMap::learn_errno(std::int64_t offset)
{
    if (image.value == 0 || config_.own().errno_known != 0)
        return;
    config_.set(config_.own().errno_offset, offset);
    config_.publish(config_.own().errno_known, 1);
}

RuntimeMap::Stacks RuntimeMap::free_stacks(std::uint32_t n_shards) const
{
    std::map<std::uint32_t, std::uint32_t> used; // first stack, number of stacks
    for (const auto& [session, memory] : sessions_) {
        const dt_rt_session& entry = config().sessions[session];
        used[entry.first_stack] = entry.n_shards;
    }
    used[DT_RT_MAX_STACKS] = 0;
    Stacks best;
    std::uint32_t begin = 0;
    for (auto [first, n] : used) {
        if (first - begin > best.n)
            best = {begin, std::min(first - begin, n_shards)};
        begin = first + n;
    }
    return best;
}

void RuntimeMap::add_session(unsigned session, const SessionMemory& memory,
                             const dt_rt_session& entry)
{
    config_.set(config().sessions[session], entry);
    sessions_[session] = memory;
}

void RuntimeMap::remove_session(unsigned session)
{
    config_.set(config().sessions[session], {});
    sessions_.erase(session);
}

const dt_rt_session* RuntimeMap::session_at(TargetAddr stack) const
{
    for (const auto& [session, memory] : sessions_) {
        const dt_rt_session& entry = config().sessions[session];
        if (stack.value - entry.stacks < entry.n_shards * DT_RT_STACK_BYTES)
            return &entry;
    }
    return nullptr;
}

std::optional<TargetAddr> RuntimeMap::stack(std::uint32_t stack) const
{
    for (const auto& [session, memory] : sessions_) {
        const dt_rt_session& entry = config().sessions[session];
        if (stack - entry.first_stack < entry.n_shards)
            return TargetAddr{entry.stacks +
                              (stack - entry.first_stack) * DT_RT_STACK_BYTES};
    }
    return std::nullopt;
}

// Returns the key of a retired entry. The entry keeps its place in the table, but
// matches no thread, because an fs_base is never odd.
static std::uint64_t retired(std::uint64_t fs_base)
{
    return fs_base | 1;
}

Result<Ok> RuntimeMap::make(pid_t pid)
{
    forget();
    if (auto made = config_.make(pid); !made)
        return made;
    // Free entries contain 0, so a thread with fs_base 0 would match a free entry.
    // Therefore the entry for fs_base 0 is retired.
    config_.set(config().threads[dt_rt_thread_slot(0)].fs_base, retired(0));
    return Ok{};
}

const dt_rt_thread* RuntimeMap::find_slot(std::uint64_t fs_base) const
{
    std::uint32_t at = dt_rt_thread_slot(fs_base);
    for (std::uint32_t i = 0; i < DT_RT_MAX_THREADS; ++i) {
        const dt_rt_thread& thread = config().threads[at];
        if (thread.fs_base == fs_base || thread.fs_base == retired(fs_base) ||
            thread.fs_base == 0)
            return &thread;
        at = (at + 1) & (DT_RT_MAX_THREADS - 1);
    }
    return nullptr;
}

void RuntimeMap::add_thread(std::uint64_t fs_base, pid_t tid, pid_t pid)
{
    if (fs_base == 0 || (fs_base & 1) != 0 || n_threads_ > DT_RT_MAX_THREADS / 2)
        return;
    const dt_rt_thread* slot = find_slot(fs_base);
    if (slot == nullptr)
        return;
    n_threads_ += slot->fs_base == 0 ? 1 : 0;
    dt_rt_thread thread = *slot;
    thread.tid = static_cast<std::uint32_t>(tid);
    thread.pid = static_cast<std::uint32_t>(pid);
    thread.slot_key = dt_slot_key_of(static_cast<std::uint64_t>(pid) << 32 |
                                     static_cast<std::uint32_t>(tid));
    thread.slot_hash = dt_slot_hash_of(thread.slot_key);
    config_.set(*slot, thread);
    config_.publish(slot->fs_base, fs_base);
}

void RuntimeMap::retire_thread(std::uint64_t fs_base)
{
    const dt_rt_thread* slot = find_slot(fs_base);
    if (slot != nullptr && slot->fs_base == fs_base && fs_base != 0)
        config_.announce(slot->fs_base, retired(fs_base));
}

// Makes a sequence number odd while this object exists. A reader discards its data if
// the number is odd or has changed.
class Rewriting {
public:
    Rewriting(RuntimeConfig& config, const std::uint32_t& seq)
        : config_(config), seq_(seq)
    {
        step();
    }
    ~Rewriting() { step(); }
    Rewriting(const Rewriting&) = delete;
    Rewriting& operator=(const Rewriting&) = delete;

private:
    void step() { config_.announce(seq_, seq_ + 1); }
    RuntimeConfig& config_;
    const std::uint32_t& seq_; // in RuntimeConfig::own()
};

void RuntimeMap::set_ranges(const std::vector<Mapping>& mappings)
{
    std::vector<dt_rt_range> ranges;
    for (const Mapping& m : mappings) {
        if (!m.readable || m.path == "[vvar]" || m.path == "[vsyscall]")
            continue;
        if (!ranges.empty() && ranges.back().end == m.begin.value) {
            ranges.back().end = m.end.value;
            continue;
        }
        if (ranges.size() == DT_RT_MAX_RANGES)
            break;
        ranges.push_back({m.begin.value, m.end.value});
    }
    Rewriting rewriting(config_, config().ranges_seq);
    config_.set_all(config().ranges, std::span<const dt_rt_range>(ranges));
    config_.set(config().n_ranges, static_cast<std::uint32_t>(ranges.size()));
}

bool RuntimeMap::in_ranges(TargetAddr at) const
{
    std::span<const dt_rt_range> ranges(config().ranges, config().n_ranges);
    auto found = std::partition_point(
        ranges.begin(), ranges.end(),
        [at](const dt_rt_range& range) { return range.end <= at.value; });
    return found != ranges.end() && found->start <= at.value;
}

ShutGate::ShutGate(RuntimeMap& runtime) : runtime_(runtime)
{
    if (!runtime_.doorbells.are_armed())
        return;
    runtime_.doorbells.shut_gate();
    runtime_.set_gather(true);
}

ShutGate::~ShutGate()
{
    if (!runtime_.doorbells.are_armed())
        return;
    runtime_.set_gather(false);
    runtime_.doorbells.open_gate();
}

const dt_rt_rule* RuntimeMap::find_rule(std::uint64_t at) const
{
    std::uint32_t slot = dt_rt_rule_slot(at);
    for (std::uint32_t i = 0; i < DT_RT_RULE_REACH; ++i) {
        const dt_rt_rule& rule = config().rules[(slot + i) & (DT_RT_MAX_RULES - 1)];
        if (rule.at == at || rule.at == 0)
            return &rule;
    }
    return nullptr;
}

bool RuntimeMap::has_rule(TargetAddr at) const
{
    const dt_rt_rule* rule = find_rule(at.value);
    return rule != nullptr && rule->at == at.value;
}

void RuntimeMap::add_rule(const dt_rt_rule& rule)
{
    if (rules_.size() >= max_rules)
        forget_rules();
    const dt_rt_rule* entry = find_rule(rule.at);
    if (entry == nullptr || entry->at != 0)
        return;
    dt_rt_rule unnamed = rule;
    unnamed.at = 0;
    config_.set(*entry, unnamed);
    config_.publish(entry->at, rule.at);
    rules_.push_back(entry);
}

void RuntimeMap::forget_rules()
{
    if (rules_.empty())
        return;
    Rewriting rewriting(config_, config().rules_seq);
    for (const dt_rt_rule* rule : rules_)
        config_.publish(rule->at, 0);
    rules_.clear();
}

pid_t RuntimeMap::tid_of(std::uint64_t fs_base) const
{
    const dt_rt_thread* thread = find_slot(fs_base);
    return thread != nullptr && thread->fs_base == fs_base
               ? static_cast<pid_t>(thread->tid)
               : 0;
}

} // namespace dt::agent
