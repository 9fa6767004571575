// SPDX-License-Identifier: MIT
// Finds the file that a line of /proc/PID/maps names. Tries these methods in this
// order:
//
//   open_mapped()   the file itself (process/regular_file.hpp)
//   exe, root/PATH, PATH
//                   a file found by its name, accepted if its first page is the same in the
//                   file and in the target's memory
//   fd/N            a deleted file that the target has open
//   memory          the segments themselves, in the layout of a file. .symtab is usually
//                   missing, because section headers are rarely loaded
#include "libdtrace/symbols/mapped_file.hpp"

#include "base/page_bytes.hpp"
#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <unistd.h>

namespace dt {

namespace {

constexpr std::uint64_t largest_memory_image = 64 << 20;
// The maximum number of descriptors that are searched for a mapped file.
constexpr std::size_t max_descriptors = 4096;

std::string proc(pid_t pid, std::string_view entry)
{
    return "/proc/" + std::to_string(pid) + "/" + std::string(entry);
}

class TargetMemory {
public:
    explicit TargetMemory(pid_t pid)
        : fd_(::open(proc(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC))
    {
    }
    // Reads the target's memory. Returns fewer bytes if the rest cannot be read.
    std::vector<std::byte> read(TargetAddr at, std::uint64_t n_bytes) const
    {
        std::vector<std::byte> out(fd_ ? n_bytes : 0);
        std::size_t done = 0;
        while (done < out.size()) {
            ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(at.value + done));
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                break;
            done += static_cast<std::size_t>(n);
        }
        out.resize(done);
        return out;
    }

private:
    Fd fd_;
};

// Finds where the start of a file is mapped. `mapping` is any mapping of this file. If
// there are several results, returns the last one at or below `mapping`.
const Mapping* first_mapping(const ProcessMaps& maps, const Mapping& mapping)
{
    const Mapping* first = nullptr;
    for (const Mapping& m : maps.all()) {
        if (m.begin > mapping.begin)
            break;
        if (m.file == mapping.file && m.path == mapping.path && m.offset == 0)
            first = &m;
    }
    return first;
}

bool same_first_page(const Fd& fd, const TargetMemory& memory, const Mapping* first)
{
    if (!first)
        return false;
    std::vector<std::byte> mapped = memory.read(first->begin, page_bytes);
    std::vector<std::byte> stored(page_bytes);
    ssize_t n = ::pread(fd.get(), stored.data(), stored.size(), 0);
    stored.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    // If the file is shorter than a page, only the file's bytes are compared.
    if (stored.size() < sizeof(Elf64_Ehdr) || mapped.size() < stored.size())
        return false;
    return std::equal(stored.begin(), stored.end(), mapped.begin());
}

// Opens a mapped file that has been deleted, through one of the target's descriptors.
Fd open_by_descriptor(pid_t pid, const Mapping& mapping)
{
    const std::string folder = proc(pid, "fd");
    const std::string link = mapping.path + " (deleted)";
    std::error_code failed;
    std::size_t n_seen = 0;
    for (std::filesystem::directory_iterator at(folder, failed), last;
         !failed && at != last && n_seen < max_descriptors; at.increment(failed)) {
        n_seen++;
        std::error_code unreadable;
        if (std::filesystem::read_symlink(at->path(), unreadable).native() != link)
            continue;
        Fd fd = open_regular(at->path());
        if (fd && is_mapped_as(fd, mapped_name(pid, mapping)))
            return fd;
    }
    return {};
}

bool has_section_headers(const Elf64_Ehdr& header, std::span<const Elf64_Phdr> programs)
{
    std::uint64_t n_bytes = std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    return std::any_of(programs.begin(), programs.end(), [&](const Elf64_Phdr& p) {
        return p.p_type == PT_LOAD && header.e_shoff >= p.p_offset &&
               n_bytes <= p.p_filesz &&
               header.e_shoff - p.p_offset <= p.p_filesz - n_bytes;
    });
}

// Restores the link-time addresses in the dynamic section. glibc's dynamic linker has
// replaced some of them.
void unrelocate(std::vector<std::byte>& file, const Elf64_Phdr& dynamic,
                std::uint64_t bias)
{
    for (std::uint64_t at = dynamic.p_offset; at - dynamic.p_offset < dynamic.p_filesz;
         at += sizeof(Elf64_Dyn)) {
        auto entry = read_at<Elf64_Dyn>(file, at);
        if (!entry || entry->d_tag == DT_NULL)
            return;
        bool pointer = entry->d_tag == DT_SYMTAB || entry->d_tag == DT_STRTAB ||
                       entry->d_tag == DT_HASH || entry->d_tag == DT_GNU_HASH ||
                       entry->d_tag == DT_VERSYM;
        if (!pointer || entry->d_un.d_ptr < bias)
            continue;
        entry->d_un.d_ptr -= bias;
        std::memcpy(file.data() + at, &*entry, sizeof(*entry));
    }
}

} // namespace

Result<ElfSource> source_from_memory(pid_t pid, const ProcessMaps& maps,
                                     const Mapping& mapping)
{
    TargetMemory memory(pid);
    const Mapping* first = first_mapping(maps, mapping);
    const std::string& path = mapping.path;
    Error none{Code::not_found,
               path + ": neither the file nor the memory mapped from it can be read"};
    if (!first)
        return none;
    std::vector<std::byte> head = memory.read(first->begin, page_bytes);
    auto header = read_at<Elf64_Ehdr>(head, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64)
        return none;

    std::vector<Elf64_Phdr> programs;
    std::optional<std::uint64_t> bias;
    std::uint64_t file_bytes = head.size();
    for (std::size_t i = 0; i < header->e_phnum; i++) {
        auto p = read_at<Elf64_Phdr>(head, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!p || p->p_offset > largest_memory_image ||
            p->p_filesz > largest_memory_image)
            return none;
        programs.push_back(*p);
        if (p->p_type != PT_LOAD)
            continue;
        if (!bias)
            bias = first->begin.value - (p->p_vaddr - p->p_offset);
        file_bytes = std::max(file_bytes, p->p_offset + p->p_filesz);
    }
    if (!bias || file_bytes > largest_memory_image)
        return none;

    std::vector<std::byte> file(file_bytes);
    std::copy(head.begin(), head.end(), file.begin());
    for (const Elf64_Phdr& p : programs) {
        if (p.p_type != PT_LOAD)
            continue;
        auto bytes = memory.read({p.p_vaddr + *bias}, p.p_filesz);
        std::copy(bytes.begin(), bytes.end(),
                  file.begin() + static_cast<std::ptrdiff_t>(p.p_offset));
    }
    for (const Elf64_Phdr& p : programs)
        if (p.p_type == PT_DYNAMIC && *bias != 0)
            unrelocate(file, p, *bias);
    if (!has_section_headers(*header, programs)) {
        header->e_shoff = 0;
        header->e_shnum = 0;
        header->e_shstrndx = 0;
    }
    std::memcpy(file.data(), &*header, sizeof(*header));
    return ElfSource{{}, std::move(file), path, ""};
}

static Result<ElfSource> source_of_mapping(pid_t pid, const ProcessMaps& maps,
                                           const Mapping& mapping, ImageCache& cache)
{
    TargetMemory memory(pid);
    if (mapping.path == vdso_path) {
        std::uint64_t n_bytes = mapping.end - mapping.begin;
        return ElfSource{
            {},
            memory.read(mapping.begin, std::min(n_bytes, largest_memory_image)),
            mapping.path,
            ""};
    }
    std::string root = proc(pid, "root");
    bool no_reply = false;
    if (Fd fd = open_mapped(mapped_name(pid, mapping), max_regular_file_bytes,
                            FileSystems::with_server, &no_reply))
        return ElfSource{std::move(fd), {}, mapping.path, root};
    if (no_reply) {
        const std::string why = "the server of its file system does not reply";
        cache.report("no symbols for " + mapping.path + ": " + why);
        return Error{Code::io, mapping.path + ": " + why};
    }
    const Mapping* first = first_mapping(maps, mapping);
    for (const std::string& path :
         {proc(pid, "exe"), root + mapping.path, mapping.path}) {
        Fd fd = open_regular(path);
        if (fd && same_first_page(fd, memory, first))
            return ElfSource{std::move(fd), {}, mapping.path, root};
    }
    if (mapping.deleted)
        if (Fd fd = open_by_descriptor(pid, mapping))
            return ElfSource{std::move(fd), {}, mapping.path, root};
    return source_from_memory(pid, maps, mapping);
}

std::vector<Result<std::shared_ptr<ElfImage>>>
images_of_mappings(pid_t pid, const ProcessMaps& maps,
                   std::span<const Mapping* const> mappings, ImageCache& cache)
{
    std::vector<Result<ElfSource>> sources;
    std::vector<std::size_t> indices;     // in `sources`, for each mapping
    std::map<FileId, std::size_t> shared; // each file is opened only once
    for (const Mapping* mapping : mappings) {
        auto [known, is_new] = shared.try_emplace(mapping->file, sources.size());
        if (is_new) {
            auto source = source_of_mapping(pid, maps, *mapping, cache);
            // A file is the same for all of its mappings, and so is a file system that
            // does not reply (Code::io). A copy of memory belongs to this mapping only.
            const bool is_file =
                source ? bool(source->fd) : source.error().code == Code::io;
            indices.push_back(sources.size());
            sources.push_back(std::move(source));
            if (!is_file)
                shared.erase(known);
        } else {
            indices.push_back(known->second);
        }
    }
    const auto opened = cache.open_all(std::move(sources));
    std::vector<Result<std::shared_ptr<ElfImage>>> images;
    for (std::size_t index : indices)
        images.push_back(opened[index]);
    return images;
}

std::optional<std::uint64_t> bias_of_mapping(const ElfImage& image,
                                             const Mapping& mapping)
{
    for (const ElfSegment& segment : image.segments()) {
        std::uint64_t first = segment.offset / page_bytes * page_bytes;
        std::uint64_t n_bytes = segment.offset - first + segment.file_bytes;
        if (segment.executable && mapping.offset - first < n_bytes)
            return mapping.begin.value - mapping.offset -
                   (segment.addr - segment.offset);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> bias_of_beginning(const ElfImage& image,
                                               const Mapping& mapping)
{
    if (image.segments().empty() || mapping.offset != 0)
        return std::nullopt;
    const ElfSegment& first = image.segments().front();
    return mapping.begin.value - (first.addr - first.offset);
}

bool has_anonymous_text(const ProcessMaps& maps, const Mapping& mapping)
{
    if (!mapping.is_file() || mapping.offset != 0 || mapping.executable)
        return false;
    TargetAddr end = mapping.begin;
    for (auto m = &mapping; m != maps.all().data() + maps.all().size(); m++) {
        bool same = m->file == mapping.file && m->path == mapping.path;
        if (m->begin != end || (!same && !m->path.empty()) || (same && m->executable))
            return false;
        if (m->executable)
            return true;
        end = m->end;
    }
    return false;
}

MainProgram main_program(pid_t pid)
{
    constexpr std::uint64_t at_null = 0, at_phdr = 3, at_execfn = 31;
    MainProgram main;
    Fd fd(::open(proc(pid, "auxv").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<std::array<std::uint64_t, 2>, 64> pairs{};
    ssize_t n = fd ? ::read(fd.get(), pairs.data(), sizeof(pairs)) : 0;
    std::size_t count = n > 0 ? static_cast<std::size_t>(n) / sizeof(pairs[0]) : 0;
    for (std::size_t i = 0; i < count && pairs[i][0] != at_null; i++) {
        auto [type, value] = pairs[i];
        if (type == at_phdr)
            main.program_headers = TargetAddr{value};
        if (type == at_execfn) {
            auto text = TargetMemory(pid).read({value}, page_bytes);
            main.executed_path = string_at(text, 0).value_or("");
        }
    }
    return main;
}

} // namespace dt
