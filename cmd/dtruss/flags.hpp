// SPDX-License-Identifier: MIT
// The names of constants in the arguments of system calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Returns the names of the flags that are set, for example "O_RDWR|O_CREAT". Unknown bits
// are appended as a number.
std::string open_flags(std::uint64_t flags);
std::string protection(std::uint64_t flags);
std::string map_flags(std::uint64_t flags);
// Like open_flags(), but without the access mode. Some calls have names of their own for
// these flags, for example EFD_CLOEXEC.
std::string descriptor_flags(std::string_view call, std::uint64_t flags);
std::string access_mode(std::uint64_t mode);
std::string at_flags(std::uint64_t flags);
std::string statx_flags(std::uint64_t flags);
std::string statx_mask(std::uint64_t mask);
std::string rename_flags(std::uint64_t flags);
std::string memfd_flags(std::uint64_t flags);
std::string action_flags(std::uint64_t flags);
std::string random_flags(std::uint64_t flags);
std::string clone_flags(std::uint64_t flags);
std::string wait_options(std::uint64_t flags);
std::string socket_type(std::uint64_t type);

// Returns the name of the constant. Returns the number if it has no name.
std::string signal_name(std::uint64_t number); // also "SIGRT_3"
std::string signal_code(int signal, std::int64_t code);
std::string whence(std::uint64_t number);
std::string futex_operation(std::uint64_t number);
std::string fcntl_command(std::uint64_t number);
std::string ioctl_command(std::uint64_t number);
std::string arch_prctl_code(std::uint64_t number);
std::string prctl_option(std::uint64_t number);
std::string mask_how(std::uint64_t number);
std::string address_family(std::uint64_t number);
std::string resource(std::uint64_t number);
std::string clock_name(std::uint64_t number);
std::string advice(std::uint64_t number);
std::string file_advice(std::uint64_t number);

// Returns the signals of a set, for example "[INT TERM]".
std::string signal_set(std::uint64_t set);
// Returns "{WIFEXITED(s) && WEXITSTATUS(s) == 0}" and similar.
std::string wait_status(int status);
// Returns "S_IFREG|0644".
std::string file_mode(std::uint32_t mode);
std::string hex(std::uint64_t value); // "0x1f", or "0"
