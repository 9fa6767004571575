// SPDX-License-Identifier: MIT
// Formats one recorded system call as strace(1) does.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct RecordedCall {
    std::string_view name;
    std::array<std::uint64_t, 6> arguments{};
    std::int64_t result = 0;
    int error = 0; // errno, or 0
    // The bytes of each memory argument, in the order of the arguments. Empty if the
    // memory could not be read.
    std::vector<std::string> memory;
};

// Returns the call and its arguments, for example: close(3)
std::string call_text(const RecordedCall& call);
// Returns the result, for example: -1 ENOENT (No such file or directory)
std::string result_text(const RecordedCall& call);
// Returns a signal that the thread receives. The arguments are the signal, si_code,
// si_pid, si_uid, si_addr and si_status.
std::string signal_text(const std::array<std::uint64_t, 6>& info);
