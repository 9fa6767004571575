// SPDX-License-Identifier: MIT
// The target wrote the data that this file reads, so every count and loop has a limit.
#include "ptrace-agent/plant/linker.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/unwind.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>

namespace dt::agent {

constexpr int max_headers = 128;
constexpr int max_dynamic = 512;
constexpr std::uint32_t max_symbols = 1 << 16;

// An object's load bias and the address of its dynamic section.
struct Dynamic {
    std::uint64_t bias = 0;
    std::uint64_t at = 0;
};

// Returns the dynamic section of the object whose ELF header is at `base`.
static std::optional<Dynamic> dynamic_at(AddressSpace& space, TargetAddr base)
{
    ElfW(Ehdr) head{};
    if (!space.read_value(base, head) ||
        std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phnum > max_headers)
        return std::nullopt;
    std::optional<std::uint64_t> bias;
    std::uint64_t dynamic = 0;
    for (int i = 0; i < head.e_phnum; ++i) {
        ElfW(Phdr) part{};
        if (!space.read_value(base + head.e_phoff + i * sizeof part, part))
            return std::nullopt;
        if (part.p_type == PT_LOAD && !bias)
            bias = base.value - (part.p_vaddr & ~4095ull);
        if (part.p_type == PT_DYNAMIC)
            dynamic = part.p_vaddr;
    }
    if (!bias || dynamic == 0)
        return std::nullopt;
    return Dynamic{*bias, *bias + dynamic};
}

static std::optional<std::uint64_t> dynamic_value(AddressSpace& space, Dynamic dynamic,
                                                  std::int64_t tag)
{
    for (int i = 0; i < max_dynamic; ++i) {
        ElfW(Dyn) entry{};
        if (!space.read_value(TargetAddr{dynamic.at + i * sizeof entry}, entry) ||
            entry.d_tag == DT_NULL)
            return std::nullopt;
        if (entry.d_tag == tag)
            return entry.d_un.d_val;
    }
    return std::nullopt;
}

// Returns an address from the dynamic section. Adds the load bias if the dynamic linker
// has not relocated the address.
static std::optional<std::uint64_t> dynamic_address(AddressSpace& space,
                                                    Dynamic dynamic, std::int64_t tag)
{
    auto value = dynamic_value(space, dynamic, tag);
    if (value && *value < dynamic.bias)
        *value += dynamic.bias;
    return value;
}

static std::uint32_t gnu_hash(std::string_view name)
{
    std::uint32_t hash = 5381;
    for (char c : name)
        hash = hash * 33 + static_cast<unsigned char>(c);
    return hash;
}

std::optional<TargetAddr> symbol_in(AddressSpace& space, TargetAddr base,
                                    std::string_view name)
{
    auto dynamic = dynamic_at(space, base);
    if (!dynamic)
        return std::nullopt;
    auto symbols = dynamic_address(space, *dynamic, DT_SYMTAB);
    auto strings = dynamic_address(space, *dynamic, DT_STRTAB);
    auto hashes = dynamic_address(space, *dynamic, DT_GNU_HASH);
    struct {
        std::uint32_t n_buckets, first, n_bloom, shift;
    } table{};
    if (!symbols || !strings || !hashes ||
        !space.read_value(TargetAddr{*hashes}, table) || table.n_buckets == 0)
        return std::nullopt;
    std::uint32_t hash = gnu_hash(name);
    std::uint64_t buckets = *hashes + sizeof table + 8ull * table.n_bloom;
    std::uint64_t chains = buckets + 4ull * table.n_buckets;
    std::uint32_t index = 0;
    if (!space.read_value(TargetAddr{buckets + 4ull * (hash % table.n_buckets)}, index))
        return std::nullopt;
    for (std::uint32_t i = 0; index >= table.first && i < max_symbols; ++i, ++index) {
        std::uint32_t chain = 0;
        if (!space.read_value(TargetAddr{chains + 4ull * (index - table.first)}, chain))
            break;
        ElfW(Sym) symbol{};
        std::array<char, 64> text{};
        if ((chain | 1) == (hash | 1) &&
            space.read_value(TargetAddr{*symbols + index * sizeof symbol}, symbol) &&
            space.read_value(TargetAddr{*strings + symbol.st_name}, text) &&
            name == std::string_view(text.data(), strnlen(text.data(), text.size())) &&
            symbol.st_shndx != SHN_UNDEF)
            return TargetAddr{dynamic->bias + symbol.st_value};
        if ((chain & 1) != 0)
            break;
    }
    return std::nullopt;
}

// Returns the address of struct r_debug, from the program's DT_DEBUG.
static std::optional<TargetAddr> debug_of_program(AddressSpace& space)
{
    auto headers = auxv_value(space.proc_tid(), AT_PHDR);
    auto n = auxv_value(space.proc_tid(), AT_PHNUM);
    if (!headers || !n || *n > max_headers)
        return std::nullopt;
    std::optional<std::uint64_t> bias;
    std::uint64_t dynamic = 0;
    for (std::uint64_t i = 0; i < *n; ++i) {
        ElfW(Phdr) part{};
        if (!space.read_value(TargetAddr{*headers + i * sizeof part}, part))
            return std::nullopt;
        if (part.p_type == PT_PHDR)
            bias = *headers - part.p_vaddr;
        if (part.p_type == PT_DYNAMIC)
            dynamic = part.p_vaddr;
    }
    if (dynamic == 0)
        return std::nullopt;
    Dynamic at{bias.value_or(0), bias.value_or(0) + dynamic};
    auto debug = dynamic_value(space, at, DT_DEBUG);
    if (!debug || *debug == 0)
        return std::nullopt;
    return TargetAddr{*debug};
}

bool LinkerWatch::watch(StoppedWorld& world, std::vector<Tracepoint*>* later)
{
    AddressSpace& space = world.space();
    if (space.watched.linker.known())
        return false;
    auto base = auxv_value(space.proc_tid(), AT_BASE);
    auto debug = debug_of_program(space);
    // While the program starts, DT_DEBUG is still 0.
    if (!debug && base && *base != 0)
        debug = symbol_in(space, {*base}, "_r_debug");
    std::optional<TargetAddr> stop;
    r_debug state{};
    if (debug && space.read_value(*debug, state) && state.r_brk != 0)
        stop = TargetAddr{state.r_brk};
    else if (base && *base != 0)
        stop = symbol_in(space, {*base}, "_dl_debug_state");
    if (!debug || !stop)
        return false; // a static program, or a linker without this protocol

    Tracepoint* tp = space.tracepoints.find(*stop);
    if (tp == nullptr) {
        std::array<std::byte, max_insn_bytes> text{};
        auto insn = space.read_original(*stop, text)
                        ? x86_64.decode(text, *stop)
                        : Result<Instruction>(Error{Code::gone, "unmapped"});
        if (!insn || x86_64.plan_displaced(*insn).how == Displaced::refused)
            return false;
        tp = &space.tracepoints.add(*insn);
        see_padding(space, *tp);
        if (later != nullptr)
            later->push_back(tp);
        else if (!space.tracepoints.write_breakpoints({tp}).empty()) {
            space.tracepoints.forget(*tp);
            return false;
        }
    }
    tp->purpose = Tracepoint::library_change;
    space.watched.linker = {*debug, *stop};
    jumps_.update(space, *tp);
    return true;
}

// Removes the breakpoint in the dynamic linker. The launcher set it to run the command
// to the point that evaltime selects. Later, only planted probes need it.
void LinkerWatch::forget(AddressSpace& space)
{
    for (Tracepoint* tp : space.tracepoints.all()) {
        if (tp->purpose != Tracepoint::library_change || tp->site)
            continue;
        space.tracepoints.restore_originals({tp});
        space.tracepoints.forget(*tp);
    }
    space.watched.linker = {};
}

bool LinkerWatch::handle_change(Thread& thread)
{
    Process& process = *thread.process;
    AddressSpace& space = *process.space;
    r_debug state{};
    if (!space.read_value(space.watched.linker.debug, state))
        return false;
    if (state.r_state != r_debug::RT_CONSISTENT)
        return false;
    forget_unwind(space);
    space.errno_place.libraries_changed();
    space.known_text.forget_unmapped(space);
    space.statics.write_list(space);
    if (process.to_preinit) {
        process.to_preinit = false;
        process.arrived = true;
        return true;
    }
    return handle_new_text(thread);
}

bool LinkerWatch::handle_new_text(Thread& thread)
{
    Process& process = *thread.process;
    if (!process.is_target() || !process.started)
        return false;
    client_wait_.report_libraries_changed(process.pid);
    return client_wait_.is_awaited(process);
}

bool is_libc(const std::string& path)
{
    std::size_t slash = path.rfind('/');
    std::string name = slash == std::string::npos ? "" : path.substr(slash + 1);
    return name.rfind("libc.so", 0) == 0 || name.rfind("libc-", 0) == 0 ||
           name.rfind("ld-musl", 0) == 0;
}

} // namespace dt::agent
