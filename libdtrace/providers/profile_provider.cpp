// SPDX-License-Identifier: MIT
// Translates the names of timed probes to intervals.
#include "libdtrace/providers/profile_provider.hpp"

#include "libdtrace/symbols/glob.hpp"

#include <array>
#include <charconv>

namespace dt {

namespace {

struct TimeUnit {
    std::string_view name;
    std::uint64_t ns; // 0: the number is a frequency in hz
};

constexpr std::array units{
    TimeUnit{"", 0},
    TimeUnit{"hz", 0},
    TimeUnit{"ns", 1},
    TimeUnit{"nsec", 1},
    TimeUnit{"us", 1'000},
    TimeUnit{"usec", 1'000},
    TimeUnit{"ms", 1'000'000},
    TimeUnit{"msec", 1'000'000},
    TimeUnit{"s", 1'000'000'000},
    TimeUnit{"sec", 1'000'000'000},
    TimeUnit{"m", 60'000'000'000},
    TimeUnit{"min", 60'000'000'000},
    TimeUnit{"h", 3'600'000'000'000},
    TimeUnit{"hour", 3'600'000'000'000},
    TimeUnit{"d", 86'400'000'000'000},
    TimeUnit{"day", 86'400'000'000'000},
};

constexpr std::array preset_rates{97, 199, 499, 997, 1999, 4001, 4999};

} // namespace

std::optional<std::uint64_t> parse_interval(std::string_view text)
{
    std::uint64_t n = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n == 0)
        return std::nullopt;
    std::string_view suffix(end,
                            static_cast<std::size_t>(text.data() + text.size() - end));
    for (const TimeUnit& unit : units) {
        if (unit.name != suffix)
            continue;
        if (unit.ns == 0)
            return n > 1'000'000'000 ? 1 : 1'000'000'000 / n;
        std::uint64_t ns = 0;
        if (__builtin_mul_overflow(n, unit.ns, &ns) || ns > INT64_MAX)
            return std::nullopt;
        return ns;
    }
    return std::nullopt;
}

ProfileProvider::ProfileProvider(Registry& registry) : registry_(registry)
{
    for (int rate : preset_rates)
        make("profile-" + std::to_string(rate));
    for (int rate : {1, 10, 100, 500, 1000, 5000})
        make("tick-" + std::to_string(rate));
}

ProviderAttributes ProfileProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Common};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

const char* ProfileProvider::make(const std::string& name)
{
    bool per_cpu = name.rfind("profile-", 0) == 0;
    if (!per_cpu && name.rfind("tick-", 0) != 0)
        return nullptr;
    auto interval = parse_interval(std::string_view(name).substr(per_cpu ? 8 : 5));
    if (!interval)
        return "the interval must be a positive number, optionally followed by one of "
               "ns us ms s m h d hz";
    if (*interval < shortest_interval_ns)
        return "the interval must be at least 200 us (at most 5000 Hz)";
    std::uint32_t probe = registry_.add(this, "profile", "", "", name);
    timers_[probe] = Timer{probe, *interval, per_cpu};
    return nullptr;
}

Provider::Outcome ProfileProvider::provide(const ProbeSpec& spec)
{
    Outcome outcome;
    bool names_us = spec.provider.empty() || glob_match(spec.provider, "profile");
    if (!names_us || !spec.module.empty() || !spec.function.empty() ||
        is_glob(spec.name))
        return outcome;
    if (const char* why = make(spec.name))
        outcome.refused =
            Diagnostic{Tag::PDESC_ZERO, spec.at,
                       "probe description " + spec.provider + ":::" + spec.name +
                           " does not match any probes: " + why,
                       ""};
    return outcome; // `mine` is false, so the caller searches the registry
}

} // namespace dt
