// SPDX-License-Identifier: MIT
// Implements the consumer's loop: dtrace_sleep(), dtrace_work() and the handlers.
//
// dtrace_sleep() polls the fill levels of buffers every 5 ms, because a wake-up by the
// target would cost the target far more. It also reads aggregation buffers before they
// are full. It returns early
//
//   - if a principal buffer is a quarter full (only with bufpolicy=switch),
//   - if the last round of dtrace_work() ran out of time,
//   - if exit() was called or the session has a status other than OKAY,
//   - if the number of held targets has changed,
//   - after dtrace_wakeup(), and after a signal.
#include "libdtrace/api/views.hpp"

#include <algorithm>
#include <cstring>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::uint64_t poll_ns = 5'000'000;
// the maximum delay of a record if the user has not set switchrate
constexpr std::uint64_t idle_ns = 100'000'000;
constexpr double early_fill = 0.25;
constexpr const char* not_begun = "tracing has not begun: call dtrace_go() first";

// Passes records to the C API's callbacks.
class CallbackSink : public dt::RecordSink {
public:
    CallbackSink(dtrace_hdl& session, dtrace_consume_probe_f* probe_func,
                 dtrace_consume_rec_f* record_func, void* arg)
        : session_(session), probe_func_(probe_func), record_func_(record_func),
          arg_(arg)
    {
    }

    dt::Verdict probe(const dt::ProbeData& data) override
    {
        current_ = probedata_of(session_, data);
        view_ = &view_of(session_, *data.ecb);
        if (probe_func_ == nullptr)
            return dt::Verdict::This;
        return verdict(probe_func_(&current_, arg_));
    }

    dt::Verdict record(const dt::ProbeData& data, const dt::RecordDesc* desc) override
    {
        if (record_func_ == nullptr)
            return dt::Verdict::This;
        const dtrace_recdesc_t* shown = nullptr;
        if (desc != nullptr)
            shown =
                &view_->all[static_cast<std::size_t>(desc - data.ecb->records.data())];
        return verdict(record_func_(&current_, shown, arg_));
    }

private:
    static dt::Verdict verdict(int value)
    {
        return value < -1 || value > 2 ? dt::Verdict::Error
                                       : static_cast<dt::Verdict>(value);
    }

    dtrace_hdl& session_;
    dtrace_consume_probe_f* probe_func_;
    dtrace_consume_rec_f* record_func_;
    void* arg_;
    dtrace_probedata_t current_{};
    EcbView* view_ = nullptr;
};

// Calls the buffered handler with the text. Returns false if the handler aborts.
bool hand_over(dtrace_hdl& session, std::string_view text, const dt::Piece& piece)
{
    std::string copy(text);
    dtrace_bufdata_t data{};
    dtrace_probedata_t probe{};
    data.dtbda_handle = &session;
    data.dtbda_buffered = copy.c_str();
    if (piece.probe != nullptr) {
        probe = probedata_of(session, *piece.probe);
        data.dtbda_probe = &probe;
        if (piece.record != nullptr)
            data.dtbda_recdesc =
                &view_of(session, *piece.probe->ecb)
                     .all[static_cast<std::size_t>(piece.record -
                                                   piece.probe->ecb->records.data())];
    }
    std::optional<AggView> aggregation;
    if (piece.entry != nullptr)
        data.dtbda_aggdata = &aggregation.emplace(session, *piece.entry).data;
    data.dtbda_flags = piece.flags;
    return session.on_buffered.func(&data, session.on_buffered.arg) == DTRACE_HANDLE_OK;
}

} // namespace

std::unique_ptr<dt::Output> dtrace_hdl::make_output(FILE* file)
{
    if (file != nullptr)
        return std::make_unique<dt::FileOutput>(file);
    if (on_buffered.func == nullptr) {
        fail(EDT_NOBUFFERED);
        return nullptr;
    }
    return std::make_unique<dt::HandlerOutput>(
        [this](std::string_view text, const dt::Piece& piece) {
            return hand_over(*this, text, piece);
        });
}

dt::Output* dtrace_hdl::output_to(FILE* file)
{
    if (!out || out_file != file) {
        auto made = make_output(file);
        if (!made)
            return nullptr;
        out = std::move(made);
        out_file = file;
    }
    if (state().consumer)
        state().consumer->display().terminal = out->to_terminal();
    return out.get();
}

int dtrace_hdl::consume(FILE* file, dtrace_consume_probe_f* probe_func,
                        dtrace_consume_rec_f* record_func, void* arg, bool final)
{
    dt::Output* to = output_to(file);
    if (to == nullptr)
        return -1;
    CallbackSink sink(*this, probe_func, record_func, arg);
    const dt::DrainKind kind = final ? dt::DrainKind::Final : dt::DrainKind::Round;
    auto drained = state().consumer->drain(kind, *to, sink);
    if (!drained)
        return fail(drained.error());
    if (!state().consumer->report_drops(kind))
        return fail(EDT_DROPABORT);
    if (auto flushed = to->flush(); !flushed)
        return fail(flushed.error());
    return 0;
}

extern "C" {

void dtrace_wakeup(dtrace_hdl_t* dtp)
{
    std::uint64_t one = 1;
    // The write fails if the eventfd's counter is full. In that case, earlier writes
    // already wake dtrace_sleep().
    if (::write(dtp->wake.get(), &one, sizeof one) < 0)
        return;
}

void dtrace_sleep(dtrace_hdl_t* dtp)
{
    std::uint64_t began = dt::monotonic_ns();
    // One round drains both records and aggregations, so the shorter interval applies.
    std::uint64_t until = UINT64_MAX;
    for (int rate : {DTRACEOPT_switchrate, DTRACEOPT_aggrate})
        if (dtp->state().options.by_user(rate))
            until = std::min(until, dtp->state().options.run_time(rate));
    if (!dtp->state().options.by_user(DTRACEOPT_switchrate))
        until = std::min(until, idle_ns);
    const bool drains =
        dtp->state().options.run_time(DTRACEOPT_bufpolicy) == DT_BUFPOLICY_SWITCH;
    for (;;) {
        const int ready = dtp->session.targets().wait(poll_ns, dtp->wake.get());
        if (ready < 0)
            return; // a signal has arrived, and its handler may have set a flag
        if (ready > 0) {
            std::uint64_t count = 0;
            bool woken = ::read(dtp->wake.get(), &count, sizeof count) > 0;
            std::size_t n_held_before = 0, n_held_after = 0;
            for (const auto& process : dtp->state().processes.all())
                n_held_before += process->is_held();
            dtp->session.targets().handle_events();
            for (const auto& process : dtp->state().processes.all())
                n_held_after += process->is_held();
            if (woken || n_held_before != n_held_after)
                return;
        }
        if (!dtp->state().active)
            return;
        std::uint64_t now = dt::monotonic_ns();
        dtp->session.tend(now);
        dtp->session.targets().check_new_processes(now);
        dtp->session.targets().search_libraries(now);
        // If snapshot() fails, the next dtrace_work() fails in the same way and reports
        // the error.
        if (dtp->state().consumer->wants_snapshot())
            (void)!dtp->state().consumer->snapshot();
        int status = dtp->session.status();
        if (status != DTRACE_STATUS_OKAY || now - began >= until ||
            dtp->state().consumer->is_late() ||
            (drains && dtp->state().consumer->fullest() >= early_fill))
            return;
    }
}

int dtrace_status(dtrace_hdl_t* dtp)
{
    int status = dtp->session.status();
    if ((status == DTRACE_STATUS_EXITED || status == DTRACE_STATUS_FILLED) &&
        dtp->session.stop() != 0)
        return -1;
    return status;
}

int dtrace_exit_status(dtrace_hdl_t* dtp)
{
    return dtp->state().consumer ? dtp->state().consumer->exit_status().value_or(0) : 0;
}

int dtrace_consume(dtrace_hdl_t* dtp, FILE* fp, dtrace_consume_probe_f* pf,
                   dtrace_consume_rec_f* rf, void* arg)
{
    if (!dtp->state().active)
        return dtp->fail(EINVAL, not_begun);
    return dtp->consume(fp, pf, rf, arg, dtp->state().stopped);
}

dtrace_workstatus_t dtrace_work(dtrace_hdl_t* dtp, FILE* fp, dtrace_consume_probe_f* pf,
                                dtrace_consume_rec_f* rf, void* arg)
{
    if (!dtp->state().active) {
        dtp->fail(EINVAL, not_begun);
        return DTRACE_WORKSTATUS_ERROR;
    }
    dtp->session.targets().handle_events();
    int status = dtrace_status(dtp);
    if (status < 0 || dtp->consume(fp, pf, rf, arg, dtp->state().stopped) != 0)
        return DTRACE_WORKSTATUS_ERROR;
    return status == DTRACE_STATUS_OKAY ? DTRACE_WORKSTATUS_OKAY
                                        : DTRACE_WORKSTATUS_DONE;
}

int dtrace_go(dtrace_hdl_t* dtp)
{
    return dtp->session.go();
}

int dtrace_stop(dtrace_hdl_t* dtp)
{
    return dtp->session.stop();
}

int dtrace_handle_err(dtrace_hdl_t* dtp, dtrace_handle_err_f* func, void* arg)
{
    dtp->on_err = {func, arg};
    return 0;
}

int dtrace_handle_drop(dtrace_hdl_t* dtp, dtrace_handle_drop_f* func, void* arg)
{
    dtp->on_drop = {func, arg};
    return 0;
}

int dtrace_handle_proc(dtrace_hdl_t* dtp, dtrace_handle_proc_f* func, void* arg)
{
    dtp->on_proc = {func, arg};
    return 0;
}

int dtrace_handle_buffered(dtrace_hdl_t* dtp, dtrace_handle_buffered_f* func, void* arg)
{
    dtp->on_buffered = {func, arg};
    return 0;
}

int dtrace_handle_setopt(dtrace_hdl_t* dtp, dtrace_handle_setopt_f* func, void* arg)
{
    dtp->on_setopt = {func, arg};
    return 0;
}

} // extern "C"
