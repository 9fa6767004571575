// SPDX-License-Identifier: MIT
// The fake host: a clock that advances in steps, and a target that is a vector of
// bytes.
#include "tests/unit/dif/session.hpp"

#include "dif/float.h"

#include <algorithm>

namespace dif_test {
namespace {

std::uint64_t timestamp(dt_host* h)
{
    FakeHost& f = FakeHost::of(h);
    return f.clock += f.step;
}
std::uint64_t walltime(dt_host* h)
{
    return FakeHost::of(h).wall++;
}
std::uint64_t vtimestamp(dt_host*)
{
    return 4242;
}

int load(dt_host* h, std::uint64_t addr, void* to, std::uint64_t bytes,
         std::uint64_t* bad)
{
    FakeHost& f = FakeHost::of(h);
    std::uint64_t end = f.target_at + f.target.size();
    if (addr < f.target_at || addr > end) {
        *bad = addr;
        return -1;
    }
    if (bytes > end - addr) {
        *bad = end;
        return -1;
    }
    std::memcpy(to, f.target.data() + (addr - f.target_at), bytes);
    return 0;
}
std::int64_t load_string(dt_host* h, std::uint64_t addr, char* to, std::uint64_t max,
                         std::uint64_t* bad)
{
    for (std::uint64_t n = 0; n < max; n++) {
        if (load(h, addr + n, to + n, 1, bad) != 0)
            return -1;
        if (to[n] == 0)
            return static_cast<std::int64_t>(n);
    }
    return static_cast<std::int64_t>(max);
}
int store(dt_host* h, std::uint64_t addr, const void* from, std::uint64_t bytes,
          std::uint64_t* bad)
{
    FakeHost& f = FakeHost::of(h);
    std::uint64_t end = f.target_at + f.target.size();
    if (addr < f.target_at || addr > end || bytes > end - addr) {
        *bad = addr;
        return -1;
    }
    std::memcpy(f.target.data() + (addr - f.target_at), from, bytes);
    return 0;
}
int arg(dt_host*, std::uint32_t n, std::uint64_t* value, std::uint64_t*)
{
    *value = 900 + n;
    return 0;
}
unsigned element_key(std::uint32_t id, std::uint32_t index)
{
    return id == DIF_VAR_uregs ? 0x10000 + index : id << 24 | index;
}
int var(dt_host* h, std::uint32_t id, std::uint32_t index, std::uint64_t* value)
{
    auto& numbers = FakeHost::of(h).numbers;
    auto found = numbers.find(id < DIF_VAR_OTHER_MIN ? element_key(id, index) : id);
    if (found == numbers.end())
        return -1;
    *value = found->second;
    return 0;
}
std::uint64_t var_string(dt_host* h, std::uint32_t id, std::uint32_t index, char* to,
                         std::uint64_t max)
{
    const std::string& s =
        FakeHost::of(h).strings[id < DIF_VAR_OTHER_MIN ? element_key(id, index) : id];
    std::uint64_t n = std::min<std::uint64_t>(max, s.size());
    std::memcpy(to, s.data(), n);
    return n;
}
std::int64_t ustack(dt_host* h, std::uint64_t* pcs, std::uint32_t max)
{
    auto& frames = FakeHost::of(h).frames;
    std::uint32_t n = std::min<std::uint32_t>(max, frames.size());
    std::copy_n(frames.begin(), n, pcs);
    return n;
}
int progenyof(dt_host*, std::uint64_t pid)
{
    return pid == 42;
}
int raise_signal(dt_host* h, int sig)
{
    FakeHost::of(h).raised.push_back(sig);
    return 0;
}
int stop(dt_host* h)
{
    FakeHost::of(h).stopped++;
    return 0;
}

} // namespace

std::uint32_t Session::probe_named(const std::string& full)
{
    std::string part[4];
    unsigned n = 0;
    for (char c : full) {
        if (c == ':' && n < 3)
            n++;
        else
            part[n] += c;
    }
    for (std::uint32_t id = 1; id <= arena().probes.n; id++) {
        const dt_probe& p = probes()[id - 1];
        if (text(p.provider) == part[0] && text(p.mod) == part[1] &&
            text(p.func) == part[2] && text(p.name) == part[3])
            return id;
    }
    return dt_probe_add(memory_, part[0].c_str(), part[1].c_str(), part[2].c_str(),
                        part[3].c_str());
}

const dt_host_ops& FakeHost::ops()
{
    static const dt_host_ops table = {
        .timestamp = timestamp,
        .walltime = walltime,
        .vtimestamp = vtimestamp,
        .load = load,
        .load_string = load_string,
        .store = store,
        .arg = arg,
        .var = var,
        .var_string = var_string,
        .ustack = ustack,
        .stack = nullptr,
        .progenyof = progenyof,
        .raise = raise_signal,
        .stop = stop,
        .harm = nullptr,
        .flop = dt_flop,
        .identify = nullptr,
    };
    return table;
}

} // namespace dif_test
