// SPDX-License-Identifier: MIT
// Compares text page by page. Skips pages that were never written to.
#include "libdtrace/providers/text_differences.hpp"

#include "base/page_bytes.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr std::size_t patch_bytes = 5;

class Differences {
public:
    explicit Differences(const ProcessMemory& memory) : memory_(memory) {}

    // Returns false if the file cannot be read.
    bool add(const Mapping& mapping, const Fd& file)
    {
        std::array<std::byte, page_bytes> now{}, then{};
        for (TargetAddr page : memory_.own_pages(mapping)) {
            auto offset = static_cast<off_t>(mapping.offset + (page - mapping.begin));
            ssize_t n = ::pread(file.get(), then.data(), then.size(), offset);
            if (n < 0)
                return false;
            std::fill(then.begin() + n, then.end(), std::byte{0});
            if (!memory_.read(page, now))
                continue; // the page was unmapped in the meantime
            for (std::size_t i = 0; i < page_bytes; i++)
                if (now[i] != then[i])
                    add_byte(page, i, now, then);
        }
        return true;
    }
    std::vector<Difference> take() { return std::move(all_); }

private:
    using Page = std::array<std::byte, page_bytes>;

    void add_byte(TargetAddr page, std::size_t i, const Page& now, const Page& then)
    {
        TargetAddr at = page + i;
        if (all_.empty() || at < all_.back().at ||
            at - all_.back().end() >= patch_bytes)
            all_.push_back({at, {}, {}});
        Difference& last = all_.back();
        // Extend `last` to this byte, including the equal bytes between them. If some
        // of these bytes are on the previous page, `now` does not contain them. A new
        // difference then begins here.
        std::size_t n_between = at - last.end();
        if (n_between > i) {
            all_.push_back({at, {now[i]}, {then[i]}});
            return;
        }
        last.now.insert(last.now.end(), now.data() + (i - n_between),
                        now.data() + i + 1);
        last.file.insert(last.file.end(), then.data() + (i - n_between),
                         then.data() + i + 1);
    }

    const ProcessMemory& memory_;
    std::vector<Difference> all_;
};

} // namespace

ProcessMemory::ProcessMemory(pid_t pid)
    : page_map_(pid), mem_(::open(proc_path(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC))
{
}

bool ProcessMemory::read(TargetAddr from, std::span<std::byte> into) const
{
    return ::pread(mem_.get(), into.data(), into.size(),
                   static_cast<off_t>(from.value)) == static_cast<ssize_t>(into.size());
}

std::vector<TargetAddr> ProcessMemory::own_pages(const Mapping& mapping) const
{
    const auto states = page_map_.pages(mapping.begin, mapping.end - mapping.begin);
    std::vector<TargetAddr> pages;
    const std::size_t n_pages = (mapping.end - mapping.begin) / page_bytes;
    for (std::size_t i = 0; i < n_pages; i++)
        if (states.empty() || states[i].is_own())
            pages.push_back(mapping.begin + i * page_bytes);
    return pages;
}

std::vector<Difference> text_differences(pid_t pid, const ProcessMemory& memory,
                                         const ProcessMaps& maps,
                                         std::vector<std::string>& notes)
{
    Differences differences(memory);
    for (const Mapping& mapping : maps.all()) {
        if (!mapping.executable || !mapping.is_file())
            continue;
        Fd file = open_mapped(mapped_name(pid, mapping));
        if (!file || !differences.add(mapping, file))
            notes.push_back("the memory mapped from " + mapping.path +
                            " cannot be compared with the file");
    }
    return differences.take();
}

} // namespace dt
