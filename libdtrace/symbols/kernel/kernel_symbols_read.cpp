// SPDX-License-Identifier: MIT
// Reads the lines of two files:
//
//   /proc/kallsyms   "ffffffff81000000 T _text", or "... t ext4_init_fs\t[ext4]" for a
//                    module
//   /proc/modules    "ext4 1138688 2 jbd2,mbcache, Live 0xffffffffc0a5b000"
//
// Lines in any other form are skipped.
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include "base/clock_ns.hpp"
#include "base/each_part.hpp"
#include "base/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <functional>
#include <numeric>
#include <unistd.h>
#include <utility>

namespace dt {

namespace {

constexpr std::size_t max_text_bytes = std::size_t{1} << 28;

Result<std::string> read_text(const std::string& path)
{
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return errno_error("open " + path);
    std::string text;
    // The reads are large, because each read() makes the kernel walk the list from its
    // start.
    std::size_t used = 0;
    text.resize(std::size_t{1} << 16);
    for (;;) {
        if (used == text.size())
            text.resize(text.size() * 2);
        ssize_t n = ::read(fd.get(), text.data() + used, text.size() - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno_error("read " + path);
        if (n == 0)
            break;
        used += static_cast<std::size_t>(n);
        if (used > max_text_bytes)
            return Error{Code::limit, path + " is too long", 0};
    }
    text.resize(used);
    return text;
}

// Removes the next word from a line and returns it. This code must be fast, because
// kallsyms has 200,000 lines.
std::string_view take_word(std::string_view& line)
{
    auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    const char* end = line.data() + line.size();
    const char* begin = std::find_if_not(line.data(), end, is_blank);
    const char* behind = std::find_if(begin, end, is_blank);
    line = {behind, static_cast<std::size_t>(end - behind)};
    return {begin, static_cast<std::size_t>(behind - begin)};
}

bool read_number(std::string_view word, int base, std::uint64_t& into)
{
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), into, base);
    return error == std::errc{} && end == word.data() + word.size() && !word.empty();
}

} // namespace

void KernelSymbols::refresh()
{
    loaded_ = false;
}

Result<Ok> KernelSymbols::load()
{
    if (loaded_)
        return Ok{};
    auto text = read_text(paths_.kallsyms);
    if (!text)
        return text.error().during("read the kernel's symbols");
    text_ = std::move(*text);
    // A kernel without modules does not have this file.
    auto modules = read_text(paths_.modules);
    modules_text_ = modules ? std::move(*modules) : "";
    looked_ns_ = monotonic_ns();
    parse();
    loaded_ = true;
    return Ok{};
}

bool KernelSymbols::reload_if_changed()
{
    constexpr std::uint64_t second_ns = 1'000'000'000;
    const std::uint64_t now = monotonic_ns();
    if (now - looked_ns_ < second_ns)
        return false;
    looked_ns_ = now;
    auto modules = read_text(paths_.modules);
    if ((modules ? *modules : "") == modules_text_)
        return false;
    refresh();
    return bool(load());
}

void KernelSymbols::parse()
{
    entries_.clear();
    ranges_.clear();
    by_name_.clear();
    module_names_.clear();
    module_numbers_.clear();
    module_number(proper);
    entries_.reserve(text_.size() / 32);
    each_line(text_, [this](std::string_view line) { parse_line(line); });
    hidden_ = std::all_of(entries_.begin(), entries_.end(),
                          [](const Entry& entry) { return entry.addr == 0; });
    const auto n_data =
        std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
            return std::string_view("DdBbRr").find(entry.type) !=
                   std::string_view::npos;
        });
    // A few data symbols are listed even without CONFIG_KALLSYMS_ALL.
    has_functions_only_ = static_cast<std::size_t>(n_data) < entries_.size() / 100 + 1;
    auto lower = [](const Entry& a, const Entry& b) { return a.addr < b.addr; };
    if (!std::is_sorted(entries_.begin(), entries_.end(), lower))
        std::stable_sort(entries_.begin(), entries_.end(), lower);
    parse_ranges();
    module_begins_.assign(module_names_.size(), UINT64_MAX);
    for (const Entry& entry : entries_)
        if (static_cast<std::int64_t>(entry.addr) < 0) // others are per-CPU symbols
            module_begins_[entry.module] =
                std::min(module_begins_[entry.module], entry.addr);
}

bool KernelSymbols::parse_line(std::string_view line)
{
    Entry entry;
    if (!read_number(take_word(line), 16, entry.addr))
        return false;
    std::string_view type = take_word(line), name = take_word(line),
                     module = take_word(line);
    if (type.size() != 1 || name.empty() || name.size() > UINT16_MAX)
        return false;
    entry.type = type[0];
    entry.name = static_cast<std::uint32_t>(name.data() - text_.data());
    entry.name_bytes = static_cast<std::uint16_t>(name.size());
    if (module.size() > 2 && module.front() == '[' && module.back() == ']')
        entry.module = module_number(module.substr(1, module.size() - 2));
    entries_.push_back(entry);
    return true;
}

std::uint16_t KernelSymbols::module_number(std::string_view name)
{
    auto known = module_numbers_.find(name);
    if (known != module_numbers_.end())
        return known->second;
    if (module_names_.size() > UINT16_MAX)
        return 0;
    auto number = static_cast<std::uint16_t>(module_names_.size());
    module_names_.emplace_back(name);
    module_numbers_.emplace(name, number);
    return number;
}

void KernelSymbols::parse_ranges()
{
    each_line(modules_text_, [this](std::string_view line) {
        std::string_view name = take_word(line), size = take_word(line);
        for (int i = 0; i < 3; i++) // skips use count, names of users, state
            take_word(line);
        std::string_view addr = take_word(line);
        Range range;
        std::uint64_t n_bytes = 0;
        if (name.empty() || !read_number(size, 10, n_bytes) || !addr.starts_with("0x"))
            return;
        if (!read_number(addr.substr(2), 16, range.begin))
            return;
        range.module = module_number(name); // recorded even if addresses are hidden
        range.end = range.begin + std::min(n_bytes, UINT64_MAX - range.begin);
        if (range.begin != 0)
            ranges_.push_back(range);
    });
}

bool KernelSymbols::lists_module(std::string_view name) const
{
    auto text = read_text(paths_.modules);
    bool found = false;
    if (text)
        each_line(*text, [&](std::string_view line) {
            found = found || take_word(line) == name;
        });
    return found;
}

static std::uint16_t bucket_of(std::string_view name)
{
    return static_cast<std::uint16_t>(std::hash<std::string_view>{}(name));
}

// Fills by_name_ and buckets_. A counting sort keeps the entries of a bucket in the
// order of their addresses.
void KernelSymbols::index_names()
{
    std::vector<std::uint16_t> buckets;
    buckets.reserve(entries_.size());
    buckets_.assign(std::size_t{UINT16_MAX} + 2, 0);
    for (const Entry& entry : entries_) {
        buckets.push_back(bucket_of(name_of(entry)));
        ++buckets_[buckets.back() + 1u];
    }
    std::partial_sum(buckets_.begin(), buckets_.end(), buckets_.begin());
    std::vector<std::uint32_t> ends = buckets_;
    by_name_.resize(entries_.size());
    for (std::size_t i = 0; i < buckets.size(); i++)
        by_name_[ends[buckets[i]]++] = static_cast<std::uint32_t>(i);
}

std::span<const std::uint32_t> KernelSymbols::candidates(std::string_view name)
{
    if (by_name_.empty())
        index_names();
    const std::size_t bucket = bucket_of(name);
    return std::span(by_name_).first(buckets_[bucket + 1]).subspan(buckets_[bucket]);
}

std::string KernelSymbols::why_hidden() const
{
    auto set = read_text(paths_.restriction);
    const std::string value = set ? set->substr(0, set->find('\n')) : "";
    return value == "2"
               ? "the kernel hides its addresses from all users: "
                 "kernel.kptr_restrict is 2"
               : "the kernel hides its addresses: reading them requires root, or "
                 "kernel.kptr_restrict=0 with kernel.perf_event_paranoid of at most 1";
}

} // namespace dt
