// SPDX-License-Identifier: MIT
// HexSymbolizer, which returns every address as a hexadecimal number.
#include "libdtrace/consume/symbolizer.hpp"

#include "base/hex_text.hpp"

namespace dt {

std::string HexSymbolizer::uaddr(std::uint64_t, std::uint64_t addr)
{
    return hex_text(addr);
}

std::string HexSymbolizer::usym(std::uint64_t, std::uint64_t addr)
{
    return hex_text(addr);
}

std::string HexSymbolizer::umod(std::uint64_t, std::uint64_t addr)
{
    return hex_text(addr);
}

std::string HexSymbolizer::kaddr(std::uint64_t addr)
{
    return hex_text(addr);
}

std::string HexSymbolizer::ksym(std::uint64_t addr)
{
    return hex_text(addr);
}

std::string HexSymbolizer::kmod(std::uint64_t addr)
{
    return hex_text(addr);
}

} // namespace dt
