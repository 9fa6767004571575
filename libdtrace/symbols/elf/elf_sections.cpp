// SPDX-License-Identifier: MIT
// Opens an ELF file. Checks the counts in the header before libelf reads the headers.
#include "libdtrace/symbols/elf/elf_sections.hpp"

#include "base/printable.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace dt {

static_assert(
    std::endian::native == std::endian::little,
    "ELF tables are read without byte swapping, so the host must be little-endian");

namespace {

constexpr std::size_t max_section_name_bytes = 4096;

Error libelf_error(std::string_view doing)
{
    const char* text = elf_errmsg(-1);
    return Error{Code::corrupt, std::string(doing) + ": " + (text ? text : "refused")};
}

bool initialise_libelf()
{
    static const bool good = elf_version(EV_CURRENT) != EV_NONE;
    return good;
}

// Returns the build id in the notes. Empty if there is none.
std::vector<std::byte> build_id_of(Bytes notes, std::uint64_t align)
{
    std::uint64_t at = 0;
    auto padded = [align](std::uint64_t n) { return (n + align - 1) & ~(align - 1); };
    while (auto note = read_at<Elf64_Nhdr>(notes, at)) {
        std::uint64_t name = at + sizeof(*note);
        std::uint64_t desc = name + padded(note->n_namesz);
        at = desc + padded(note->n_descsz);
        if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4)
            continue;
        auto owner = read_at<std::array<char, 4>>(notes, name);
        constexpr std::size_t longest = 64;
        if (!owner || std::memcmp(owner->data(), "GNU", 4) != 0 ||
            note->n_descsz > longest || desc + note->n_descsz > notes.size())
            continue;
        Bytes id = notes.subspan(desc, note->n_descsz);
        return {id.begin(), id.end()};
    }
    return {};
}

} // namespace

std::optional<std::string_view> string_at(Bytes bytes, std::uint64_t offset,
                                          std::size_t max_bytes)
{
    if (offset >= bytes.size())
        return std::nullopt;
    const char* start = reinterpret_cast<const char*>(bytes.data()) + offset;
    const void* end = std::memchr(
        start, 0, std::min<std::uint64_t>(bytes.size() - offset, max_bytes + 1));
    if (!end)
        return std::nullopt;
    return std::string_view(
        start, static_cast<std::size_t>(static_cast<const char*>(end) - start));
}

Result<std::unique_ptr<ElfSections>> ElfSections::open(Fd fd)
{
    struct stat st;
    if (::fstat(fd.get(), &st) != 0)
        return errno_error("stat");
    if (!S_ISREG(st.st_mode))
        return Error{Code::invalid, "not a regular file"};
    std::unique_ptr<ElfSections> file(new ElfSections);
    file->fd_ = std::move(fd);
    if (auto read = file->read_headers(); !read)
        return read.error();
    return file;
}

Result<std::unique_ptr<ElfSections>> ElfSections::open(std::vector<std::byte> bytes)
{
    std::unique_ptr<ElfSections> file(new ElfSections);
    file->bytes_ = std::move(bytes);
    if (auto read = file->read_headers(); !read)
        return read.error();
    return file;
}

Result<std::vector<std::byte>> ElfSections::read(std::uint64_t offset,
                                                 std::uint64_t n_bytes) const
{
    std::vector<std::byte> out;
    if (n_bytes > elf_limits::section_bytes)
        return Error{Code::limit, "too many bytes to read at once"};
    if (!fd_) {
        if (offset < bytes_.size()) {
            Bytes part = Bytes(bytes_).subspan(offset);
            part = part.first(std::min<std::uint64_t>(part.size(), n_bytes));
            out.assign(part.begin(), part.end());
        }
        return out;
    }
    // Limits the size to the file's size before memory is allocated.
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0)
        return errno_error("stat");
    auto size = static_cast<std::uint64_t>(st.st_size);
    if (offset >= size)
        return out;
    out.resize(std::min(n_bytes, size - offset));
    auto n = read(offset, out);
    if (!n)
        return n.error();
    out.resize(*n);
    return out;
}

Result<std::size_t> ElfSections::read(std::uint64_t offset,
                                      std::span<std::byte> into) const
{
    if (!fd_) {
        Bytes part =
            Bytes(bytes_).subspan(std::min<std::uint64_t>(offset, bytes_.size()));
        std::size_t n = std::min(part.size(), into.size());
        std::copy_n(part.begin(), n, into.begin());
        return n;
    }
    std::size_t done = 0;
    while (done < into.size()) {
        ssize_t n = ::pread(fd_.get(), into.data() + done, into.size() - done,
                            static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno_error("read");
        if (n == 0)
            break;
        done += static_cast<std::size_t>(n);
    }
    return done;
}

// Checks that this is an ELF file. Checks the counts in its header, because libelf
// allocates memory for that many entries.
Result<Ok> ElfSections::check_counts()
{
    auto head = read(0, sizeof(Elf64_Ehdr));
    if (!head)
        return head.error();
    auto ident = read_at<std::array<unsigned char, EI_NIDENT>>(*head, 0);
    if (!ident || std::memcmp(ident->data(), ELFMAG, SELFMAG) != 0)
        return Error{Code::corrupt, "not an ELF file"};
    if ((*ident)[EI_CLASS] == ELFCLASS32)
        return Error{Code::unsupported, "32-bit"};
    if ((*ident)[EI_DATA] == ELFDATA2MSB)
        return Error{Code::unsupported, "big-endian"};
    auto header = read_at<Elf64_Ehdr>(*head, 0);
    if (!header || (*ident)[EI_CLASS] != ELFCLASS64 || (*ident)[EI_DATA] != ELFDATA2LSB)
        return Error{Code::corrupt, "the ELF header is incomplete"};
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return Error{Code::unsupported, "neither a program nor a shared object"};
    if (header->e_shoff == 0)
        return Ok{};
    auto first = read(header->e_shoff, sizeof(Elf64_Shdr));
    if (!first)
        return first.error();
    auto extended = read_at<Elf64_Shdr>(*first, 0);
    if (extended && header->e_shnum == 0 && extended->sh_size > elf_limits::sections)
        return Error{Code::limit, "too many sections"};
    if (extended && header->e_phnum == PN_XNUM &&
        extended->sh_info > elf_limits::segments)
        return Error{Code::limit, "too many segments"};
    return Ok{};
}

Result<Ok> ElfSections::read_headers()
{
    if (!initialise_libelf())
        return libelf_error("libelf");
    if (auto good = check_counts(); !good)
        return good;
    if (fd_)
        elf_.reset(elf_begin(fd_.get(), ELF_C_READ, nullptr));
    else
        elf_.reset(elf_memory(reinterpret_cast<char*>(bytes_.data()), bytes_.size()));
    if (!elf_)
        return libelf_error("open");
    if (elf_kind(elf_.get()) != ELF_K_ELF || !gelf_getehdr(elf_.get(), &header_))
        return Error{Code::corrupt, "the ELF header is incomplete"};
    // The file may have changed since check_counts().
    if (gelf_getclass(elf_.get()) != ELFCLASS64 ||
        (header_.e_type != ET_EXEC && header_.e_type != ET_DYN))
        return Error{Code::corrupt, "the ELF header changed while it was being read"};
    if (auto good = read_program_headers(); !good)
        return good;
    read_section_headers();
    return Ok{};
}

Result<Ok> ElfSections::read_program_headers()
{
    std::size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0)
        return libelf_error("program headers");
    if (count > elf_limits::segments)
        return Error{Code::limit, "too many segments"};
    for (std::size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf_.get(), static_cast<int>(i), &p))
            return libelf_error("program headers");
        program_headers_.push_back(p);
        if (p.p_type != PT_LOAD || p.p_memsz == 0)
            continue;
        if (p.p_vaddr + p.p_memsz < p.p_vaddr || p.p_offset + p.p_filesz < p.p_offset)
            return Error{Code::corrupt,
                         "a segment extends past the end of the address space"};
        segments_.push_back({p.p_vaddr, p.p_memsz, p.p_offset,
                             std::min(p.p_filesz, p.p_memsz), (p.p_flags & PF_R) != 0,
                             (p.p_flags & PF_W) != 0, (p.p_flags & PF_X) != 0});
    }
    std::stable_sort(
        segments_.begin(), segments_.end(),
        [](const ElfSegment& a, const ElfSegment& b) { return a.addr < b.addr; });
    return Ok{};
}

// Reads the section headers. Invalid headers cause no error, because symbols can also
// be found through PT_DYNAMIC.
void ElfSections::read_section_headers()
{
    std::size_t count = 0, names_index = 0;
    if (elf_getshdrnum(elf_.get(), &count) != 0 || count > elf_limits::sections)
        return;
    for (std::size_t i = 0; i < count; i++) {
        ElfSection section{i, {}, {}};
        Elf_Scn* scn = elf_getscn(elf_.get(), i);
        if (!scn || !gelf_getshdr(scn, &section.header))
            break;
        sections_.push_back(section);
    }
    if (elf_getshdrstrndx(elf_.get(), &names_index) != 0)
        return;
    auto names = data(names_index);
    if (!names)
        return;
    for (ElfSection& section : sections_)
        section.name = string_at(*names, section.header.sh_name, max_section_name_bytes)
                           .value_or("");
}

const ElfSection* ElfSections::find(std::string_view name) const
{
    for (const ElfSection& section : sections_)
        if (section.name == name)
            return &section;
    return nullptr;
}

const ElfSection* ElfSections::find(std::uint32_t type) const
{
    for (const ElfSection& section : sections_)
        if (section.header.sh_type == type)
            return &section;
    return nullptr;
}

Result<Bytes> ElfSections::data(std::size_t index) const
{
    if (index >= sections_.size())
        return Error{Code::corrupt, "no section " + std::to_string(index)};
    return data(sections_[index]);
}

Result<Bytes> ElfSections::data(const ElfSection& section) const
{
    if (section.header.sh_size > elf_limits::section_bytes) {
        const std::string name = printable(section.name, Escaping::Names);
        add_cut("section " + name + " is " +
                std::to_string(section.header.sh_size >> 20) +
                " MiB and is omitted: the maximum is " +
                std::to_string(elf_limits::section_bytes >> 20) + " MiB");
        return Error{Code::limit, "section " + name + " is too large"};
    }
    if (section.header.sh_type == SHT_NOBITS ||
        (section.header.sh_flags & SHF_COMPRESSED))
        return Error{Code::corrupt,
                     "section " + std::string(section.name) + " has no bytes"};
    std::lock_guard lock(reading_);
    Elf_Scn* scn = elf_getscn(elf_.get(), section.index);
    Elf_Data* data = scn ? elf_rawdata(scn, nullptr) : nullptr;
    if (!data || (!data->d_buf && data->d_size != 0))
        return libelf_error("section " + std::string(section.name));
    return Bytes(static_cast<const std::byte*>(data->d_buf), data->d_size);
}

void ElfSections::add_cut(std::string cut) const
{
    constexpr std::size_t most = 16;
    std::lock_guard lock(cutting_);
    if (cuts_.size() < most &&
        std::find(cuts_.begin(), cuts_.end(), cut) == cuts_.end())
        cuts_.push_back(std::move(cut));
}

std::vector<std::string> ElfSections::take_cuts() const
{
    std::lock_guard lock(cutting_);
    const auto first = cuts_.begin() + static_cast<std::ptrdiff_t>(
                                           std::exchange(n_cuts_taken_, cuts_.size()));
    return {first, cuts_.end()};
}

Result<std::vector<std::byte>> ElfSections::loaded(std::uint64_t addr,
                                                   std::uint64_t max_bytes) const
{
    for (const ElfSegment& segment : segments_)
        if (addr - segment.addr < segment.file_bytes)
            return read(segment.offset + (addr - segment.addr),
                        std::min(max_bytes, segment.addr + segment.file_bytes - addr));
    return Error{Code::corrupt, "the address is not in a loaded part of the file"};
}

std::vector<std::byte> ElfSections::build_id() const
{
    constexpr std::uint64_t largest = 1 << 20;
    if (const ElfSection* section = find(".note.gnu.build-id"))
        if (section->header.sh_size <= largest)
            if (auto notes = data(*section))
                if (auto id = build_id_of(*notes, 4); !id.empty())
                    return id;
    for (const GElf_Phdr& p : program_headers_) {
        if (p.p_type != PT_NOTE)
            continue;
        auto notes = read(p.p_offset, std::min(p.p_filesz, largest));
        if (!notes)
            continue;
        if (auto id = build_id_of(*notes, p.p_align == 8 ? 8 : 4); !id.empty())
            return id;
    }
    return {};
}

} // namespace dt
