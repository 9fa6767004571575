// SPDX-License-Identifier: MIT
// Names for addresses in stacks and in the results of usym(), uaddr() and similar
// functions. The session implements this interface.
//
// Every result is printable: an address without a name is returned in hex. The
// addresses of a process can still be named after it has exited.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

class Symbolizer {
public:
    virtual ~Symbolizer() = default;
    // Returns the name of an address in a process: "libc.so.6`malloc+0x12",
    // "libc.so.6`malloc", "libx.so`0x1234" without a function, "0x7f00" without a
    // module.
    virtual std::string uaddr(std::uint64_t pid, std::uint64_t addr) = 0;
    // Returns the name without an offset: "libc.so.6`malloc".
    virtual std::string usym(std::uint64_t pid, std::uint64_t addr) = 0;
    // Returns the name of the module: "libc.so.6".
    virtual std::string umod(std::uint64_t pid, std::uint64_t addr) = 0;
    // Returns one line of a user stack.
    virtual std::string frame(std::uint64_t pid, std::uint64_t pc)
    {
        return uaddr(pid, pc);
    }
    // Returns the name of a kernel address: "vmlinux`vfs_read+0x1".
    virtual std::string kaddr(std::uint64_t addr) = 0;
    virtual std::string ksym(std::uint64_t addr) = 0;
    virtual std::string kmod(std::uint64_t addr) = 0;
    // Returns the pid of $target, or 0 if there is none. printf's %A looks up an
    // integer in this process, because an integer is recorded without a pid.
    virtual std::uint64_t target() { return 0; }
};

// Has no symbols, and returns every address as a hexadecimal number.
class HexSymbolizer : public Symbolizer {
public:
    std::string uaddr(std::uint64_t pid, std::uint64_t addr) override;
    std::string usym(std::uint64_t pid, std::uint64_t addr) override;
    std::string umod(std::uint64_t pid, std::uint64_t addr) override;
    std::string kaddr(std::uint64_t addr) override;
    std::string ksym(std::uint64_t addr) override;
    std::string kmod(std::uint64_t addr) override;
};

} // namespace dt
