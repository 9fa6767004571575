// SPDX-License-Identifier: MIT
#include "format.hpp"

#include "calls.hpp"
#include "flags.hpp"
#include "program.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>

namespace {

// Returns a text in quotes. Bytes that are not printable are escaped.
std::string quoted(std::string_view text, bool is_cut)
{
    std::string result = "\"";
    for (std::size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        const std::size_t control = std::string_view("\n\t\r\v\f").find(text[i]);
        if (c == '"' || c == '\\') {
            result += {'\\', text[i]};
        } else if (control != std::string_view::npos) {
            result += {'\\', "ntrvf"[control]};
        } else if (c >= ' ' && c < 0x7f) {
            result += text[i];
        } else {
            const bool digit_follows =
                i + 1 < text.size() &&
                std::isdigit(static_cast<unsigned char>(text[i + 1]));
            char octal[8];
            std::snprintf(octal, sizeof octal, digit_follows ? "\\%03o" : "\\%o", c);
            result += octal;
        }
    }
    return result + (is_cut ? "\"..." : "\"");
}

template <class T> T value_in(const std::string& bytes)
{
    T value{};
    std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
    return value;
}

std::string stat_text(const std::string& bytes)
{
    const auto info = value_in<struct stat>(bytes);
    char rest[64];
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
        std::snprintf(rest, sizeof rest, "st_rdev=makedev(%#x, %#x)",
                      major(info.st_rdev), minor(info.st_rdev));
    else
        std::snprintf(rest, sizeof rest, "st_size=%lld",
                      static_cast<long long>(info.st_size));
    return "{st_mode=" + file_mode(info.st_mode) + ", " + rest + ", ...}";
}

std::string address_text(const std::string& bytes, std::uint64_t length)
{
    const auto family = value_in<sa_family_t>(bytes);
    const std::string text = "{sa_family=" + address_family(family);
    char name[INET6_ADDRSTRLEN];
    if (family == AF_UNIX && length > sizeof family) {
        std::string_view path(bytes);
        path = path.substr(sizeof family, length - sizeof family);
        const bool is_abstract = !path.empty() && path[0] == '\0';
        if (is_abstract)
            path.remove_prefix(1);
        else
            path = path.substr(0, path.find('\0'));
        return text + ", sun_path=" + (is_abstract ? "@" : "") + quoted(path, false) +
               "}";
    }
    if (family == AF_INET) {
        const auto in = value_in<sockaddr_in>(bytes);
        inet_ntop(AF_INET, &in.sin_addr, name, sizeof name);
        return text + ", sin_port=htons(" + std::to_string(ntohs(in.sin_port)) +
               "), sin_addr=inet_addr(\"" + name + "\")}";
    }
    if (family == AF_INET6) {
        const auto in = value_in<sockaddr_in6>(bytes);
        inet_ntop(AF_INET6, &in.sin6_addr, name, sizeof name);
        return text + ", sin6_port=htons(" + std::to_string(ntohs(in.sin6_port)) +
               "), inet_pton(AF_INET6, \"" + name + "\", &sin6_addr), ...}";
    }
    return text + ", ...}";
}

// Returns a text in quotes, with all bytes in hexadecimal.
std::string in_hex(std::string_view bytes, bool is_cut)
{
    std::string text = "\"";
    for (const char byte : bytes) {
        char digits[8];
        std::snprintf(digits, sizeof digits, "\\x%02x",
                      static_cast<unsigned char>(byte));
        text += digits;
    }
    return text + (is_cut ? "\"..." : "\"");
}

std::string action_text(const std::string& bytes)
{
    struct KernelAction {
        std::uint64_t handler, flags, restorer, mask;
    };
    constexpr std::uint64_t has_restorer = 0x04000000;
    const auto action = value_in<KernelAction>(bytes);
    std::string text = "{sa_handler=" +
                       (action.handler == 0   ? "SIG_DFL"
                        : action.handler == 1 ? "SIG_IGN"
                                              : hex(action.handler)) +
                       ", sa_mask=" + signal_set(action.mask) +
                       ", sa_flags=" + action_flags(action.flags);
    if ((action.flags & has_restorer) != 0)
        text += ", sa_restorer=" + hex(action.restorer);
    return text + "}";
}

std::string limit_text(std::uint64_t limit)
{
    constexpr std::uint64_t kib = 1024;
    if (limit == UINT64_MAX)
        return "RLIM64_INFINITY";
    return limit > kib && limit % kib == 0 ? std::to_string(limit / kib) + "*1024"
                                           : std::to_string(limit);
}

std::string limits_text(const std::string& bytes)
{
    const auto limits = value_in<std::array<std::uint64_t, 2>>(bytes);
    return "{rlim_cur=" + limit_text(limits[0]) +
           ", rlim_max=" + limit_text(limits[1]) + "}";
}

std::string pointer(std::uint64_t value)
{
    return value == 0 ? "NULL" : hex(value);
}

// Formats an argument in memory. `length` is the number of bytes in a buffer, or the
// length of an address.
std::string memory_text(char kind, const RecordedCall& call, std::uint64_t address,
                        const std::string& bytes, std::uint64_t length)
{
    switch (kind) {
    case 's':
        return quoted(bytes.c_str(), false);
    case 'R':
        return in_hex(std::string_view(bytes).substr(0, length), length > buffer_bytes);
    case 'b':
    case 'B':
        if (call.name == "getcwd")
            length--; // the result counts the null byte
        return quoted(std::string_view(bytes).substr(0, length), length > buffer_bytes);
    case 'N': {
        const auto time = value_in<timespec>(bytes);
        return "{tv_sec=" + std::to_string(time.tv_sec) +
               ", tv_nsec=" + std::to_string(time.tv_nsec) + "}";
    }
    case 'G':
        return signal_set(value_in<std::uint64_t>(bytes));
    case 'Q':
        return action_text(bytes);
    case 'E':
        return limits_text(bytes);
    case 'A':
        return address_text(bytes, length);
    default:
        break;
    }
    if (call.error != 0)
        return pointer(address);
    switch (kind) {
    case 'T':
        return stat_text(bytes);
    case 'J':
        return signal_set(value_in<std::uint64_t>(bytes));
    case 'q':
        return action_text(bytes);
    case 'n':
        return limits_text(bytes);
    case 'I':
        return "[" + std::to_string(value_in<std::int32_t>(bytes)) + ", " +
               std::to_string(value_in<std::int32_t>(bytes.substr(4))) + "]";
    case 'K':
        return call.result == 0 ? pointer(address)
                                : "[" + wait_status(value_in<int>(bytes)) + "]";
    default:
        return pointer(address);
    }
}

std::string octal(std::uint64_t mode)
{
    char text[24];
    // strace prints at least three digits.
    std::snprintf(text, sizeof text, "0%02llo", static_cast<unsigned long long>(mode));
    return text;
}

std::string number_text(std::string_view call, char kind, std::uint64_t value)
{
    const auto narrow = static_cast<std::int32_t>(value);
    switch (kind) {
    case 'D':
        return narrow == AT_FDCWD ? "AT_FDCWD" : std::to_string(narrow);
    case 'd':
    case 'f':
    case 'i':
        return std::to_string(narrow);
    case 'u':
        return std::to_string(static_cast<std::uint32_t>(value));
    case 'z':
        return std::to_string(value);
    case 'l':
        return std::to_string(static_cast<std::int64_t>(value));
    case 'm':
        return octal(value & 0xffff);
    case 'o':
        return open_flags(value);
    case 'O':
        return descriptor_flags(call, value);
    case 'U':
        return statx_flags(value);
    case 'V':
        return statx_mask(value);
    case '+':
        return rename_flags(value);
    case 't':
        return memfd_flags(value);
    case 'j':
        return file_advice(value);
    case 'p':
        return protection(value);
    case 'M':
        return map_flags(value);
    case 'a':
        return access_mode(value);
    case 'F':
        return at_flags(value);
    case 'g':
        return random_flags(value);
    case 'c':
        return clone_flags(value);
    case 'w':
        return wait_options(value);
    case 'Z':
        return socket_type(value);
    case 'S':
        return signal_name(value);
    case 'W':
        return whence(value);
    case 'k':
        return futex_operation(value);
    case 'e':
        return fcntl_command(value);
    case 'L':
        return ioctl_command(value);
    case 'y':
        return arch_prctl_code(value);
    case 'P':
        return prctl_option(value);
    case 'H':
        return mask_how(value);
    case 'Y':
        return address_family(value);
    case 'r':
        return resource(value);
    case 'C':
        return clock_name(value);
    case 'v':
        return advice(value);
    case '*': // only in used_arguments()
        return static_cast<std::uint32_t>(value) == FUTEX_BITSET_MATCH_ANY
                   ? "FUTEX_BITSET_MATCH_ANY"
                   : hex(value);
    case 'X': // only in used_arguments()
        return value == FD_CLOEXEC ? "FD_CLOEXEC" : hex(value);
    case 'h':
        return hex(value);
    default:
        return pointer(value);
    }
}

// Returns whether these flags of open(2) can create a file, so that there is a mode.
bool creates(std::uint64_t flags)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// Returns the letters of the arguments that the call uses. Some arguments are used only
// with certain flags or operations.
std::string used_arguments(const RecordedCall& call)
{
    std::string kinds(arguments_of(call.name));
    const auto& args = call.arguments;
    if (call.name == "open" && !creates(args[1]))
        return "so";
    if (call.name == "openat" && !creates(args[2]))
        return "Dso";
    if (call.name == "mremap" && (args[3] & MREMAP_FIXED) == 0)
        return "xzzh";
    if (call.name == "ioctl" && static_cast<std::uint32_t>(args[1]) == FICLONE)
        return "fLf";
    if (call.name == "fcntl") {
        switch (args[1]) {
        case F_GETFD:
        case F_GETFL:
        case F_GETOWN:
        case F_GETSIG:
        case F_GETLEASE:
        case F_GETPIPE_SZ:
        case F_GET_SEALS:
            return "fe";
        case F_DUPFD:
        case F_DUPFD_CLOEXEC:
        case F_SETOWN:
        case F_SETPIPE_SZ:
            return "fed";
        case F_SETFL:
            return "feo";
        case F_SETFD:
            return "feX";
        default:
            return kinds;
        }
    }
    if (call.name == "futex") {
        switch (args[1] & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
            return "xkux";
        case FUTEX_WAIT_BITSET:
            return "xkux*";
        case FUTEX_WAKE:
        case FUTEX_UNLOCK_PI:
            return (args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? "xku" : "xk";
        default:
            return kinds;
        }
    }
    return kinds;
}

// Formats clone(2) with the names of its arguments.
std::string clone_text(const RecordedCall& call)
{
    const auto& [flags, stack, parent, child, tls, unused] = call.arguments;
    std::string text =
        "clone(child_stack=" + pointer(stack) + ", flags=" + clone_flags(flags);
    if ((flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) != 0)
        text += ", parent_tid=" + pointer(parent);
    if ((flags & CLONE_SETTLS) != 0)
        text += ", tls=" + pointer(tls);
    if ((flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) != 0)
        text += ", child_tidptr=" + pointer(child);
    return text + ")";
}

} // namespace

std::string call_text(const RecordedCall& call)
{
    if (call.name == "clone")
        return clone_text(call);
    const std::string kinds = used_arguments(call);
    std::string text = std::string(call.name) + "(";
    std::size_t n_memory = 0;
    for (std::size_t i = 0; i < kinds.size(); i++) {
        // The bitset of a futex is its last argument.
        const std::uint64_t value = call.arguments[kinds[i] == '*' ? 5 : i];
        text += i == 0 ? "" : ", ";
        if (!is_memory(kinds[i])) {
            text += number_text(call.name, kinds[i], value);
            continue;
        }
        const std::string* bytes =
            n_memory < call.memory.size() ? &call.memory[n_memory] : nullptr;
        n_memory++;
        const bool is_output = is_buffer(kinds[i]) && kinds[i] != 'b';
        if (value == 0 || bytes == nullptr || (is_output && call.error != 0)) {
            text += pointer(value);
            continue;
        }
        const std::uint64_t length = is_output ? static_cast<std::uint64_t>(call.result)
                                     : i + 1 < call.arguments.size()
                                         ? call.arguments[i + 1]
                                         : 0;
        text += memory_text(kinds[i], call, value, *bytes, length);
    }
    return text + ")";
}

std::string result_text(const RecordedCall& call)
{
    if (call.error != 0)
        return "-1 " +
               std::string(strerrorname_np(call.error) != nullptr
                               ? strerrorname_np(call.error)
                               : std::to_string(call.error)) +
               " (" + std::strerror(call.error) + ")";
    for (const std::string_view name : {"mmap", "brk", "mremap", "shmat"})
        if (call.name == name)
            return hex(static_cast<std::uint64_t>(call.result));
    if (call.name == "fcntl" && call.arguments[1] == F_GETFD)
        return call.result == FD_CLOEXEC ? "0x1 (flags FD_CLOEXEC)"
                                         : std::to_string(call.result);
    if (call.name == "fcntl" && call.arguments[1] == F_GETFL)
        return hex(static_cast<std::uint64_t>(call.result)) + " (flags " +
               open_flags(static_cast<std::uint64_t>(call.result)) + ")";
    if (call.name == "umask")
        return octal(static_cast<std::uint64_t>(call.result));
    return std::to_string(call.result);
}

std::string signal_text(const std::array<std::uint64_t, 6>& info)
{
    const int signal = static_cast<int>(info[0]);
    const auto code = static_cast<std::int64_t>(info[1]);
    const std::string name = signal_name(info[0]);
    std::string text =
        "--- " + name + " {si_signo=" + name + ", si_code=" + signal_code(signal, code);
    const bool is_fault = code > 0 && code != SI_KERNEL &&
                          (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
                           signal == SIGFPE || signal == SIGTRAP);
    if (is_fault)
        text += ", si_addr=" + pointer(info[4]);
    else if (code != SI_KERNEL)
        text += ", si_pid=" + std::to_string(static_cast<std::int32_t>(info[2])) +
                ", si_uid=" + std::to_string(static_cast<std::uint32_t>(info[3]));
    if (signal == SIGCHLD && code > 0)
        text += ", si_status=" +
                (code == CLD_EXITED ? std::to_string(info[5]) : signal_name(info[5])) +
                ", ...";
    return text + "} ---";
}
