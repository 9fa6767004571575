// SPDX-License-Identifier: MIT
// Finds candidates for a debug file by name and verifies their content.
//
// .gnu_debuglink is "name NUL padding crc32". A name with a slash, such as
// ../../etc/shadow, is refused. The CRC covers the entire debug file.
#include "libdtrace/symbols/debug/debug_file.hpp"

#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "process/regular_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

namespace {

// Larger files are not used, because computing their CRC would take seconds.
constexpr off_t largest_checked = off_t{4} << 30;

struct Link {
    std::string name;
    std::uint32_t crc = 0;
};

std::optional<Link> link_of(const ElfSections& image)
{
    const ElfSection* section = image.find(".gnu_debuglink");
    if (!section || section->header.sh_size > 4096)
        return std::nullopt;
    auto bytes = image.data(*section);
    if (!bytes)
        return std::nullopt;
    auto name = string_at(*bytes, 0);
    if (!name || name->empty() || *name == "." || *name == ".." ||
        name->find('/') != std::string_view::npos)
        return std::nullopt;
    auto crc = read_at<std::uint32_t>(*bytes, (name->size() + 1 + 3) & ~std::size_t{3});
    if (!crc)
        return std::nullopt;
    return Link{std::string(*name), *crc};
}

bool same_file(int a, int b)
{
    struct stat sa, sb;
    return a >= 0 && b >= 0 && ::fstat(a, &sa) == 0 && ::fstat(b, &sb) == 0 &&
           sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

bool has_crc(int fd, std::uint32_t wanted)
{
    struct stat st;
    if (::fstat(fd, &st) != 0 || st.st_size > largest_checked)
        return false;
    std::vector<std::uint8_t> buffer(1 << 18);
    std::uint32_t crc = 0;
    off_t at = 0;
    for (;;) {
        ssize_t n = ::pread(fd, buffer.data(), buffer.size(), at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || at > largest_checked)
            return false;
        if (n == 0)
            return crc == wanted;
        crc = lzma_crc32(buffer.data(), static_cast<std::size_t>(n), crc);
        at += n;
    }
}

std::unique_ptr<ElfSections> open_elf(Fd fd)
{
    auto elf = ElfSections::open(std::move(fd));
    return elf ? std::move(*elf) : nullptr;
}

DebugFile by_build_id(const ElfSections& image, const std::string& folder)
{
    std::vector<std::byte> id = image.build_id();
    if (id.size() < 2)
        return {};
    std::string path = build_id_path(folder, id);
    Fd fd = open_regular(path);
    if (!fd || same_file(fd.get(), image.fd()))
        return {};
    auto elf = open_elf(std::move(fd));
    if (!elf || elf->build_id() != id)
        return {};
    return {std::move(elf), path};
}

DebugFile by_link(const ElfSections& image, const Link& link, const std::string& path)
{
    Fd fd = open_regular(path);
    if (!fd || same_file(fd.get(), image.fd()) || !has_crc(fd.get(), link.crc))
        return {};
    return {open_elf(std::move(fd)), path};
}

} // namespace

std::string build_id_path(const std::string& folder, Bytes id)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string name;
    for (std::byte b : id) {
        name += digits[std::to_integer<unsigned>(b) >> 4];
        name += digits[std::to_integer<unsigned>(b) & 15];
    }
    return folder + "/.build-id/" + name.substr(0, 2) + "/" + name.substr(2) + ".debug";
}

DebugFile find_debug_file(const ElfSections& image, const std::string& image_path,
                          const std::string& root)
{
    DebugFile found;
    for (const std::string& under : {std::string(), root})
        for (const std::string& folder : debug_folders())
            if (!found.elf && (under.empty() || !root.empty()))
                found = by_build_id(image, under + folder);
    std::size_t slash = image_path.rfind('/');
    if (found.elf || slash == std::string::npos)
        return found;
    auto link = link_of(image);
    if (!link)
        return {};
    std::string folder = image_path.substr(0, slash);
    std::vector<std::string> places{folder, folder + "/.debug"};
    for (const std::string& global : debug_folders())
        places.push_back(global + (folder[0] == '/' ? "" : "/") + folder);
    for (const std::string& place : places) {
        found = by_link(image, *link, root + place + "/" + link->name);
        if (found.elf)
            return found;
    }
    return {};
}

} // namespace dt
