// SPDX-License-Identifier: MIT
// Groups symbols into functions and searches them. The first lookup by name builds an
// index of hashes.
#include "libdtrace/symbols/elf/function_table.hpp"

#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace dt {

namespace {

// The maximum number of functions that at() examines. If functions are nested, an
// earlier function may contain the address too.
constexpr std::size_t max_nesting = 64;

std::size_t underscores(std::string_view name)
{
    std::size_t n = 0;
    while (n < name.size() && name[n] == '_')
        n++;
    return n;
}

bool preferred(const FunctionName& a, const FunctionName& b)
{
    if (a.indirect != b.indirect)
        return b.indirect;
    const bool a_local = a.binding == Binding::local;
    if (const bool b_local = b.binding == Binding::local; a_local != b_local)
        return b_local;
    if (const auto na = underscores(a.text), nb = underscores(b.text); na != nb)
        return na < nb;
    if (a.binding != b.binding)
        return a.binding < b.binding;
    return a.text.size() != b.text.size() ? a.text.size() < b.text.size()
                                          : a.text < b.text;
}

// Sorting keys is twice as fast as sorting symbols.
struct Key {
    std::uint64_t addr;
    std::uint32_t index;
};

// Sorts the keys by address. Uses a stable radix sort if there are many keys. The
// addresses in a file are close together, so the radix sort needs few passes.
void sort_by_address(std::vector<Key>& keys)
{
    constexpr unsigned digit_bits = 11;
    constexpr std::size_t n_digits = 1 << digit_bits;
    if (keys.size() < n_digits) {
        std::stable_sort(keys.begin(), keys.end(),
                         [](const Key& a, const Key& b) { return a.addr < b.addr; });
        return;
    }
    auto [lowest, highest] =
        std::minmax_element(keys.begin(), keys.end(),
                            [](const Key& a, const Key& b) { return a.addr < b.addr; });
    const std::uint64_t least = lowest->addr, most = highest->addr - least;
    std::vector<Key> sorted(keys.size());
    for (unsigned shift = 0; shift < 64 && most >> shift != 0; shift += digit_bits) {
        auto digit = [&](const Key& key) {
            return (key.addr - least) >> shift & (n_digits - 1);
        };
        std::array<std::size_t, n_digits + 1> begin{};
        for (const Key& key : keys)
            begin[digit(key) + 1]++;
        for (std::size_t i = 1; i < begin.size(); i++)
            begin[i] += begin[i - 1];
        for (const Key& key : keys)
            sorted[begin[digit(key)]++] = key;
        keys.swap(sorted);
    }
}

// The function that a new program would be linked to comes first.
auto lookup_rank(const FunctionName& n)
{
    return std::tuple(n.old_version, n.binding);
}

std::uint32_t hash_of(std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (unsigned char c : name)
        hash = (hash ^ c) * 0x100000001b3;
    return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

} // namespace

bool FunctionName::is_of_part() const
{
    if (split_off)
        return true;
    std::size_t cold = text.rfind(".cold");
    return cold != std::string_view::npos && cold > 0 &&
           (text.size() == cold + 5 || text[cold + 5] == '.');
}

FunctionTable::FunctionTable(std::vector<FunctionSymbol> symbols)
{
    std::vector<Key> keys(symbols.size());
    for (std::uint32_t i = 0; i < symbols.size(); i++)
        keys[i] = {symbols[i].addr, i};
    sort_by_address(keys);
    for (auto first = keys.begin(), end = first; first != keys.end(); first = end) {
        end = std::find_if(first, keys.end(),
                           [&](const Key& key) { return key.addr != first->addr; });
        if (end - first > 1)
            std::sort(first, end, [&](const Key& a, const Key& b) {
                return preferred(symbols[a.index].name, symbols[b.index].name);
            });
    }

    functions_.reserve(symbols.size());
    names_.reserve(symbols.size());
    for (const Key& key : keys) {
        const FunctionSymbol& symbol = symbols[key.index];
        if (functions_.empty() || functions_.back().addr != symbol.addr)
            functions_.push_back(
                {symbol.addr, 0, static_cast<std::uint32_t>(names_.size()), 0});
        Function& function = functions_.back();
        // Aliases in assembly code may have different sizes.
        function.n_bytes = std::max(function.n_bytes, symbol.n_bytes);
        // A name may be in two symbol tables, but is stored only once. The two symbols
        // need not be adjacent, so the last 16 names are compared.
        bool known = false;
        for (std::uint32_t i = 0; i < std::min(function.n_names, 16U); i++)
            known |= names_[names_.size() - 1 - i].text == symbol.name.text;
        if (known)
            continue;
        names_.push_back(symbol.name);
        function.n_names++;
    }
}

std::optional<FunctionTable> FunctionTable::from_parts(std::vector<Function> functions,
                                                       std::vector<FunctionName> names)
{
    std::size_t n_names = 0;
    for (std::size_t i = 0; i < functions.size(); i++) {
        const Function& function = functions[i];
        if ((i != 0 && functions[i - 1].addr >= function.addr) ||
            function.first_name != n_names || function.n_names == 0 ||
            function.n_names > names.size() - n_names)
            return std::nullopt;
        n_names += function.n_names;
    }
    if (n_names != names.size())
        return std::nullopt;
    FunctionTable table;
    table.functions_ = std::move(functions);
    table.names_ = std::move(names);
    return table;
}

void FunctionTable::index_ends() const
{
    if (max_end_.size() == functions_.size())
        return;
    max_end_.reserve(functions_.size());
    std::uint64_t end = 0;
    for (const Function& function : functions_) {
        end = std::max(end, function.addr + function.n_bytes);
        max_end_.push_back(end);
    }
}

const Function* FunctionTable::at(std::uint64_t addr) const
{
    index_ends();
    auto after = std::upper_bound(
        functions_.begin(), functions_.end(), addr,
        [](std::uint64_t at, const Function& function) { return at < function.addr; });
    std::size_t i = static_cast<std::size_t>(after - functions_.begin());
    for (std::size_t seen = 0; i-- > 0 && seen < max_nesting; seen++) {
        if (max_end_[i] <= addr)
            return nullptr;
        if (functions_[i].contains(addr))
            return &functions_[i];
    }
    return nullptr;
}

void FunctionTable::index_names() const
{
    if (by_hash_.size() == names_.size())
        return;
    by_hash_.reserve(names_.size());
    for (std::uint32_t i = 0; i < names_.size(); i++)
        by_hash_.emplace_back(hash_of(names_[i].text), i);
    std::sort(by_hash_.begin(), by_hash_.end());
}

// Returns the function that has the name with this index.
const Function* FunctionTable::function_of(std::uint32_t name) const
{
    auto after = std::upper_bound(functions_.begin(), functions_.end(), name,
                                  [](std::uint32_t index, const Function& function) {
                                      return index < function.first_name;
                                  });
    return &*std::prev(after);
}

std::vector<const Function*> FunctionTable::find_all(std::string_view name) const
{
    index_names();
    std::vector<std::uint32_t> found;
    std::uint32_t hash = hash_of(name);
    auto at = std::lower_bound(by_hash_.begin(), by_hash_.end(), std::pair(hash, 0U));
    for (; at != by_hash_.end() && at->first == hash; ++at)
        if (names_[at->second].text == name)
            found.push_back(at->second);
    std::stable_sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
        return lookup_rank(names_[a]) < lookup_rank(names_[b]);
    });
    std::vector<const Function*> functions;
    functions.reserve(found.size());
    for (std::uint32_t i : found)
        functions.push_back(function_of(i));
    return functions;
}

const Function* FunctionTable::find(std::string_view name) const
{
    auto all = find_all(name);
    return all.empty() ? nullptr : all.front();
}

std::vector<const Function*> FunctionTable::match(std::string_view glob) const
{
    std::vector<const Function*> found;
    NameMatcher matcher(glob);
    for (const Function& function : functions_)
        for (const FunctionName& alias : names(function))
            if (matcher.matches(alias.text)) {
                found.push_back(&function);
                break;
            }
    return found;
}

std::vector<std::string> FunctionTable::suggest(std::string_view name,
                                                std::size_t limit) const
{
    Suggestions suggestions(name);
    for (const FunctionName& candidate : names_)
        suggestions.consider(candidate.text);
    return suggestions.nearest(limit);
}

} // namespace dt
