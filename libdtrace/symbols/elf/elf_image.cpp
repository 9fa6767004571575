// SPDX-License-Identifier: MIT
// Reads the bytes of an ELF file's segments.
//
// Text is read in windows of 1 MiB that overlap by 64 KiB, so that nearly every
// function is contained in one of them. A larger range gets a buffer of its own.
#include "libdtrace/symbols/elf/elf_image.hpp"

#include "libdtrace/symbols/elf/parsed_elf.hpp"
#include "process/regular_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr std::uint64_t window_bytes = 1 << 20;
constexpr std::uint64_t overlap_bytes = 64 << 10;
constexpr std::uint64_t largest_range_bytes = 64 << 20;

} // namespace

Result<std::shared_ptr<ElfImage>> ElfImage::open(const std::string& path)
{
    Fd fd = open_regular(path);
    if (fd)
        return open(ElfSource{std::move(fd), {}, path, ""});
    struct stat is {};
    if (::stat(path.c_str(), &is) != 0)
        return errno_error("open " + path);
    if (!S_ISREG(is.st_mode))
        return Error{Code::invalid, "open " + path + ": not a regular file"};
    if (::access(path.c_str(), R_OK) != 0)
        return errno_error("open " + path);
    return Error{Code::limit, "open " + path + ": the file is too large"};
}

Result<std::shared_ptr<ElfImage>> ElfImage::open(ElfSource source)
{
    auto copy = std::make_shared<ElfSource>();
    copy->path = source.path;
    if (source.fd)
        copy->fd = Fd(::fcntl(source.fd.get(), F_DUPFD_CLOEXEC, 0));
    else
        copy->bytes = source.bytes;
    auto parsed = ParsedElf::open(std::move(source));
    if (!parsed)
        return parsed.error();
    return std::make_shared<ElfImage>(std::move(copy), std::move(*parsed));
}

ElfImage::ElfImage(std::shared_ptr<const ElfSource> source,
                   std::unique_ptr<ElfTables> tables)
    : source_(std::move(source)), tables_(std::move(tables))
{
}

const ElfSegment* ElfImage::text_segment(std::uint64_t at) const
{
    for (const ElfSegment& segment : segments())
        if (segment.executable && segment.contains(at))
            return &segment;
    return nullptr;
}

std::optional<AddressRange> ElfImage::section(std::string_view name) const
{
    for (const auto& [known, range] : facts().sections)
        if (known == name)
            return range;
    return std::nullopt;
}

// Reads bytes of the file or of the copy of memory. Returns their number, which is
// smaller than requested if the source ends earlier or cannot be read.
std::size_t ElfImage::read_source(std::uint64_t offset, std::span<std::byte> into) const
{
    if (!source_->fd) {
        const std::size_t size = source_->bytes.size();
        if (offset >= size)
            return 0;
        const std::size_t n = std::min(into.size(), size - offset);
        std::memcpy(into.data(), source_->bytes.data() + offset, n);
        return n;
    }
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t n =
            ::pread(source_->fd.get(), into.data() + done, into.size() - done,
                    static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += static_cast<std::size_t>(n);
    }
    return done;
}

bool ElfImage::read(std::uint64_t at, std::span<std::byte> into) const
{
    for (const ElfSegment& s : segments()) {
        std::uint64_t offset = at - s.addr;
        if (offset >= s.file_bytes || into.size() > s.file_bytes - offset)
            continue;
        return read_source(s.offset + offset, into) == into.size();
    }
    return false;
}

Result<std::vector<std::byte>>
ElfImage::load(const ElfSegment& segment, std::uint64_t at, std::uint64_t n_bytes) const
{
    n_bytes = std::min(n_bytes, segment.addr + segment.mem_bytes - at);
    std::uint64_t in_segment = at - segment.addr;
    std::vector<std::byte> bytes;
    if (in_segment < segment.file_bytes) {
        std::uint64_t wanted = std::min(n_bytes, segment.file_bytes - in_segment);
        bytes.resize(wanted);
        if (read_source(segment.offset + in_segment, bytes) != wanted)
            return Error{Code::corrupt, path() + ": the file ends inside a segment"};
    }
    bytes.resize(n_bytes);
    return bytes;
}

Result<std::span<const std::byte>> ElfImage::bytes(std::uint64_t at,
                                                   std::uint64_t n_bytes)
{
    auto inside = [&](const ElfSegment& s) {
        return s.contains(at) && n_bytes <= s.addr + s.mem_bytes - at;
    };
    auto segment = std::find_if(segments().begin(), segments().end(), inside);
    if (segment == segments().end())
        return Error{Code::invalid, path() + ": the range is not inside one segment"};
    if (n_bytes > largest_range_bytes)
        return Error{Code::limit, path() + ": the range is too large"};

    std::lock_guard lock(reading_);
    std::uint64_t base =
        segment->addr + (at - segment->addr) / window_bytes * window_bytes;
    if (at - base + n_bytes <= window_bytes + overlap_bytes) {
        auto window = windows_.find(base);
        if (window == windows_.end()) {
            auto loaded = load(*segment, base, window_bytes + overlap_bytes);
            if (!loaded)
                return loaded.error();
            window = windows_.emplace(base, std::move(*loaded)).first;
        }
        // Only one window is stored for each address. If windows of overlapping
        // segments begin at the same address, the stored window may end before the
        // requested range does. The range is then read into a buffer of its own.
        if (window->second.size() >= at - base + n_bytes)
            return std::span<const std::byte>(window->second)
                .subspan(at - base, n_bytes);
    }
    auto range = large_.find({at, n_bytes});
    if (range == large_.end()) {
        auto loaded = load(*segment, at, n_bytes);
        if (!loaded)
            return loaded.error();
        range = large_.emplace(std::pair(at, n_bytes), std::move(*loaded)).first;
    }
    return std::span<const std::byte>(range->second);
}

} // namespace dt
