// SPDX-License-Identifier: MIT
#include "ptrace-agent/runtime_map.hpp"

#include "dif/slots.h"

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <linux/futex.h>
#include <optional>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// More make long searches.
constexpr std::size_t max_rules = DT_RT_MAX_RULES / 4 * 3;

// The kernel's list of the futexes that a dying thread holds (set_robust_list(2)). Its
// nodes lie in the configs, at one distance from their futex words.
struct RobustNode {
    RobustNode* next;
};
struct RobustHead {
    RobustNode list;
    long futex_offset;
    RobustNode* pending;
};
static_assert(sizeof(RobustHead) == 24);

static RobustHead robust{{&robust.list},
                         static_cast<long>(offsetof(dt_rt_config, alive)) -
                             static_cast<long>(offsetof(dt_rt_config, robust_next)),
                         nullptr};

static RobustNode* node_of(dt_rt_config* config)
{
    return reinterpret_cast<RobustNode*>(&config->robust_next);
}

static void hold(dt_rt_config* config)
{
    config->alive = static_cast<std::uint32_t>(gettid());
    node_of(config)->next = robust.list.next;
    robust.list.next = node_of(config);
    syscall(SYS_set_robust_list, &robust, sizeof robust);
}

static void let_go(dt_rt_config* config)
{
    for (RobustNode* at = &robust.list; at->next != &robust.list; at = at->next) {
        if (at->next == node_of(config)) {
            at->next = at->next->next;
            return;
        }
    }
}

RuntimeMap::~RuntimeMap()
{
    forget();
}

void RuntimeMap::forget()
{
    if (config_ != nullptr) {
        let_go(config_);
        munmap(config_, sizeof *config_);
    }
    fd_.reset();
    bells.take_down();
    config_ = nullptr;
    image = arena = {};
    image_bytes = region_bytes = arena_bytes = 0;
    n_sites_ = n_firings_ = n_threads_ = 0;
    n_operands_ = 0;
    free_sites_.clear();
    n_listed_.clear();
    free_lists_.clear();
    behind_.clear();
    rules_.clear();
}

Result<Ok> RuntimeMap::make(pid_t pid)
{
    forget();
    fd_ = Fd(memfd_create("dtrace-config", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd_ || ftruncate(fd_.get(), sizeof(dt_rt_config)) != 0 ||
        fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return errno_error("make the runtime's config");
    void* at = mmap(nullptr, sizeof(dt_rt_config), PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd_.get(), 0);
    if (at == MAP_FAILED)
        return errno_error("map the runtime's config");
    config_ = static_cast<dt_rt_config*>(at);
    config_->magic = DT_RT_MAGIC;
    config_->pid = static_cast<std::uint32_t>(pid);
    hold(config_);
    return Ok{};
}

Result<Fd> RuntimeMap::read_only_fd() const
{
    std::string path = "/proc/self/fd/" + std::to_string(fd_.get());
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return errno_error("reopen the runtime's config");
    return fd;
}

dt_rt_thread* RuntimeMap::find_slot(std::uint64_t fs_base)
{
    std::uint32_t at = dt_rt_thread_slot(fs_base);
    for (std::uint32_t i = 0; i < DT_RT_MAX_THREADS; ++i) {
        dt_rt_thread& thread = config_->threads[at];
        if (thread.fs_base == fs_base || thread.fs_base == 0)
            return &thread;
        at = (at + 1) & (DT_RT_MAX_THREADS - 1);
    }
    return nullptr;
}

void RuntimeMap::add_thread(std::uint64_t fs_base, pid_t tid, pid_t pid)
{
    if (fs_base == 0 || n_threads_ > DT_RT_MAX_THREADS / 2)
        return;
    dt_rt_thread* thread = find_slot(fs_base);
    if (thread == nullptr)
        return;
    n_threads_ += thread->fs_base == 0 ? 1 : 0;
    thread->tid = static_cast<std::uint32_t>(tid);
    thread->pid = static_cast<std::uint32_t>(pid);
    thread->slot_key = dt_slot_key_of(static_cast<std::uint64_t>(pid) << 32 |
                                      static_cast<std::uint32_t>(tid));
    thread->slot_hash = dt_slot_hash_of(thread->slot_key);
    __atomic_store_n(&thread->fs_base, fs_base, __ATOMIC_RELEASE);
}

// Odd while this exists: who reads meanwhile sees that what was read may be torn.
class Rewriting {
public:
    explicit Rewriting(std::uint32_t& seq) : seq_(seq) { step(); }
    ~Rewriting() { step(); }
    Rewriting(const Rewriting&) = delete;
    Rewriting& operator=(const Rewriting&) = delete;

private:
    void step() { __atomic_store_n(&seq_, seq_ + 1, __ATOMIC_SEQ_CST); }
    std::uint32_t& seq_;
};

void RuntimeMap::set_ranges(const std::vector<Mapping>& mappings)
{
    Rewriting rewriting(config_->ranges_seq);
    std::uint32_t n = 0;
    for (const Mapping& m : mappings) {
        if (!m.read || m.path == "[vvar]" || m.path == "[vsyscall]")
            continue;
        if (n != 0 && config_->ranges[n - 1].end == m.start.value) {
            config_->ranges[n - 1].end = m.end.value;
            continue;
        }
        if (n == DT_RT_MAX_RANGES)
            break;
        config_->ranges[n++] = {m.start.value, m.end.value};
    }
    config_->n_ranges = n;
}

bool RuntimeMap::in_ranges(TargetAddr at) const
{
    std::span<const dt_rt_range> ranges(config_->ranges, config_->n_ranges);
    auto found = std::partition_point(
        ranges.begin(), ranges.end(),
        [at](const dt_rt_range& range) { return range.end <= at.value; });
    return found != ranges.end() && found->start <= at.value;
}

static void gather(RuntimeMap& runtime, std::uint32_t on)
{
    __atomic_store_n(&runtime.config().gather, on, __ATOMIC_SEQ_CST);
}

ShutGate::ShutGate(RuntimeMap& runtime) : runtime_(runtime)
{
    if (!runtime_.bells.are_hung())
        return;
    runtime_.bells.shut_gate();
    gather(runtime_, 1);
}

ShutGate::~ShutGate()
{
    if (!runtime_.bells.are_hung())
        return;
    gather(runtime_, 0);
    runtime_.bells.open_gate();
}

dt_rt_rule* RuntimeMap::find_rule(std::uint64_t at) const
{
    std::uint32_t slot = dt_rt_rule_slot(at);
    for (std::uint32_t i = 0; i < DT_RT_RULE_REACH; ++i) {
        dt_rt_rule& rule = config_->rules[(slot + i) & (DT_RT_MAX_RULES - 1)];
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
    dt_rt_rule* entry = find_rule(rule.at);
    if (entry == nullptr || entry->at != 0)
        return;
    dt_rt_rule unnamed = rule;
    unnamed.at = 0;
    *entry = unnamed;
    __atomic_store_n(&entry->at, rule.at, __ATOMIC_RELEASE);
    rules_.push_back(entry);
}

void RuntimeMap::forget_rules()
{
    if (rules_.empty())
        return;
    Rewriting rewriting(config_->rules_seq);
    for (dt_rt_rule* rule : rules_)
        __atomic_store_n(&rule->at, 0, __ATOMIC_RELAXED);
    rules_.clear();
}

pid_t RuntimeMap::tid_of(std::uint64_t fs_base)
{
    const dt_rt_thread* thread = find_slot(fs_base);
    return thread != nullptr && thread->fs_base == fs_base
               ? static_cast<pid_t>(thread->tid)
               : 0;
}

} // namespace dt::agent
