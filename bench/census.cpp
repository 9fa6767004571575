// SPDX-License-Identifier: MIT
// How many functions of real programs can be probed with jumps, and how long does it
// take to find out?
//
// For each file, the program counts the functions, the entries with a window
// (fasttrap/patch.hpp), the returns, and the functions whose returns all have windows.
// It also counts the refused sites for each reason. With -v, it lists these sites.
// Times are in milliseconds.
//
// The goals are:
// - windows for at least 99.9 % of the entries
// - windows for all returns of at least 99 % of the functions
// - at most 300 ms to compute the extents of all entries in /usr/bin/node (Node.js)
#include "fasttrap/patch.hpp"
#include "libdtrace/providers/module_extents.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Reasons = std::map<std::string_view, std::size_t>;

double ms_since(Clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Sites {
    // PatchSite::site is the index of the first site with the same address.
    std::vector<dt::PatchSite> sites;
    std::vector<std::size_t> functions; // the index of each site's function
    void add(const dt::ExtentMap& extents, dt::TargetAddr at, std::size_t function)
    {
        dt::Extent extent = extents.extent(at);
        bool repeated = !sites.empty() && sites.back().at == at;
        auto number =
            repeated ? sites.back().site : static_cast<std::uint32_t>(sites.size());
        sites.push_back(
            {at, extent.first, extent.end, number, extents.extent(extent.end).end});
        sites.back().further = extents.blocks_from(sites.back().beyond);
        functions.push_back(function);
    }
};

class Census {
public:
    explicit Census(std::shared_ptr<dt::ElfImage> image) : image_(std::move(image))
    {
        for (const dt::Function& f : image_->functions().all()) {
            const dt::FunctionName& name = image_->functions().names(f).front();
            if (!name.is_of_part() && name.text != "_init" && name.text != "_fini")
                functions_.push_back(&f);
        }
    }

    void list(bool all) { list_ = all; }

    void run(const std::string& path, int n_runs)
    {
        std::vector<double> entry_ms;
        for (int i = 0; i < n_runs; i++) {
            auto start = Clock::now();
            extents_ = dt::map_extents(*image_);
            entries_ = {};
            if (extents_ == nullptr) {
                std::printf("%s: no text that can be mapped\n", path.c_str());
                return;
            }
            for (std::size_t k = 0; k < functions_.size(); k++)
                entries_.add(*extents_, {functions_[k]->addr}, k);
            entry_ms.push_back(ms_since(start));
        }
        std::sort(entry_ms.begin(), entry_ms.end());

        auto start = Clock::now();
        find_returns();
        double find_ms = ms_since(start);
        start = Clock::now();
        for (const auto& [at, k] : return_places_)
            returns_.add(*extents_, at, k);
        double return_ms = ms_since(start);
        start = Clock::now();
        dt::WindowPlan entries = plan(entries_.sites);
        double plan_ms = ms_since(start);
        dt::WindowPlan returns = plan(returns_.sites);
        for (std::size_t k = 0; k < functions_.size(); k++)
            return_places_.push_back({dt::TargetAddr{functions_[k]->addr}, k});
        std::sort(return_places_.begin(), return_places_.end());
        Sites all;
        for (const auto& [at, k] : return_places_)
            all.add(*extents_, at, k);
        dt::WindowPlan together = plan(all.sites);

        print(path, entries, returns);
        std::printf("  entries and returns together: %zu of %zu not\n",
                    together.refused.size(), all.sites.size());
        if (list_) {
            list_refused("entry", entries_, entries);
            list_refused("return", returns_, returns);
            list_refused("both", all, together);
        }
        std::printf(
            "  extents of entries %.1f ms (%.1f to %.1f), of returns %.1f ms more "
            "(finding them %.0f ms), plan of entries %.1f ms\n",
            entry_ms[entry_ms.size() / 2], entry_ms.front(), entry_ms.back(), return_ms,
            find_ms, plan_ms);
    }

private:
    // Finds the returns of all functions. A jump to a part that the compiler split off
    // from a function does not count as a return.
    void find_returns()
    {
        auto read = [&](dt::TargetAddr from, std::span<std::byte> into) {
            return image_->read(from.value, into);
        };
        const dt::FunctionTable& table = image_->functions();
        for (std::size_t k = 0; k < functions_.size(); k++) {
            const dt::Function& f = *functions_[k];
            auto text = image_->bytes(f.addr, f.n_bytes);
            auto sites = text ? dt::analyze_function(dt::x86_64, *text, {f.addr}, read)
                              : dt::Result<dt::FunctionSites>(text.error());
            if (!sites)
                continue;
            for (const dt::ReturnSite& site : sites->returns) {
                const dt::Function* to = table.at(site.target.value);
                if (to != nullptr && table.names(*to).front().is_of_part())
                    continue;
                return_places_.push_back({dt::TargetAddr{f.addr} + site.offset, k});
            }
        }
        std::sort(return_places_.begin(), return_places_.end());
        return_places_.erase(std::unique(return_places_.begin(), return_places_.end()),
                             return_places_.end());
    }

    // Plans windows. If the file has no fixed address, assumes a typical load address.
    dt::WindowPlan plan(std::vector<dt::PatchSite> sites)
    {
        constexpr std::uint64_t usual_place = 0x5555'5555'4000;
        std::uint64_t bias =
            image_->kind() == dt::ElfKind::executable ? 0 : usual_place;
        for (dt::PatchSite& site : sites)
            for (dt::TargetAddr* at : {&site.at, &site.first, &site.end, &site.beyond})
                *at = *at + bias;
        auto read = [&](dt::TargetAddr at,
                        std::size_t n) -> std::span<const std::byte> {
            for (; n != 0; n--)
                if (auto bytes = image_->bytes(at.value - bias, n))
                    return *bytes;
            return {};
        };
        return dt::plan_windows(dt::x86_64, sites, read);
    }

    static void print_reasons(const Reasons& reasons)
    {
        std::vector<std::pair<std::size_t, std::string_view>> sorted;
        for (const auto& [reason, n] : reasons)
            sorted.push_back({n, reason});
        std::sort(sorted.rbegin(), sorted.rend());
        for (const auto& [n, reason] : sorted)
            std::printf("    %zu: %.*s\n", n, static_cast<int>(reason.size()),
                        reason.data());
    }

    void print(const std::string& path, const dt::WindowPlan& entries,
               const dt::WindowPlan& returns)
    {
        auto percent = [](std::size_t part, std::size_t whole) {
            return whole == 0
                       ? 100.0
                       : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
        };
        Reasons entry_reasons, return_reasons;
        for (const dt::Refused& refused : entries.refused)
            entry_reasons[refused.reason]++;
        std::vector<bool> returning(functions_.size()), missing(functions_.size());
        for (const dt::PatchSite& site : returns_.sites)
            returning[returns_.functions[site.site]] = true;
        for (const dt::Refused& refused : returns.refused) {
            return_reasons[refused.reason]++;
            missing[returns_.functions[refused.site]] = true;
        }
        auto n_returning = static_cast<std::size_t>(
            std::count(returning.begin(), returning.end(), true));
        auto n_missing =
            static_cast<std::size_t>(std::count(missing.begin(), missing.end(), true));
        std::size_t n = entries_.sites.size();
        std::printf(
            "%s: %zu functions, %zu doubtful\n  entries by a jump %.3f %%, %zu not\n",
            path.c_str(), n, extents_->doubtful().size(),
            percent(n - entries.refused.size(), n), entries.refused.size());
        print_reasons(entry_reasons);
        std::printf(
            "  returns by a jump %.3f %% of %zu; functions with all their returns "
            "%.3f %% of %zu\n",
            percent(returns_.sites.size() - returns.refused.size(),
                    returns_.sites.size()),
            returns_.sites.size(), percent(n_returning - n_missing, n_returning),
            n_returning);
        print_reasons(return_reasons);
    }

    // Prints each refused site with the start of its extent, the end of its extent and
    // the end of the next extent. "alone" means that a plan with only this site also
    // refuses it.
    void list_refused(const char* kind, const Sites& sites,
                      const dt::WindowPlan& refused)
    {
        for (const dt::Refused& one : refused.refused) {
            const dt::PatchSite& site = sites.sites[one.site];
            bool alone = !plan({site}).refused.empty();
            const dt::Function& f = *functions_[sites.functions[one.site]];
            std::string_view name = image_->functions().names(f).front().text;
            std::printf("    %s %.*s+%llx at %llx, %llx to %llx to %llx%s: %.*s\n",
                        kind, static_cast<int>(name.size()), name.data(),
                        static_cast<unsigned long long>(site.at.value - f.addr),
                        static_cast<unsigned long long>(site.at.value),
                        static_cast<unsigned long long>(site.first.value),
                        static_cast<unsigned long long>(site.end.value),
                        static_cast<unsigned long long>(site.beyond.value),
                        alone ? ", alone" : "", static_cast<int>(one.reason.size()),
                        one.reason.data());
        }
    }

    bool list_ = false;
    std::shared_ptr<dt::ElfImage> image_;
    std::vector<const dt::Function*> functions_; // in ascending order of addresses
    std::unique_ptr<dt::ExtentMap> extents_;
    Sites entries_, returns_;
    std::vector<std::pair<dt::TargetAddr, std::size_t>> return_places_;
};

} // namespace

int main(int argc, char** argv)
{
    bool list = argc > 1 && std::strcmp(argv[1], "-v") == 0;
    std::vector<std::string> paths(argv + (list ? 2 : 1), argv + argc);
    if (paths.empty())
        paths = {"/usr/lib/x86_64-linux-gnu/libc.so.6",
                 "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                 "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                 "/usr/bin/python3.11",
                 "/usr/bin/node",
                 "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
                 "/usr/bin/perl",
                 "/usr/bin/git",
                 "/usr/bin/redis-server",
                 "/usr/bin/bash"};
    utsname machine = {};
    uname(&machine);
    std::printf("%s %s, %u CPUs\n", machine.sysname, machine.machine,
                std::thread::hardware_concurrency());
    for (const std::string& path : paths) {
        auto image = dt::ElfImage::open(path);
        if (!image) {
            std::printf("%s: %s\n", path.c_str(), image.error().text.c_str());
            continue;
        }
        Census census(*image);
        census.list(list);
        census.run(path, 5);
    }
}
