// SPDX-License-Identifier: MIT
// Translates the names of perf's events to counters.
#include "libdtrace/providers/cpc_provider.hpp"

#include "abi/cpc.h"
#include "abi/ioctl.h"
#include "libdtrace/symbols/glob.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <linux/perf_event.h>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

namespace {

struct Event {
    std::string_view name;
    std::uint32_t type;
    std::uint64_t config, default_count;
};

constexpr Event events[] = {
#define X(name, type, config, count) {name, type, config, count},
    DT_CPC_EVENTS(X)
#undef X
};

struct Mode {
    std::string_view name;
    std::uint32_t mode;
};

constexpr std::array modes{Mode{"user", DT_CPC_USER}, Mode{"kernel", DT_CPC_KERNEL},
                           Mode{"all", DT_CPC_USER | DT_CPC_KERNEL}};

bool same_name(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return x == y || (x == '_' && y == '-') || (x == '-' && y == '_');
    });
}

std::optional<std::uint64_t> number(std::string_view text, int base)
{
    std::uint64_t n = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return n;
}

// Removes the last dash and the part after it from a name. Returns that part. If there
// is no dash, returns the entire name and leaves the name empty.
std::string_view take_last(std::string_view& name)
{
    const auto dash = name.rfind('-');
    std::string_view last = dash == name.npos ? name : name.substr(dash + 1);
    name = dash == name.npos ? std::string_view() : name.substr(0, dash);
    return last;
}

Error refusal(std::string text)
{
    return Error{Code::invalid, std::move(text)};
}

Result<Ok> set_event(CpcCounter& counter, std::string_view name,
                     std::optional<std::uint64_t> mask)
{
    for (const Event& event : events) {
        if (!same_name(event.name, name))
            continue;
        if (mask)
            return refusal(
                "only raw events (r followed by hexadecimal digits) take a mask");
        counter.type = event.type;
        counter.config = event.config;
        return Ok{};
    }
    auto raw = name.starts_with('r') ? number(name.substr(1), 16) : std::nullopt;
    if (!raw)
        return refusal("there is no event " + std::string(name) +
                       "; dtrace -l -P cpc lists the events of this machine");
    if (mask && (*raw > 0xff || *mask > UINT64_MAX >> 8))
        return refusal(
            "a raw event with a mask may have at most two hexadecimal digits, and "
            "the mask at most 56 bits");
    counter.type = DT_CPC_RAW;
    counter.config = *raw | mask.value_or(0) << 8;
    return Ok{};
}

std::string probe_name(const Event& event)
{
    return std::string(event.name) + "-all-" + std::to_string(event.default_count);
}

} // namespace

Result<CpcCounter> parse_cpc(std::string_view name)
{
    CpcCounter counter;
    auto count = number(take_last(name), 10);
    if (!count || *count == 0 || *count > DT_CPC_MAX_COUNT)
        return refusal(
            "the probe name must be EVENT-MODE[-0xMASK]-COUNT, where COUNT is a "
            "decimal number from 1 to 2^48 - 1");
    counter.count = *count;
    std::string_view mode = take_last(name);
    std::optional<std::uint64_t> mask;
    if (mode.starts_with("0x")) {
        mask = number(mode.substr(2), 16);
        if (!mask)
            return refusal("the mask " + std::string(mode) +
                           " is not a hexadecimal number of at most 64 bits");
        mode = take_last(name);
    }
    auto known = std::find_if(modes.begin(), modes.end(),
                              [mode](const Mode& each) { return each.name == mode; });
    if (known == modes.end())
        return refusal("the mode " + std::string(mode) + " is not user, kernel or all");
    counter.mode = known->mode;
    if (auto set = set_event(counter, name, mask); !set)
        return set.error();
    const std::uint64_t least = dt_cpc_least(counter.type, counter.config);
    if (counter.count < least)
        return refusal("the minimum count for " + std::string(name) + " is " +
                       std::to_string(least));
    return counter;
}

bool has_cpc_event(const CpcCounter& counter)
{
    perf_event_attr attr{};
    attr.type = counter.type;
    attr.size = sizeof attr;
    attr.config = counter.config;
    attr.sample_period = counter.count;
    attr.disabled = 1;
    const long fd =
        ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        ::close(static_cast<int>(fd));
    // Other errors, such as EPERM in a container, say nothing about the machine.
    return fd >= 0 || (errno != ENOENT && errno != EOPNOTSUPP && errno != ENODEV &&
                       errno != EINVAL);
}

ProviderAttributes CpcProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Common};
    constexpr Attributes of_cpu{Stability::Evolving, Stability::Evolving,
                                DependencyClass::Cpu};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, of_cpu, evolving};
}

// Creates the probes that a pattern matches. The pattern must name the provider,
// because a counter has a cost on every CPU.
void CpcProvider::list(const ProbeSpec& spec)
{
    if (spec.provider != "cpc")
        return;
    for (const Event& event : events) {
        const std::string name = probe_name(event);
        if (!part_means(spec.name, name))
            continue;
        auto counter = parse_cpc(name);
        if (counter && has_event_(*counter))
            registry_.add(this, "cpc", "", "", name);
    }
}

Provider::Outcome CpcProvider::provide(const ProbeSpec& spec)
{
    Outcome outcome;
    if (!part_means(spec.provider, "cpc") || !spec.module.empty() ||
        !spec.function.empty())
        return outcome;
    if (spec.name.empty() || is_glob(spec.name)) {
        list(spec);
        return outcome;
    }
    auto counter = parse_cpc(spec.name);
    std::string why = counter ? "" : counter.error().text;
    if (counter && !has_event_(*counter))
        why = "this machine cannot count the event: the processor has no counter for "
              "it, or a hypervisor hides the processor's counters";
    if (why.empty())
        registry_.add(this, "cpc", "", "", spec.name);
    else if (spec.provider == "cpc")
        outcome.refused = Diagnostic{Tag::PDESC_ZERO, spec.at,
                                     "probe description cpc:::" + spec.name +
                                         " does not match any probes: " + why,
                                     ""};
    return outcome;
}

std::vector<KernelSite> CpcProvider::sites(const ProbeInfo& probe)
{
    auto counter = parse_cpc(probe.name);
    if (!counter)
        return {};
    return {{DTK_CPC, counter->config, "",
             DT_CPC_MORE(counter->count, counter->mode, counter->type)}};
}

} // namespace dt
