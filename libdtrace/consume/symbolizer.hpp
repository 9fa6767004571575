// SPDX-License-Identifier: MIT
// Names for addresses in stacks and in the results of usym(), uaddr() and similar
// functions. An address without a name is returned in hex. Addresses can still be named
// after their process has exited.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

class Symbolizer {
public:
    virtual ~Symbolizer() = default;
    // Returns a name such as "libc.so.6`malloc+0x12". Without a function, returns
    // "libx.so`0x1234". Without a module, returns "0x7f00".
    virtual std::string uaddr(std::uint64_t pid, std::uint64_t addr) = 0;
    // Returns a name such as "libc.so.6`malloc".
    virtual std::string usym(std::uint64_t pid, std::uint64_t addr) = 0;
    // Returns the module's name.
    virtual std::string umod(std::uint64_t pid, std::uint64_t addr) = 0;
    virtual std::string frame(std::uint64_t pid, std::uint64_t pc)
    {
        return uaddr(pid, pc);
    }
    // Returns a name such as "vmlinux`vfs_read+0x1".
    virtual std::string kaddr(std::uint64_t addr) = 0;
    virtual std::string ksym(std::uint64_t addr) = 0;
    virtual std::string kmod(std::uint64_t addr) = 0;
    // These functions return the first address of the symbol or the module, or the address
    // itself if it has no name. The keys usym(a) and usym(b) of an aggregation are the
    // same if a and b are in the same symbol.
    virtual std::uint64_t usym_begin(std::uint64_t, std::uint64_t addr) { return addr; }
    virtual std::uint64_t umod_begin(std::uint64_t, std::uint64_t addr) { return addr; }
    virtual std::uint64_t ksym_begin(std::uint64_t addr) { return addr; }
    virtual std::uint64_t kmod_begin(std::uint64_t addr) { return addr; }
    // Returns the pid of $target, or 0 if there is none. %A looks up integers in this
    // process, because integers are recorded without a pid.
    virtual std::uint64_t target() { return 0; }
};

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
