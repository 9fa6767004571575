// SPDX-License-Identifier: MIT
// Parses /proc/PID/maps. A line is "begin-end perms offset major:minor inode path".
// Several spaces precede the path, which extends to the end of the line.
#include "process/maps.hpp"

#include "base/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace dt {

namespace {

// Consumes numbers and characters from the start of a line.
class Cursor {
public:
    explicit Cursor(std::string_view line) : rest_(line) {}

    template <class T> bool number(T& out, int base)
    {
        auto [end, error] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), out, base);
        if (error != std::errc())
            return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return true;
    }
    bool mark(char c)
    {
        if (rest_.empty() || rest_[0] != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool flag(char set, bool& out)
    {
        if (rest_.empty() || (rest_[0] != set && rest_[0] != '-'))
            return false;
        out = rest_[0] == set;
        rest_.remove_prefix(1);
        return true;
    }
    bool sharing(bool& shared)
    {
        if (rest_.empty() || (rest_[0] != 'p' && rest_[0] != 's'))
            return false;
        shared = rest_[0] == 's';
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

std::string unescaped(std::string_view path)
{
    std::string out;
    out.reserve(path.size());
    while (!path.empty()) {
        if (path.starts_with("\\012")) {
            out += '\n';
            path.remove_prefix(4);
        } else {
            out += path[0];
            path.remove_prefix(1);
        }
    }
    return out;
}

std::optional<Mapping> parse_line(std::string_view line)
{
    Mapping m;
    Cursor at(line);
    bool good =
        at.number(m.begin.value, 16) && at.mark('-') && at.number(m.end.value, 16) &&
        at.mark(' ') && at.flag('r', m.readable) && at.flag('w', m.writable) &&
        at.flag('x', m.executable) && at.sharing(m.shared) && at.mark(' ') &&
        at.number(m.offset, 16) && at.mark(' ') && at.number(m.file.major, 16) &&
        at.mark(':') && at.number(m.file.minor, 16) && at.mark(' ') &&
        at.number(m.file.inode, 10);
    if (!good || m.end <= m.begin)
        return std::nullopt;
    std::string_view path = at.rest();
    path.remove_prefix(std::min(path.find_first_not_of(' '), path.size()));
    constexpr std::string_view mark = " (deleted)";
    if (path.starts_with('/') && path.ends_with(mark)) {
        m.deleted = true;
        path.remove_suffix(mark.size());
    }
    m.path =
        path.find('\\') == std::string_view::npos ? std::string(path) : unescaped(path);
    return m;
}

// Reads a file of /proc. The kernel does not report its size.
Result<std::string> read_all(const std::string& path)
{
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return errno_error("open " + path);
    std::string text;
    for (;;) {
        std::size_t had = text.size();
        text.resize(had + std::max<std::size_t>(had, 32768));
        ssize_t n = ::read(fd.get(), text.data() + had, text.size() - had);
        int error = errno;
        text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        if (n < 0 && error == EINTR)
            continue;
        if (n < 0)
            return errno_error("read " + path, error);
        if (n == 0)
            return text;
    }
}

constexpr int max_execs_met = 3;

} // namespace

Result<ProcessMaps> ProcessMaps::read(pid_t pid)
{
    std::string path = "/proc/" + std::to_string(pid) + "/maps";
    auto text = read_all(path);
    // If the process calls exec between the open and the read, the file appears to be
    // empty. In that case, open it again.
    for (int i = 0; i < max_execs_met && text && text->empty(); ++i)
        text = read_all(path);
    if (!text) {
        Error error = text.error();
        if (error.sys == ENOENT || error.sys == ESRCH)
            return Error{Code::gone, "no process " + std::to_string(pid), error.sys};
        return error;
    }
    // Zombies and kernel threads have an empty maps file.
    if (text->empty())
        return Error{Code::gone, "process " + std::to_string(pid) + " has no memory"};
    auto maps = parse(*text);
    if (!maps)
        return maps.error().during(path);
    return maps;
}

Result<ProcessMaps> ProcessMaps::parse(std::string_view text)
{
    ProcessMaps maps;
    for (std::size_t number = 1; !text.empty(); number++) {
        std::size_t end = std::min(text.find('\n'), text.size());
        auto mapping = parse_line(text.substr(0, end));
        if (!mapping)
            return Error{Code::corrupt,
                         "line " + std::to_string(number) + " is not a mapping"};
        maps.mappings_.push_back(std::move(*mapping));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    // A mapping that moves between two reads of the file may appear twice or out of
    // order.
    auto order = [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; };
    if (!std::is_sorted(maps.mappings_.begin(), maps.mappings_.end(), order))
        std::stable_sort(maps.mappings_.begin(), maps.mappings_.end(), order);
    return maps;
}

const Mapping* ProcessMaps::at(TargetAddr addr) const
{
    return find_mapping(mappings_, addr);
}

std::vector<Mapping> mappings_of(pid_t pid)
{
    auto maps = ProcessMaps::read(pid);
    return maps ? std::move(*maps).take() : std::vector<Mapping>();
}

const Mapping* find_mapping(std::span<const Mapping> all, TargetAddr at)
{
    auto after = std::upper_bound(
        all.begin(), all.end(), at,
        [](TargetAddr addr, const Mapping& mapping) { return addr < mapping.begin; });
    if (after == all.begin())
        return nullptr;
    const Mapping& mapping = *std::prev(after);
    return mapping.contains(at) ? &mapping : nullptr;
}

std::size_t text_mappings(pid_t pid)
{
    std::string all;
    for (const Mapping& m : mappings_of(pid)) {
        if (m.executable && !m.path.empty() && m.path[0] == '/')
            all += std::to_string(m.begin.value) + m.kernel_path() + '\n';
    }
    return std::hash<std::string>{}(all);
}

} // namespace dt
