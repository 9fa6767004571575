// SPDX-License-Identifier: MIT
#include "ptrace-agent/runtime_map.hpp"

#include "dif/slots.h"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <optional>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// More make long searches.
constexpr std::size_t max_rules = DT_RT_MAX_RULES / 4 * 3;
// Beyond, sites are for probes alone, whose other clauses are then the engine's.
constexpr std::uint32_t max_sites_with_code = DT_RT_MAX_SITES / 2;

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
    free_sites_.clear();
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

std::optional<std::uint32_t> RuntimeMap::add_site(TargetAddr at)
{
    std::uint32_t site = n_sites_;
    if (!free_sites_.empty()) {
        site = free_sites_.back();
        free_sites_.pop_back();
    } else if (n_sites_ == DT_RT_MAX_SITES) {
        return std::nullopt;
    } else {
        ++n_sites_;
    }
    config_->sites[site] = dt_rt_site{};
    config_->sites[site].at = at.value;
    set_code(config_->sites[site], image.value + runtime_header().skip);
    return site;
}

void RuntimeMap::set_back(std::uint32_t site, TargetAddr tail)
{
    config_->sites[site].back = tail.value;
    auto all = behind_.find(site);
    if (all == behind_.end())
        return;
    for (std::uint32_t behind : all->second)
        config_->sites[behind].back = tail.value;
}

void RuntimeMap::set_condition(std::uint32_t site, std::uint32_t condition)
{
    config_->sites[site].taken = static_cast<std::uint16_t>(condition);
}

// Threads read it at any time.
void RuntimeMap::set_code(dt_rt_site& site, std::uint64_t code)
{
    __atomic_store_n(&site.code, code, __ATOMIC_RELEASE);
}

// The way through the engine, for any list of firings.
std::uint64_t RuntimeMap::plain_code(const dt_rt_site& site) const
{
    const dt_rt_header& header = runtime_header();
    if (site.n_firings == 0)
        return image.value + header.skip;
    if (site.condition == 0)
        return image.value + header.generic;
    return image.value + header.conditions +
           std::uint64_t{DT_RT_CONDITION_BYTES} * (site.condition & 0xf);
}

// False: a thread may be between code and what it reads here, which is another's.
bool RuntimeMap::tell(dt_rt_site& site, const Compiled& compiled)
{
    if (site.probe != 0 && (site.probe != compiled.probe.value ||
                            site.arg0 != compiled.arg0 || site.epid != compiled.epid))
        return false;
    site.probe = compiled.probe.value;
    site.arg0 = compiled.arg0;
    site.epid = compiled.epid;
    return true;
}

// For a clause and those after it; one that is there already, or a new one.
std::optional<std::uint32_t> RuntimeMap::site_behind(std::uint32_t site,
                                                     const Compiled& compiled,
                                                     std::uint32_t next)
{
    const std::uint64_t code = compiled.code.value != 0
                                   ? compiled.code.value
                                   : image.value + runtime_header().generic;
    const dt_rt_firing& firing = config_->firings[config_->sites[site].first_firing];
    for (std::uint32_t other : behind_[site]) {
        const dt_rt_site& known = config_->sites[other];
        const dt_rt_firing& its = config_->firings[known.first_firing];
        if (known.from == compiled.epid && known.next == next && known.code == code &&
            its.probe == firing.probe && its.kind == firing.kind &&
            its.arg0 == firing.arg0)
            return other;
    }
    if (free_sites_.empty() && n_sites_ >= max_sites_with_code)
        return std::nullopt;
    auto made = add_site({config_->sites[site].at});
    if (!made)
        return std::nullopt;
    behind_[site].push_back(*made);
    dt_rt_site& behind = config_->sites[*made];
    behind.back = config_->sites[site].back;
    behind.first_firing = config_->sites[site].first_firing;
    behind.n_firings = 1;
    behind.from = compiled.epid;
    behind.next = next;
    tell(behind, compiled);
    set_code(behind, code);
    return made;
}

void RuntimeMap::set_compiled(std::uint32_t number, std::span<const Compiled> clauses)
{
    dt_rt_site& site = config_->sites[number];
    if (clauses.empty() || clauses[0].code.value == 0 || site.condition != 0 ||
        site.n_firings != 1 || !tell(site, clauses[0]))
        return;
    std::uint32_t next = 0;
    for (std::size_t i = clauses.size(); i-- > 1;) {
        auto behind = site_behind(number, clauses[i], next);
        if (!behind)
            return;
        next = *behind;
    }
    __atomic_store_n(&site.next, next, __ATOMIC_RELEASE);
    set_code(site, clauses[0].code.value);
}

bool RuntimeMap::set_firings(std::uint32_t site, std::span<const dt_rt_firing> firings)
{
    dt_rt_site& entry = config_->sites[site];
    // A thread that is on its way sees an end of the list that it had, not of another's.
    std::uint32_t first = firings.empty() ? entry.first_firing : n_firings_;
    if (firings.size() > DT_RT_MAX_FIRINGS - n_firings_)
        return false;
    std::copy(firings.begin(), firings.end(), config_->firings + first);
    n_firings_ += static_cast<std::uint32_t>(firings.size());
    bool returns = std::all_of(firings.begin(), firings.end(),
                               [](const auto& f) { return f.kind == DT_RT_RETURN; });
    if (!returns)
        entry.condition = 0;
    // Both numbers at once: somebody may be reading them.
    std::uint32_t pair[2] = {first, static_cast<std::uint32_t>(firings.size())};
    std::uint64_t word = 0;
    std::memcpy(&word, pair, sizeof word);
    static_assert(offsetof(dt_rt_site, n_firings) ==
                  offsetof(dt_rt_site, first_firing) + 4);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(&entry.first_firing), word,
                     __ATOMIC_RELEASE);
    if (returns)
        __atomic_store_n(&entry.condition, entry.taken, __ATOMIC_RELEASE);
    set_code(entry, plain_code(entry));
    return true;
}

void RuntimeMap::free_site(std::uint32_t site)
{
    set_firings(site, {});
    free_sites_.push_back(site);
    auto behind = behind_.find(site);
    if (behind == behind_.end())
        return;
    for (std::uint32_t each : behind->second) {
        set_firings(each, {});
        free_sites_.push_back(each);
    }
    behind_.erase(behind);
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
