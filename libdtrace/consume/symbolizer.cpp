// SPDX-License-Identifier: MIT
// The symbolizer that knows no names.
#include "libdtrace/consume/symbolizer.hpp"

#include "libdtrace/consume/numbers.hpp"

namespace dt {

static std::string hex(std::uint64_t addr)
{
    std::string text = "0x";
    put_hex(text, addr);
    return text;
}

std::string HexSymbolizer::uaddr(std::uint64_t, std::uint64_t addr)
{
    return hex(addr);
}

std::string HexSymbolizer::usym(std::uint64_t, std::uint64_t addr)
{
    return hex(addr);
}

std::string HexSymbolizer::umod(std::uint64_t, std::uint64_t addr)
{
    return hex(addr);
}

std::string HexSymbolizer::kaddr(std::uint64_t addr)
{
    return hex(addr);
}

std::string HexSymbolizer::ksym(std::uint64_t addr)
{
    return hex(addr);
}

std::string HexSymbolizer::kmod(std::uint64_t addr)
{
    return hex(addr);
}

} // namespace dt
