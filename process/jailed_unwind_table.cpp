// SPDX-License-Identifier: MIT
// Computes the unwind table of one file in a process that does nothing else, and checks
// the result.
#include "base/pidfd.hpp"
#include "process/unwind_table.hpp"

#include "base/clock_ns.hpp"
#include "base/message.hpp"
#include "process/jail/channel.hpp"
#include "process/jail/jail.hpp"
#include "process/jail/start_jailed.hpp"

#include <algorithm>
#include <new>
#include <poll.h>

namespace dt {

namespace {

enum TableWord : std::uint32_t { table_wanted = 1, table_found };

// The process needs no file except the one that it receives.
class NoOtherFiles final : public JailBroker {
public:
    Fd open_file(const char*) override { return {}; }
    std::string path_of(int) override { return {}; }
};

void serve_table(Fd socket)
{
    static NoOtherFiles no_other_files;
    if (!enter_jail(socket.get(), no_other_files))
        return;
    Channel channel(std::move(socket));
    auto request = channel.receive();
    if (!request)
        return;
    try {
        MessageWriter out;
        out.list(unwind_rows(std::move(request->fd)));
        (void)channel.send(table_found, out.body());
    } catch (const std::bad_alloc&) { // then the file has no table
    }
}

bool is_valid(const UnwindRow& row)
{
    return row.kind == UnwindRow::none || row.kind == UnwindRow::signal ||
           (row.kind == UnwindRow::rule && row.how.from <= DT_RT_FROM_AT_RBP &&
            (row.how.rbp_from == DT_RT_FROM_NONE ||
             row.how.rbp_from == DT_RT_FROM_RBP || row.how.rbp_from == DT_RT_FROM_CFA));
}

} // namespace

std::vector<UnwindRow> jailed_unwind_rows(Fd file, const std::function<void(Fd)>& serve,
                                          std::uint64_t timeout_ns)
{
    auto started = start_jailed("dtrace-rules", serve, Parent::init);
    if (!started)
        return {};
    const std::uint64_t ends = monotonic_ns() + timeout_ns;
    Channel channel(std::move(started->socket), [ends](int socket, short events) {
        constexpr int poll_ms = 10;
        pollfd ready{socket, events, 0};
        for (bool is_ready = false; monotonic_ns() < ends;
             is_ready = ::poll(&ready, 1, poll_ms) > 0)
            if (is_ready)
                return Result<Ok>(Ok{});
        return Result<Ok>(Error{Code::busy, "the process does not reply"});
    });
    std::vector<UnwindRow> rows;
    if (channel.send(table_wanted, {}, file.get()))
        if (auto reply = channel.receive(); reply && reply->word == table_found) {
            MessageReader in(reply->body);
            rows = in.list<UnwindRow>();
            if (!in.complete())
                rows.clear();
        }
    kill_process(started->pidfd);
    const bool is_sorted = std::is_sorted(
        rows.begin(), rows.end(),
        [](const UnwindRow& a, const UnwindRow& b) { return a.offset < b.offset; });
    if (!is_sorted || !std::all_of(rows.begin(), rows.end(), is_valid))
        return {};
    return rows;
}

std::vector<UnwindRow> jailed_unwind_rows(Fd file)
{
    constexpr std::uint64_t timeout_ns = 10'000'000'000;
    return jailed_unwind_rows(std::move(file), serve_table, timeout_ns);
}

} // namespace dt
