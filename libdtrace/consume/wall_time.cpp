// SPDX-License-Identifier: MIT
// Formats wall-clock times, always in English.
#include "libdtrace/consume/wall_time.hpp"

#include <cstdio>
#include <ctime>

namespace dt {

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char days[] = "SunMonTueWedThuFriSat";

static std::tm local(std::uint64_t ns)
{
    auto seconds = static_cast<std::time_t>(ns / 1000000000);
    std::tm tm{};
    tzset();
    localtime_r(&seconds, &tm);
    return tm;
}

std::string calendar_time(std::uint64_t ns)
{
    std::tm tm = local(ns);
    char text[64];
    std::snprintf(text, sizeof text, "%d %.3s %2d %02d:%02d:%02d", tm.tm_year + 1900,
                  months + 3 * tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return text;
}

std::string mail_time(std::uint64_t ns)
{
    std::tm tm = local(ns);
    char text[96];
    std::snprintf(text, sizeof text, "%.3s, %02d %.3s %d %02d:%02d:%02d %s",
                  days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
                  tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec, tm.tm_zone);
    return text;
}

} // namespace dt
