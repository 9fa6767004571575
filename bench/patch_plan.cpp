// SPDX-License-Identifier: MIT
// What does it cost to plan and build 50,000 jumps, and how many sites get a jump?
//
// For each program, the benchmark first finds the extents (fasttrap/extents.hpp) of all
// function entries and return sites. It does not measure this step. Then it plans
// windows, allocates their trampolines and builds the patches: for all entries, for all
// return sites, and for both together.
//
// The goals are 60 ms and 6 MB for 50,000 entries, and 10 ms for 50,000 calls to
// TrampolineSpace::take().
#include "fasttrap/extents.hpp"
#include "fasttrap/patch.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <sys/utsname.h>

using namespace dt;

namespace {

constexpr std::uint64_t load_at = 0x7f0000000000;
constexpr std::uint64_t area_bytes = 4 << 20;
constexpr std::uint64_t part_bytes = 16 << 20; // bytes of text that share one area
constexpr std::uint64_t bytes_a_site = 64;
constexpr int n_rounds = 5;

double seconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

struct Program {
    std::shared_ptr<ElfImage> image;
    std::vector<PatchSite> entries, returns;
    std::uint64_t begin = 0, end = 0; // addresses in memory

    std::span<const std::byte> text(TargetAddr at, std::size_t n) const
    {
        const ElfSegment* segment = image->text_segment(at.value - load_at);
        if (segment == nullptr)
            return {};
        std::uint64_t offset = at.value - load_at - segment->addr;
        n = std::min(n, static_cast<std::size_t>(segment->file_bytes - offset));
        Result<std::span<const std::byte>> bytes = image->bytes(at.value - load_at, n);
        return bytes ? *bytes : std::span<const std::byte>{};
    }
    bool read(TargetAddr from, std::span<std::byte> into) const
    {
        auto bytes = image->bytes(from.value - load_at, into.size());
        if (bytes)
            std::copy(bytes->begin(), bytes->end(), into.begin());
        return static_cast<bool>(bytes);
    }
};

void find_sites(Program& program)
{
    ReadModule read = [&](TargetAddr from, std::span<std::byte> into) {
        return program.read(from, into);
    };
    std::optional<AddressRange> section = program.image->section(".text");
    if (!section)
        return;
    TargetAddr begin{load_at + section->addr};
    KnownCode known;
    known.starts.push_back({begin});
    auto inside = [&](std::uint64_t at) { return section->contains(at); };
    for (const Function& f : program.image->functions().all()) {
        if (inside(f.addr))
            known.starts.push_back({TargetAddr{load_at + f.addr}, true});
    }
    for (const AddressRange& f : program.image->frame_functions()) {
        if (inside(f.addr))
            known.starts.push_back({TargetAddr{load_at + f.addr}, true});
    }
    std::sort(known.starts.begin(), known.starts.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    Sweep swept(begin, section->n_bytes);
    sweep(x86_64, program.text(begin, section->n_bytes), begin, known.starts, swept);
    ExtentMap extents(std::move(swept), known, read);

    std::uint64_t behind = 0;
    const FunctionTable& table = program.image->functions();
    auto is_part = [&](const Function* f) {
        return f != nullptr && table.names(*f).front().is_of_part();
    };
    for (const Function& f : table.all()) {
        if (!inside(f.addr) || f.n_bytes == 0 || f.addr < behind || is_part(&f))
            continue;
        behind = f.addr + f.n_bytes;
        TargetAddr at{load_at + f.addr};
        auto add = [&](std::vector<PatchSite>& to, TargetAddr site) {
            Extent e = extents.extent(site);
            to.push_back({site, e.first, e.end, static_cast<std::uint32_t>(to.size()),
                          extents.extent(e.end).end});
        };
        add(program.entries, at);
        auto sites = analyze_function(x86_64, program.text(at, f.n_bytes), at, read);
        if (!sites)
            continue;
        for (const ReturnSite& site : sites->returns) {
            if (!is_part(table.at(site.target.value - load_at)))
                add(program.returns, at + site.offset);
        }
    }
}

// Allocates areas in a simulated address space that contains only the program.
class Room {
public:
    explicit Room(const Program& program) { taken_[program.begin] = program.end; }

    // Maps an area that all windows between begin and end can reach. Returns nullopt if
    // no free place can be found.
    std::optional<TargetAddr> map_for(TargetAddr begin, TargetAddr end,
                                      std::uint64_t bytes)
    {
        for (const Reach& reach : common_reach(x86_64, begin, end)) {
            std::uint64_t low =
                (begin.value + static_cast<std::uint64_t>(reach.from) + 4095) &
                ~4095ULL;
            std::uint64_t high = begin.value + static_cast<std::uint64_t>(reach.to);
            if (low + bytes <= high && is_free(low, bytes)) {
                taken_[low] = low + bytes;
                return TargetAddr{low};
            }
        }
        return std::nullopt;
    }

    // Maps an area of area_bytes that this window can reach. Returns nullopt if no free
    // place can be found.
    std::optional<TargetAddr> map_for(const Window& window)
    {
        TargetAddr origin = window.origin();
        for (const Reach& reach : reach_of(window)) {
            auto low = (origin.value + static_cast<std::uint64_t>(reach.from) + 4095) &
                       ~4095ULL;
            std::uint64_t high = origin.value + static_cast<std::uint64_t>(reach.to);
            for (std::uint64_t at : nearest_first(origin.value, low, high)) {
                if (high > low && is_free(at, area_bytes)) {
                    taken_[at] = at + area_bytes;
                    return TargetAddr{at};
                }
            }
        }
        return std::nullopt;
    }

    // Maps the pages for the stub of a punned jump, and for the 16 bytes before the
    // stub. Returns the address and the size of the mapping, or nullopt if the jump
    // cannot reach free pages.
    std::optional<std::pair<TargetAddr, std::uint64_t>> map_exact(const Window& window)
    {
        for (const Reach& reach : reach_of(window)) {
            std::uint64_t place =
                window.origin().value + static_cast<std::uint64_t>(reach.from);
            std::uint64_t start = (place - 16) & ~4095ULL;
            std::uint64_t end = (place + stub_bytes + 4095) & ~4095ULL;
            if (place < load_at / 2 || !is_free(start, end - start))
                continue;
            taken_[start] = end;
            return std::pair(TargetAddr{start}, end - start);
        }
        return std::nullopt;
    }

private:
    static std::vector<std::uint64_t>
    nearest_first(std::uint64_t origin, std::uint64_t low, std::uint64_t high)
    {
        std::vector<std::uint64_t> out;
        std::uint64_t step = std::max<std::uint64_t>(area_bytes, (high - low) / 64);
        for (std::uint64_t at = low; at < high; at += step & ~4095ULL)
            out.push_back(at);
        auto away = [&](std::uint64_t at) {
            return at > origin ? at - origin : origin - at;
        };
        std::sort(out.begin(), out.end(),
                  [&](auto a, auto b) { return away(a) < away(b); });
        return out;
    }
    bool is_free(std::uint64_t at, std::uint64_t bytes) const
    {
        auto next = taken_.lower_bound(at + bytes);
        return next == taken_.begin() || std::prev(next)->second <= at;
    }
    std::map<std::uint64_t, std::uint64_t> taken_;
};

struct Costs {
    double plan = 0, take = 0, build = 0; // seconds
    std::size_t n_windows = 0, n_built = 0, n_areas = 0, n_bytes = 0, n_pages = 0;
    std::size_t n_small = 0; // areas of one or two pages, each for one stub
    std::map<PatchForm, std::size_t> n_forms, n_nowhere;
    WindowPlan plan_of;
};

Costs measure(const Program& program, std::span<const PatchSite> sites)
{
    Costs c;
    double t0 = seconds();
    c.plan_of = plan_windows(x86_64, sites, [&](TargetAddr at, std::size_t n) {
        return program.text(at, n);
    });
    double t1 = seconds();
    TrampolineSpace space;
    Room room(program);
    for (TargetAddr at = sites.front().at; at <= sites.back().at;
         at = at + part_bytes) {
        auto n_sites = static_cast<std::uint64_t>(
            std::count_if(sites.begin(), sites.end(), [&](const PatchSite& site) {
                return site.at - at < part_bytes;
            }));
        std::uint64_t bytes = std::max<std::uint64_t>(
            area_bytes, (n_sites * bytes_a_site + 4095) & ~4095ULL);
        if (auto area = room.map_for(at, at + part_bytes, bytes)) {
            space.add_area(*area, bytes);
            ++c.n_areas;
        }
    }
    std::vector<std::optional<Placement>> places;
    places.reserve(c.plan_of.windows.size());
    for (const Window& window : c.plan_of.windows) {
        std::size_t n = trampoline_bytes(window);
        c.n_bytes += n;
        std::optional<Placement> at = space.take(window, n);
        if (!at && window.form == PatchForm::punned) {
            if (auto start = room.map_exact(window)) {
                space.add_area(start->first, start->second);
                ++c.n_small;
                at = space.take(window, n);
            }
        } else if (!at) {
            if (std::optional<TargetAddr> area = room.map_for(window)) {
                space.add_area(*area, area_bytes);
                ++c.n_areas;
                at = space.take(window, n);
            }
        }
        ++(at ? c.n_forms : c.n_nowhere)[window.form];
        places.push_back(at);
    }
    double t2 = seconds();
    std::vector<Patch> patches;
    patches.reserve(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i])
            continue;
        Result<Patch> patch = build_patch(c.plan_of.windows[i], *places[i],
                                          *space.area_of(places[i]->trampoline));
        if (patch)
            patches.push_back(std::move(*patch));
    }
    double t3 = seconds();
    std::set<std::uint64_t> pages;
    for (const Patch& patch : patches) {
        for (std::uint64_t at = patch.trampoline.value / 4096;
             at <= (patch.trampoline.value + patch.code.size() - 1) / 4096; ++at)
            pages.insert(at);
    }
    c.n_pages = pages.size();
    c.plan = t1 - t0;
    c.take = t2 - t1;
    c.build = t3 - t2;
    c.n_windows = c.plan_of.windows.size();
    c.n_built = patches.size();
    return c;
}

void report(const char* what, const Program& program, std::vector<PatchSite> sites)
{
    std::sort(sites.begin(), sites.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    if (sites.empty())
        return;
    std::vector<Costs> rounds;
    for (int i = 0; i < n_rounds; ++i)
        rounds.push_back(measure(program, sites));
    std::sort(rounds.begin(), rounds.end(), [](const auto& a, const auto& b) {
        return a.plan + a.take + a.build < b.plan + b.take + b.build;
    });
    const Costs& c = rounds[n_rounds / 2];
    double scale = 50000.0 / static_cast<double>(sites.size()) * 1e3;
    auto total = [&](const Costs& r) { return (r.plan + r.take + r.build) * scale; };
    std::printf("  %-8s %6zu sites, %6.2f %% in a window; %6zu windows, %zu built; "
                "%zu areas, %.2f MB used in pages of %.2f MB\n",
                what, sites.size(),
                100.0 - 100.0 * static_cast<double>(c.plan_of.refused.size()) /
                            static_cast<double>(sites.size()),
                c.n_windows, c.n_built, c.n_areas, static_cast<double>(c.n_bytes) / 1e6,
                static_cast<double>(c.n_pages) * 4096 / 1e6);
    std::printf(
        "           per 50,000 sites: plan %.1f ms, take %.1f ms, build %.1f ms; "
        "%.1f ms (%.1f .. %.1f)\n",
        c.plan * scale, c.take * scale, c.build * scale, total(c),
        total(rounds.front()), total(rounds.back()));
    std::printf("           %zu small areas;", c.n_small);
    for (const auto& [form, n] : c.n_forms)
        std::printf(" %zu: %.*s;", n, static_cast<int>(text_of(form).size()),
                    text_of(form).data());
    for (const auto& [form, n] : c.n_nowhere)
        std::printf(" %zu without a place: %.*s;", n,
                    static_cast<int>(text_of(form).size()), text_of(form).data());
    std::printf("\n");
    std::map<std::string_view, std::size_t> reasons;
    for (const Refused& refused : c.plan_of.refused)
        ++reasons[refused.reason];
    for (const auto& [reason, n] : reasons)
        std::printf("           %6zu  %.*s\n", n, static_cast<int>(reason.size()),
                    reason.data());
}

void run(const char* path)
{
    Result<std::shared_ptr<ElfImage>> image = ElfImage::open(path);
    if (!image)
        return;
    Program program;
    program.image = *image;
    program.begin = load_at + program.image->segments().front().addr;
    program.end = load_at + program.image->segments().back().addr +
                  program.image->segments().back().mem_bytes;
    find_sites(program);
    std::printf("%s\n", path);
    report("entries", program, program.entries);
    report("returns", program, program.returns);
    std::vector<PatchSite> both = program.entries;
    both.insert(both.end(), program.returns.begin(), program.returns.end());
    for (std::size_t i = 0; i < both.size(); ++i)
        both[i].site = static_cast<std::uint32_t>(i);
    report("both", program, std::move(both));
}

} // namespace

int main(int argc, char** argv)
{
    utsname machine;
    uname(&machine);
    std::printf("machine: %s %s; median of %d\n", machine.machine, machine.release,
                n_rounds);
    if (argc > 1) {
        for (int i = 1; i < argc; ++i)
            run(argv[i]);
        return 0;
    }
    for (const char* path : {"/usr/lib/x86_64-linux-gnu/libc.so.6",
                             "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                             "/usr/bin/python3.11", "/usr/bin/node"})
        run(path);
    return 0;
}
