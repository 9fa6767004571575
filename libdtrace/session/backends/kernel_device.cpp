// SPDX-License-Identifier: MIT
// Sends requests to /dev/dtrace.
#include "libdtrace/session/backends/kernel_device.hpp"

#include "abi/stable.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dt {

static std::string first_line(const char* path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Returns why the kernel would not load an unsigned module, or "".
static std::string why_it_would_not_load()
{
    // A line such as "none [integrity] confidentiality" has the mode in brackets.
    std::string lockdown = first_line("/sys/kernel/security/lockdown");
    const bool locked = lockdown.find("[integrity]") != std::string::npos ||
                        lockdown.find("[confidentiality]") != std::string::npos;
    if (locked)
        return "; this kernel is locked down (Secure Boot) and loads only modules that "
               "are signed with a trusted key: install the module with DKMS, which "
               "signs it, and enroll DKMS's key with mokutil --import";
    if (first_line("/sys/module/module/parameters/sig_enforce") == "Y")
        return "; this kernel loads only signed modules (module.sig_enforce)";
    return "";
}

static std::string kernel_providers()
{
    std::vector<std::string_view> names{"fbt", "sdt", "syscall"};
#define X(provider, probe, how, source, choose)                                        \
    if (std::string_view(names.back()) != (provider))                                  \
        names.push_back(provider);
    DTK_STABLE(X)
#undef X
    std::string text;
    for (std::size_t i = 0; i < names.size(); i++)
        text.append(i == 0                  ? ""
                    : i + 1 == names.size() ? " and "
                                            : ", ")
            .append(names[i]);
    return text;
}

Result<KernelDevice> KernelDevice::open()
{
    Fd fd(::open(DTK_DEVICE, O_RDWR | O_CLOEXEC));
    if (!fd) {
        if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
            return Error{
                Code::not_found,
                "the dtrace kernel module is not loaded; modprobe dtrace or insmod "
                "dtrace.ko makes its providers available (" +
                    kernel_providers() + ")" + why_it_would_not_load(),
                ENOENT};
        if (errno == EACCES || errno == EPERM)
            return Error{Code::permission,
                         DTK_DEVICE " cannot be opened: tracing the kernel requires "
                                    "root, or CAP_PERFMON and access to that file",
                         errno};
        return errno_error("open " DTK_DEVICE);
    }
    KernelDevice device(std::move(fd));
    if (::ioctl(device.fd_.get(), DTK_INFO, &device.info_) != 0)
        return errno_error("get the version of " DTK_DEVICE);
    if (device.info_.abi != DTK_ABI || device.info_.arena_version != DT_ARENA_VERSION)
        return Error{Code::unsupported,
                     "the loaded dtrace kernel module does not match this version of "
                     "dtrace: build and load the module that came with it"};
    return device;
}

Result<ArenaMemory> KernelDevice::make_arena(const dt_arena_config& config)
{
    dtk_arena request{};
    request.config = config;
    if (::ioctl(fd_.get(), DTK_ARENA, &request) != 0)
        return errno_error("create the arena in the kernel");
    return ArenaMemory::map(fd_.get(), request.program_bytes, request.total_bytes);
}

int KernelDevice::load(std::span<const std::byte> dof, dt_u32* first_clause,
                       dt_u32* n_clauses, dt_load_error* error)
{
    dtk_load request{};
    request.dof = reinterpret_cast<dt_u64>(dof.data());
    request.bytes = dof.size();
    int result = ::ioctl(fd_.get(), DTK_LOAD, &request);
    *error = request.error;
    if (result != 0 && error->text[0] == '\0')
        errno_error("load a program into the kernel")
            .text.copy(error->text, sizeof error->text - 1);
    *first_clause = request.first_clause;
    *n_clauses = request.n_clauses;
    return result;
}

Result<std::uint32_t> KernelDevice::give(unsigned long request, const char* doing,
                                         const void* at, std::uint64_t bytes,
                                         std::uint32_t n)
{
    dtk_list list{};
    list.at = reinterpret_cast<dt_u64>(at);
    list.bytes = bytes;
    list.n = n;
    if (::ioctl(fd_.get(), request, &list) != 0)
        return errno_error(doing);
    return list.n_done;
}

Result<std::uint32_t> KernelDevice::add_probes(std::string_view names, std::uint32_t n)
{
    return give(DTK_PROBES, "add probes to the kernel", names.data(), names.size(), n);
}

Result<Ok> KernelDevice::add_ecbs(std::span<const dtk_ecb> ecbs)
{
    constexpr std::size_t most = 1 << 16; // maximum number of ECBs in one request
    for (; !ecbs.empty(); ecbs = ecbs.subspan(std::min(most, ecbs.size()))) {
        auto part = ecbs.first(std::min(most, ecbs.size()));
        if (auto done =
                give(DTK_ECBS, "enable probes in the kernel", part.data(),
                     part.size_bytes(), static_cast<std::uint32_t>(part.size()));
            !done)
            return done.error();
    }
    return Ok{};
}

Result<Ok> KernelDevice::attach(std::span<dtk_site> sites)
{
    constexpr std::size_t most = 1 << 18;
    for (; !sites.empty(); sites = sites.subspan(std::min(most, sites.size()))) {
        auto part = sites.first(std::min(most, sites.size()));
        if (auto done =
                give(DTK_ATTACH, "attach probes in the kernel", part.data(),
                     part.size_bytes(), static_cast<std::uint32_t>(part.size()));
            !done)
            return done.error();
    }
    return Ok{};
}

Result<std::uint32_t> KernelDevice::add_table(std::span<const dtk_unwind_rule> rules)
{
    return give(DTK_TABLE, "pass a table of unwind rules to the kernel", rules.data(),
                rules.size_bytes(), static_cast<std::uint32_t>(rules.size()));
}

Result<Ok> KernelDevice::set_maps(pid_t pid, std::span<const dtk_unwind_map> maps)
{
    dtk_unwind_maps of{reinterpret_cast<dt_u64>(maps.data()),
                       static_cast<dt_u32>(maps.size()), pid};
    if (::ioctl(fd_.get(), DTK_MAPS, &of) != 0)
        return errno_error("pass the mappings of a process to the kernel");
    return Ok{};
}

Result<std::uint32_t> KernelDevice::take_unknown(std::span<std::uint32_t> pids)
{
    return give(
        DTK_STRANGERS,
        "ask the kernel module for the processes whose mappings it does not know",
        pids.data(), pids.size_bytes(), static_cast<std::uint32_t>(pids.size()));
}

Result<Ok> KernelDevice::fire(std::uint32_t probe)
{
    if (::ioctl(fd_.get(), DTK_FIRE, &probe) != 0)
        return errno_error("fire a probe in the kernel");
    return Ok{};
}

Result<Ok> KernelDevice::detach()
{
    if (::ioctl(fd_.get(), DTK_DETACH) != 0)
        return errno_error("detach probes in the kernel");
    return Ok{};
}

Result<KernelDevice::Claimed> KernelDevice::claim()
{
    dtk_claim claim{};
    std::vector<std::byte> file;
    for (bool sized : {false, true}) {
        file.resize(claim.file_bytes);
        claim.file = sized ? reinterpret_cast<dt_u64>(file.data()) : 0;
        if (::ioctl(fd_.get(), DTK_CLAIM, &claim) != 0) {
            if (errno == ENOENT)
                return Error{Code::not_found, "", errno};
            return errno_error("claim the anonymous state");
        }
    }
    auto arena = ArenaMemory::map(fd_.get(), claim.program_bytes, claim.total_bytes);
    if (!arena)
        return arena.error();
    return Claimed{std::move(*arena), std::move(file)};
}

} // namespace dt
