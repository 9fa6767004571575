// SPDX-License-Identifier: MIT
// Shared code for the tests: a temporary directory, files in it, and a running victim.
#pragma once

#include "base/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

class Scratch {
public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

private:
    std::string folder_;
};

std::vector<std::byte> read_file(const std::string& path);
void write_file(const std::string& path, const std::vector<std::byte>& bytes);
// Runs objcopy with these arguments. Returns false if it fails.
bool objcopy(const std::string& arguments);
std::vector<std::byte> packed_xz(const std::vector<std::byte>& bytes);

// A running victims/program.cpp. The destructor ends it.
class Victim {
public:
    struct Addresses {
        std::uint64_t plugin_work = 0, cart_total = 0, original_name = 0;
    };
    explicit Victim(const std::string& program,
                    std::vector<std::string> args = {PLUGIN});
    ~Victim();
    Victim(const Victim&) = delete;
    Victim& operator=(const Victim&) = delete;
    pid_t pid() const { return pid_; }
    const Addresses& addresses() const { return addresses_; }
    void command(char what);
    void end();

private:
    void read_addresses();

    pid_t pid_ = -1;
    Fd in_, out_;
    Addresses addresses_;
};

} // namespace dt
